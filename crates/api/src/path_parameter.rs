//! Reading the parameter of a path.

use axum::extract::{FromRequestParts, Path, RawPathParams};
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
        if let Some(authorization) = parts.extensions.get::<Authorization>().cloned()
            && names_stream(parts, state).await
            && let Ok(stream) = text.parse::<StreamId>()
            && !authorization.sees(&state.engine, stream).await?
        {
            return Ok(Self(None));
        }
        Ok(Self(Some(text)))
    }
}

/// Whether the parameter is a stream's id. Those of subscriptions, which wallets choose, may look alike.
async fn names_stream(parts: &mut Parts, state: &ApiState) -> bool {
    let parameters = RawPathParams::from_request_parts(parts, state).await;
    parameters.is_ok_and(|parameters| parameters.iter().any(|(name, _)| matches!(name, "stream_id" | "session_id")))
}
