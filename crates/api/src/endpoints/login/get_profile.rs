//! `GET /profile/{main_key}`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use usher_engine::ports::LookUpError;
use usher_protocol::keys::parse_public_key;

use crate::ApiState;
use crate::endpoints::profile::Profile;
use crate::path_parameter::PathParameter;
use crate::problem::{ErrorCode, Problem};
use usher_engine::FieldError;

/// Why there is no profile to answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the key is wrong")]
    Key(String),
    #[error("there is no profile")]
    NotFound,
    #[error(transparent)]
    LookUp(#[from] LookUpError),
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        match self {
            Self::Key(detail) => Problem::invalid(vec![FieldError { pointer: "/main_key".to_owned(), detail }]),
            Self::NotFound => {
                Problem::new(ErrorCode::ProfileNotFound, "relays answered, and none of them has a profile of this key")
            }
            Self::LookUp(error) => error.into(),
        }
        .into_response()
    }
}

/// Looks a user's profile up.
///
/// Asked are the service's relays, those the user named, and those of the user's own list (NIP-65); the newest valid
/// event counts. It takes 8 s at most, usually far less; what was found is kept for 10 minutes, and that nothing was
/// found for one.
#[utoipa::path(
    get,
    path = "/profile/{main_key}",
    params(("main_key" = String, Path, format = "nostr-public-key", pattern = "^[0-9a-fA-F]{64}$", description = "The user's key: 64 hex characters.")),
    responses(
        (status = 200, description = "The profile; what it does not say is `null`.", body = Profile),
        (status = 404, description = "`profile_not_found`: Relays answered, and none has one."),
        (status = 422, description = "`invalid_request`: It is not a key."),
        (status = 503, description = "`no_relay_connected`: No relay is connected, or none answered.\n\n\
            `overloaded`: Too many look-ups at a time."),
    ),
)]
pub(crate) async fn get_profile(
    State(state): State<ApiState>,
    PathParameter(text): PathParameter,
) -> Result<Json<Profile>, Error> {
    let text = text.ok_or_else(|| Error::Key("is not UTF-8".to_owned()))?;
    let key = parse_public_key(&text).map_err(|error| Error::Key(error.to_string()))?;
    let profile = state.directory.profile(&key).await?.ok_or(Error::NotFound)?;
    Ok(Json(profile.into()))
}
