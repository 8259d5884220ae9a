//! `PUT /profile`

use axum::Json;
use axum::extract::State;
use usher_engine::ports::{Profile, ProfileChange, PublishError};
use usher_engine::request_body::RequestBody as _;

use crate::ApiState;
use crate::audit;
use crate::body;
use crate::endpoints::profile::no_relay;
use crate::problem::Problem;

impl From<PublishError> for Problem {
    fn from(error: PublishError) -> Self {
        match error {
            PublishError::Invalid(errors) => Self::invalid(errors),
            PublishError::NoRelay => no_relay(),
            PublishError::Store(error) => error.into(),
            PublishError::Signing => Self::internal(error),
        }
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
    request_body = ProfileChange,
    responses(
        (status = 200, description = "The profile that is being published.", body = Profile),
        (status = 503, description = "`no_relay_connected`: No relay responded, so the profile to replace is unknown.\n\n\
            `storage_unavailable`"),
    ),
)]
pub(crate) async fn publish_profile(
    State(state): State<ApiState>,
    body::Draft(draft, mut errors): body::Draft<ProfileChange>,
) -> Result<Json<Profile>, Problem> {
    let directory = &state.directory;
    let change = draft.and_then(ProfileChange::complete);
    if !errors.is_empty() {
        errors.extend(change.iter().filter_map(|change| directory.check_profile(change).err()).flatten());
    }
    let change = errors.finish(change).map_err(PublishError::Invalid)?;
    audit::begin(&state).await?;
    Ok(Json(directory.publish_profile(change).await?))
}
