//! `GET /profile/{main_key}`

use axum::extract::State;
use axum::{Extension, Json};
use usher_engine::Requester;
use usher_engine::ports::Profile;

use crate::ApiState;
use crate::path_parameter::UserKey;
use crate::problem::{ErrorCode, Problem};

/// Fetches a user's profile.
///
/// Usher queries its own relays, the relays that the user named, and those of the user's relay list (NIP-65), and uses
/// the newest valid event. This takes at most 8 seconds. A profile is cached for 10 minutes, and the absence of one
/// for 1 minute.
#[utoipa::path(
    get,
    path = "/profile/{main_key}",
    params(("main_key" = String, Path, format = "nostr-public-key", pattern = "^[0-9a-fA-F]{64}$", description = "The user's key: 64 hex characters.")),
    responses(
        (status = 200, description = "The profile; missing values are `null`.", body = Profile),
        (status = 404, description = "`profile_not_found`: Relays responded, and none has a profile of this key."),
        (status = 422, description = "`invalid_request`: This is not a valid key."),
        (status = 503, description = "`no_relay_connected`: No relay is connected, or none responded.\n\n\
            `overloaded`: Too many concurrent look-ups."),
    ),
)]
pub(crate) async fn get_profile(
    State(state): State<ApiState>,
    Extension(requester): Extension<Requester>,
    UserKey(key): UserKey,
) -> Result<Json<Profile>, Problem> {
    let profile = state.directory.profile(&key, requester.origin()).await?;
    let none =
        || Problem::new(ErrorCode::ProfileNotFound, "relays responded, and none of them has a profile of this key");
    profile.map(Json).ok_or_else(none)
}
