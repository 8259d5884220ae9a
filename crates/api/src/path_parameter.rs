//! Reading a path parameter.

use std::str::FromStr;

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;

use crate::ApiState;
use crate::problem::Problem;

/// The parameter of a path, percent-decoded. `None` if it is not a `T`, or not UTF-8, to which the framework responds
/// with plain text.
pub(crate) struct PathParameter<T = String>(pub(crate) Option<T>);

impl<T: FromStr> FromRequestParts<ApiState> for PathParameter<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Problem> {
        let parameter = Path::<String>::from_request_parts(parts, state).await;
        Ok(Self(parameter.ok().and_then(|Path(text)| text.parse().ok())))
    }
}
