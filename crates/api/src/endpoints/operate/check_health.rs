//! `GET /health`

/// Checks that the service is alive.
///
/// It uses neither the database nor the relays, so a supervisor does not restart the service because of a problem that
/// a restart cannot solve.
#[utoipa::path(
    get,
    path = "/health",
    responses((status = 200, description = "The service is alive.", body = String, content_type = "text/plain", example = "OK")),
)]
pub(crate) async fn check_health() -> &'static str {
    "OK"
}
