//! Reading the parameter of a path.

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use usher_engine::StreamId;

use crate::ApiState;
use crate::auth::Authorization;
use crate::problem::Problem;

/// The parameter of a path that has one, percent-decoded; `None` when it is not UTF-8, to which the framework would
/// respond with plain text. A stream that the client may not see is `None` too: as one that does not exist.
pub(crate) struct PathParameter(pub(crate) Option<String>);

impl FromRequestParts<ApiState> for PathParameter {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Problem> {
        let parameter = Path::<String>::from_request_parts(parts, state).await;
        let Ok(Path(text)) = parameter else { return Ok(Self(None)) };
        if let Some(authorization) = parts.extensions.get::<Authorization>()
            && let Ok(stream) = text.parse::<StreamId>()
            && !authorization.sees(&state.engine, stream).await?
        {
            return Ok(Self(None));
        }
        Ok(Self(Some(text)))
    }
}
