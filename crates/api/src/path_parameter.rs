//! Reading a path parameter.

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;

use crate::ApiState;
use crate::problem::Problem;

/// The parameter of a path, percent-decoded. `None` if it is not UTF-8, to which the framework responds with plain
/// text.
pub(crate) struct PathParameter(pub(crate) Option<String>);

impl FromRequestParts<ApiState> for PathParameter {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Problem> {
        let parameter = Path::<String>::from_request_parts(parts, state).await;
        Ok(Self(parameter.ok().map(|Path(text)| text)))
    }
}
