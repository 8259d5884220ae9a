//! `POST /jwt/verify`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use usher_engine::request_body;
use usher_engine::request_body::{Jwt, Key};
use usher_protocol::jwt::{self, VerifyError};
use utoipa::ToSchema;

use crate::ApiState;
use crate::body;
use crate::problem::{ErrorCode, Problem};

impl From<VerifyError> for Problem {
    fn from(error: VerifyError) -> Self {
        let code = match error {
            VerifyError::Expired => ErrorCode::JwtExpired,
            VerifyError::Malformed
            | VerifyError::Algorithm
            | VerifyError::Signature
            | VerifyError::NoExpiry
            | VerifyError::NotYetValid
            | VerifyError::BadKey => ErrorCode::JwtInvalid,
        };
        Self::new(code, error.to_string())
    }
}

request_body! {
    /// A JWT, and the key that must have signed it.
    pub(crate) struct Body, BodyDraft = "JwtVerifyRequest", example {
        "public_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
        "token": "eyJhbGciOiJFUzI1NksiLCJ0eXAiOiJKV1QifQ.eyJleHAiOjE3MzIyMjQwMDB9.MEUCIQ",
    } {
        /// The key that must have signed it: 64 hex characters. The service's own key for a JWT of `POST /jwt/issue`, the
        /// user's key for a session token from their wallet.
        public_key: Key,
        /// The JWT.
        token: Jwt,
    }
}

/// A valid JWT.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = JwtVerified)]
pub(crate) struct Verified {
    /// The key that the JWT is about.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e")]
    target_key: String,
}

/// Verifies that a JWT is signed by a key and valid now.
///
/// The algorithm must be ES256K and `exp` must be present. `nbf`, if present, may be at most 30 seconds in the future.
/// `docs/api.md` has all rules.
#[utoipa::path(
    post,
    path = "/jwt/verify",
    request_body = Body,
    responses(
        (status = 200, description = "The JWT is valid.", body = Verified),
        (status = 400, description = "`jwt_invalid`: This is not a JWT, or it has another algorithm, is not signed by \
            the key, has no expiry, or is not valid yet; `detail` tells which.\n\n`jwt_expired`: The JWT is signed by the key, and has \
            expired."),
    ),
)]
pub(crate) async fn verify_jwt(
    State(state): State<ApiState>,
    body::Json(request): body::Json<Body>,
) -> Result<Json<Verified>, Problem> {
    let token = jwt::verify(&request.token, &request.public_key, state.clock.now().secs())?;
    Ok(Json(Verified { target_key: token.target_key.to_hex() }))
}
