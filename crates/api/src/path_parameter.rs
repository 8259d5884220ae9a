//! Reading the parameter of a path.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;

/// The parameter of a path that has one, percent-decoded; `None` when it is not UTF-8, to which the framework would
/// respond with plain text.
pub(crate) struct PathParameter(pub(crate) Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for PathParameter {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let parameter = Path::<String>::from_request_parts(parts, state).await;
        Ok(Self(parameter.ok().map(|Path(text)| text)))
    }
}
