//! `POST /jwt/issue`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use usher_engine::request_body;
use usher_engine::request_body::{Integer, Key};
use utoipa::ToSchema;

use crate::ApiState;
use crate::body;
use crate::problem::Problem;

/// The longest validity of a JWT, in hours: a year of 365 days.
const MAX_HOURS: u64 = 365 * 24;

request_body! {
    /// The key and the validity of a JWT.
    pub(crate) struct Body, BodyDraft = "JwtIssueRequest", example {
        "target_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
        "duration_hours": 24,
    } {
        /// The key that the JWT is about: 64 hex characters.
        target_key: Key,
        /// For how many hours it is valid.
        duration_hours: Integer<1, MAX_HOURS>,
    }
}

/// A JWT.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = JwtIssued)]
pub(crate) struct Issued {
    /// The JWT. Anybody who has it can use it.
    #[schema(example = "eyJhbGciOiJFUzI1NksiLCJ0eXAiOiJKV1QifQ.eyJleHAiOjE3MzIyMjQwMDAsImlhdCI6…")]
    token: String,
}

/// Issues a JWT about a key, signed with the service's key.
///
/// ES256K with the service's Nostr key (the BIP-340 key, with even Y), with the claims `iat`, `nbf`, `exp` and
/// `target_key`. The service does not check that the user holds the key: use `POST /authenticate-key` first. An issued
/// JWT cannot be revoked.
#[utoipa::path(
    post,
    path = "/jwt/issue",
    request_body = Body,
    responses((status = 200, description = "The JWT; it is valid from now.", body = Issued)),
)]
pub(crate) async fn issue_jwt(
    State(state): State<ApiState>,
    body::Json(request): body::Json<Body>,
) -> Result<Json<Issued>, Problem> {
    let now = state.clock.now().secs();
    // It fails if the service's clock is outside the calendar.
    let token =
        state.jwt.issue(request.target_key, now, request.duration_hours * 60 * 60).map_err(Problem::internal)?;
    Ok(Json(Issued { token }))
}
