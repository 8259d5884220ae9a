//! `GET /health`

/// Says that the service runs.
///
/// Liveness only: whoever answers is alive. It touches neither the database nor the relays, so that a supervisor
/// does not restart a service for what a restart does not cure.
#[utoipa::path(
    get,
    path = "/health",
    responses((status = 200, description = "The service runs.", body = String, content_type = "text/plain", example = "OK")),
)]
pub(crate) async fn check_health() -> &'static str {
    "OK"
}
