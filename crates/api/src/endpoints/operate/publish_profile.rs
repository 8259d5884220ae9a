//! `PUT /profile`

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use usher_engine::ports::{ProfileChange, PublishError};
use utoipa::ToSchema;

use crate::ApiState;
use crate::body::{self, JsonBody, Values};
use crate::endpoints::profile::{Profile, no_relay};
use crate::field_reader::{self, Fields};
use crate::problem::{FieldError, Problem};
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
            Self::Publish(PublishError::Invalid(faults)) => {
                Problem::invalid(faults.into_iter().map(FieldError::from).collect())
            }
            Self::Publish(PublishError::NoRelay) => no_relay(),
            Self::Publish(PublishError::Store(error)) => error.into(),
            Self::Publish(error @ PublishError::Signing) => Problem::internal(error),
            Self::Lost(error) => error.into(),
        };
        problem.into_response()
    }
}

/// The service's own profile as it shall be. What is missing or `null` is not in it any more.
#[derive(Debug, ToSchema)]
#[schema(as = ProfileRequest, example = json!({
    "name": "shop",
    "display_name": "The Shop",
    "picture": "https://shop.example/logo.png",
    "about": "Tickets and more",
    "nip05": "_@shop.example",
}))]
#[expect(dead_code, reason = "describes the body that `JsonBody for ProfileChange` reads")]
pub(crate) struct RequestBody {
    /// User name, no spaces.
    #[schema(format = "one-line", min_length = 1, max_length = 64, pattern = r"^\S+$")]
    name: Option<String>,
    /// Name as shown, on one line.
    #[schema(format = "one-line", min_length = 1, max_length = 128)]
    display_name: Option<String>,
    /// `https` or `http` address of a picture.
    #[schema(format = "web-url", max_length = 2048, pattern = "^[Hh][Tt][Tt][Pp][Ss]?://")]
    picture: Option<String>,
    /// A few words, on one line.
    #[schema(format = "one-line", min_length = 1, max_length = 4096)]
    about: Option<String>,
    /// Identifier `name@domain`; the domain has to serve what `GET /.well-known/nostr.json` answers here.
    #[schema(
        format = "nip05",
        max_length = 324,
        pattern = "^[A-Za-z0-9._-]{1,64}@[A-Za-z0-9.-]{1,253}(:[1-9][0-9]{0,4})?$"
    )]
    nip05: Option<String>,
}

impl JsonBody for ProfileChange {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        Some(Self {
            name: fields.optional("name", field_reader::text),
            display_name: fields.optional("display_name", field_reader::text),
            picture: fields.optional("picture", field_reader::text),
            about: fields.optional("about", field_reader::text),
            nip05: fields.optional("nip05", field_reader::text),
        })
    }

    fn values(fields: &mut Fields<'_>) -> Option<Values> {
        Self::read(fields).map(Values::Profile)
    }
}

/// Publishes the service's own profile in place of the last one.
///
/// It is durable when the call answers, and every relay of the service gets it: one that is down when it is back. Fields
/// of the profile that another program has set and that are not listed here stay. It lasts until the next call, or until
/// `profile.*` in the configuration is changed.
#[utoipa::path(
    put,
    path = "/profile",
    request_body = RequestBody,
    responses(
        (status = 200, description = "It is being published.", body = Profile),
        (status = 503, description = "`no_relay_connected`: No relay answered, and so it is not known what it would \
            replace.\n\n`storage_unavailable`: The database is unavailable."),
    ),
)]
pub(crate) async fn publish_profile(
    State(state): State<ApiState>,
    body::Json(change): body::Json<ProfileChange>,
) -> Result<Json<Profile>, Error> {
    let directory = Arc::clone(&state.directory);
    let profile = tasks::run_detached(&state, async move { directory.publish_profile(change).await }).await??;
    Ok(Json(profile.into()))
}
