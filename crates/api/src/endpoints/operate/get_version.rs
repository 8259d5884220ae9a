//! `GET /version`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::ApiState;

/// The version of the service.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Version)]
pub(crate) struct Response {
    /// The version (SemVer). A client library works with a service of the same major.minor.
    #[schema(example = "0.1.0")]
    version: String,
    /// The commit it was built from.
    #[schema(example = "17f8cad")]
    commit: String,
}

/// Shows the version of the service.
///
/// Client libraries compare major and minor. It also shows whether an upgrade took effect.
#[utoipa::path(
    get,
    path = "/version",
    responses((status = 200, description = "The version.", body = Response)),
)]
pub(crate) async fn get_version(State(state): State<ApiState>) -> Json<Response> {
    Json(Response { version: state.version.clone(), commit: state.commit.clone() })
}
