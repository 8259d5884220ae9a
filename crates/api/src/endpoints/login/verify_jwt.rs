//! `POST /jwt/verify`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use usher_protocol::PublicKey;
use usher_protocol::jwt::{self, VerifyError};
use utoipa::ToSchema;

use crate::ApiState;
use crate::body::{self, JsonBody};
use crate::field_reader::{self, Fields};
use crate::problem::{ErrorCode, Problem};

/// Why a JWT does not count.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Verify(#[from] VerifyError),
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let Self::Verify(error) = self;
        let code = match error {
            VerifyError::Expired => ErrorCode::JwtExpired,
            VerifyError::Malformed
            | VerifyError::Algorithm
            | VerifyError::Signature
            | VerifyError::NoExpiry
            | VerifyError::NotYetValid
            | VerifyError::BadKey => ErrorCode::JwtInvalid,
        };
        Problem::new(code, error.to_string()).into_response()
    }
}

/// A JWT, and the key that shall have signed it.
#[derive(Debug, ToSchema)]
#[schema(as = JwtVerifyRequest, example = json!({
    "public_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
    "token": "eyJhbGciOiJFUzI1NksiLCJ0eXAiOiJKV1QifQ.eyJleHAiOjE3MzIyMjQwMDB9.MEUCIQ",
}))]
#[expect(dead_code, reason = "describes the body that `JsonBody for Request` reads")]
pub(crate) struct RequestBody {
    /// The key that shall have signed it: 64 hex characters. The service's own for a JWT of `POST /jwt/issue`, the
    /// user's for a session token that their wallet gave.
    #[schema(pattern = "^[0-9a-fA-F]{64}$")]
    public_key: String,
    /// The JWT.
    #[schema(format = "jwt", max_length = 8192)]
    token: String,
}

/// What was read of it.
pub(crate) struct Request {
    public_key: PublicKey,
    token: String,
}

impl JsonBody for Request {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let public_key = fields.required("public_key", field_reader::public_key);
        let token = fields.required("token", field_reader::text);
        Some(Self { public_key: public_key?, token: token? })
    }
}

/// A JWT that counts.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = JwtVerified)]
pub(crate) struct Verified {
    /// The key that the JWT is about.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e")]
    target_key: String,
}

/// Checks that a JWT is signed by a key and counts now.
///
/// The algorithm has to be ES256K, `exp` has to be there, and `nbf`, if it is, may be 30 s ahead at the most.
#[utoipa::path(
    post,
    path = "/jwt/verify",
    request_body = RequestBody,
    responses(
        (status = 200, description = "It counts.", body = Verified),
        (status = 400, description = "`jwt_invalid`: It is no JWT, of another algorithm, not signed by the key, without \
            an end, or not valid yet; `detail` says which.\n\n`jwt_expired`: It is signed by the key, and its time is \
            over."),
    ),
)]
pub(crate) async fn verify_jwt(
    State(state): State<ApiState>,
    body::Json(request): body::Json<Request>,
) -> Result<Json<Verified>, Error> {
    let token = jwt::verify(&request.token, &request.public_key, state.clock.now().secs())?;
    Ok(Json(Verified { target_key: token.target_key.to_hex() }))
}
