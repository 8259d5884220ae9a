//! `GET /settings`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::ApiState;
use crate::service_status::Setting;

/// The effective configuration.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Settings)]
pub(crate) struct Settings {
    /// Every key, in the order of the reference (`usher config default`).
    settings: Vec<Setting>,
}

/// Shows the effective configuration.
///
/// Every key, also one with its default, and where its value comes from. No secret is shown, only whether it is set.
#[utoipa::path(
    get,
    path = "/settings",
    responses((status = 200, description = "The configuration with which the service runs.", body = Settings)),
)]
pub(crate) async fn list_settings(State(state): State<ApiState>) -> Json<Settings> {
    Json(Settings { settings: state.status.settings() })
}
