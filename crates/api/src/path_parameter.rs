//! Reading a path parameter.

use std::str::FromStr;

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use usher_protocol::PublicKey;
use usher_protocol::keys::parse_public_key;

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

/// The user's key that a path names.
pub(crate) struct UserKey(pub(crate) PublicKey);

impl FromRequestParts<ApiState> for UserKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Problem> {
        let PathParameter(text) = PathParameter::<String>::from_request_parts(parts, state).await?;
        let key = text.ok_or_else(|| "is not UTF-8".to_owned());
        let key = key.and_then(|text| parse_public_key(&text).map_err(|error| error.to_string()));
        key.map(Self).map_err(|detail| Problem::invalid_field("/main_key", detail))
    }
}
