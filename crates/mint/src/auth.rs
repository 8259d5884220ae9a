//! The static token (NUT-21).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

/// Header of the token.
const CLEAR_AUTH: &str = "clear-auth";

/// NUT error code: the endpoint requires clear authentication.
const REQUIRED: u32 = 30_001;

/// NUT error code: clear authentication failed.
const FAILED: u32 = 30_002;

#[derive(Clone)]
pub(crate) struct TokenPolicy {
    pub(crate) token: Arc<str>,
    /// Only for minting. Whoever holds tokens may swap and check them: users do not know the token.
    pub(crate) only_minting: bool,
}

impl TokenPolicy {
    fn covers(&self, path: &str) -> bool {
        if self.only_minting { path.starts_with("/v1/mint/") } else { !is_public(path) }
    }
}

/// What anybody may read: a wallet needs it before it can know that a token is required.
fn is_public(path: &str) -> bool {
    ["/v1/info", "/v1/keys", "/v1/keysets"].contains(&path) || path.starts_with("/v1/keys/")
}

/// Lets requests with the token through, and those that need none.
pub(crate) async fn require_token(State(policy): State<TokenPolicy>, request: Request, next: Next) -> Response {
    let refusal = match request.headers().get(CLEAR_AUTH) {
        _ if !policy.covers(request.uri().path()) => None,
        Some(given) if given.as_bytes() == policy.token.as_bytes() => None,
        Some(_) => Some((FAILED, "Clear authentication failed")),
        None => Some((REQUIRED, "Endpoint requires clear authentication")),
    };
    match refusal {
        None => next.run(request).await,
        Some((code, detail)) => {
            (StatusCode::UNAUTHORIZED, axum::Json(json!({ "code": code, "detail": detail }))).into_response()
        }
    }
}
