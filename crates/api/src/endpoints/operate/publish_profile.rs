//! `PUT /profile`

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use usher_engine::ports::{ProfileChange, PublishError};

use crate::ApiState;
use crate::body;
use crate::endpoints::profile::{Profile, no_relay};
use crate::field_types::{Nip05Identifier, OneLine, UserName, WebUrl};
use crate::problem::Problem;
use crate::request_body::{Nullable, RequestBody, ValuesToCheck, request_body};
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
    pub(crate) struct Body = "ProfileRequest", example {
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

impl RequestBody for Body {
    type Request = ProfileChange;

    fn complete(self) -> Option<ProfileChange> {
        let Self { name, display_name, picture, about, nip05 } = self;
        Some(ProfileChange { name, display_name, picture, about, nip05 })
    }

    fn values(&self) -> Option<ValuesToCheck> {
        Some(ValuesToCheck::Profile(ProfileChange {
            name: self.name.clone(),
            display_name: self.display_name.clone(),
            picture: self.picture.clone(),
            about: self.about.clone(),
            nip05: self.nip05.clone(),
        }))
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
    body::Json(change): body::Json<Body>,
) -> Result<Json<Profile>, Error> {
    let directory = Arc::clone(&state.directory);
    let profile = tasks::run_detached(&state, async move { directory.publish_profile(change).await }).await??;
    Ok(Json(profile.into()))
}
