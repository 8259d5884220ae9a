//! `PUT /profile`

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use usher_engine::ports::{ProfileChange, PublishError};
use usher_engine::request_body;
use usher_engine::request_body::{Nip05Identifier, Nullable, OneLine, UserName, WebUrl};

use crate::ApiState;
use crate::body;
use crate::endpoints::profile::{Profile, no_relay};
use crate::problem::Problem;
use crate::tasks::{self, TaskLost};

/// Why a profile was not published.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Publish(#[from] PublishError),
    #[error(transparent)]
    Lost(#[from] TaskLost),
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let problem: Problem = match self {
            Self::Publish(PublishError::Invalid(errors)) => Problem::invalid(errors),
            Self::Publish(PublishError::NoRelay) => no_relay(),
            Self::Publish(PublishError::Store(error)) => error.into(),
            Self::Publish(error @ PublishError::Signing) => Problem::internal(error),
            Self::Lost(error) => error.into(),
        };
        problem.into_response()
    }
}

request_body! {
    /// The service's own profile. A field that is missing or `null` is removed from it.
    pub(crate) struct Body, BodyDraft = "ProfileRequest", example {
        "name": "shop",
        "display_name": "The Shop",
        "picture": "https://shop.example/logo.png",
        "about": "Tickets and more",
        "nip05": "_@shop.example",
    } {
        /// User name, without spaces.
        name: Nullable<UserName>,
        /// The name to display, on one line.
        display_name: Nullable<OneLine<128>>,
        /// `https` or `http` URL of a picture.
        picture: Nullable<WebUrl>,
        /// A short description, on one line.
        about: Nullable<OneLine<4096>>,
        /// Identifier `name@domain`. The domain must serve the response of `GET /.well-known/nostr.json` of this service.
        nip05: Nullable<Nip05Identifier>,
    }
}

/// Publishes the service's own profile, replacing the previous one.
///
/// The change is durable before the response, and every relay of the service gets the profile; a relay that is down
/// gets it later. Fields that another program set and that are not listed here are kept. The profile stays until the
/// next request, or until `profile.*` in the configuration changes.
#[utoipa::path(
    put,
    path = "/profile",
    request_body = Body,
    responses(
        (status = 200, description = "The profile that is being published.", body = Profile),
        (status = 503, description = "`no_relay_connected`: No relay responded, so the profile to replace is unknown.\n\n`storage_unavailable`: The database is unavailable."),
    ),
)]
pub(crate) async fn publish_profile(
    State(state): State<ApiState>,
    body::Draft(draft, mut errors): body::Draft<Body>,
) -> Result<Json<Profile>, Error> {
    let directory = Arc::clone(&state.directory);
    let change = draft.map(|BodyDraft { name, display_name, picture, about, nip05 }| ProfileChange {
        name,
        display_name,
        picture,
        about,
        nip05,
    });
    if !errors.is_empty() {
        errors.extend(change.iter().filter_map(|change| directory.check_profile(change).err()).flatten());
    }
    let change = errors.finish(change).map_err(PublishError::Invalid)?;
    let profile = tasks::run_detached(&state, async move { directory.publish_profile(change).await }).await??;
    Ok(Json(profile.into()))
}
