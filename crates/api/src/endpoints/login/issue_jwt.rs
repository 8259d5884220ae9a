//! `POST /jwt/issue`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use usher_protocol::PublicKey;
use usher_protocol::jwt::IssueError;
use utoipa::ToSchema;

use crate::ApiState;
use crate::body::{self, JsonBody};
use crate::field_reader::{self, Fields};
use crate::problem::Problem;

/// Why no JWT was issued.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The service's clock is beyond the calendar, or a token cannot be written: neither is the caller's doing.
    #[error(transparent)]
    Issue(#[from] IssueError),
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let Self::Issue(error) = self;
        Problem::internal(error).into_response()
    }
}

/// The longest a JWT counts, in hours: a year of 365 days.
const MAX_HOURS: u64 = 365 * 24;

/// Whom a JWT shall be about.
#[derive(Debug, ToSchema)]
#[schema(as = JwtIssueRequest, example = json!({
    "target_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
    "duration_hours": 24,
}))]
#[expect(dead_code, reason = "describes the body that `JsonBody for Request` reads")]
pub(crate) struct RequestBody {
    /// The key that the JWT is about: 64 hex characters.
    #[schema(pattern = "^[0-9a-fA-F]{64}$")]
    target_key: String,
    /// For how many hours it counts.
    #[schema(minimum = 1, maximum = 8760)]
    duration_hours: u64,
}

/// What was read of it.
pub(crate) struct Request {
    target_key: PublicKey,
    duration_hours: u64,
}

impl JsonBody for Request {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let target_key = fields.required("target_key", field_reader::public_key);
        let duration_hours = fields.required("duration_hours", field_reader::integer::<1, MAX_HOURS>);
        Some(Self { target_key: target_key?, duration_hours: duration_hours? })
    }
}

/// A JWT.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = JwtIssued)]
pub(crate) struct Issued {
    /// The JWT. Whoever has it can show it.
    #[schema(example = "eyJhbGciOiJFUzI1NksiLCJ0eXAiOiJKV1QifQ.eyJleHAiOjE3MzIyMjQwMDAsImlhdCI6…")]
    token: String,
}

/// Issues a JWT about a key, signed by the service's own.
///
/// ES256K over the service's Nostr key (the BIP-340 key, taken with even Y), with the claims `iat`, `nbf`, `exp` and
/// `target_key`. It says no more than you do: prove the key first, with `POST /authenticate-key`. It cannot be taken
/// back.
#[utoipa::path(
    post,
    path = "/jwt/issue",
    request_body = RequestBody,
    responses((status = 200, description = "It is signed and counts from now.", body = Issued)),
)]
pub(crate) async fn issue_jwt(
    State(state): State<ApiState>,
    body::Json(request): body::Json<Request>,
) -> Result<Json<Issued>, Error> {
    let now = state.clock.now().secs();
    let token = state.jwt.issue(request.target_key, now, request.duration_hours * 60 * 60)?;
    Ok(Json(Issued { token }))
}
