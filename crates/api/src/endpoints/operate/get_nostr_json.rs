//! `GET /.well-known/nostr.json`

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::header::{ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN};
use http::{HeaderValue, StatusCode};
use usher_engine::FieldErrors;
use usher_engine::ports::WellKnown;

use crate::ApiState;
use crate::problem::Problem;
use crate::query::Query;

/// Publishes the service's own name (NIP-05).
///
/// The response is public, may be read by pages of other origins, and is never a redirect. For the service's `nip05`
/// to be valid, its domain must serve `/.well-known/nostr.json` from here.
#[utoipa::path(
    get,
    path = "/.well-known/nostr.json",
    params(("name" = Option<String>, Query, description = "Return only this name.")),
    responses(
        (status = 200, description = "The name of the service, if it has one.", body = WellKnown,
            headers(("Access-Control-Allow-Origin" = String, description = "`*`."))),
    ),
)]
pub(crate) async fn get_nostr_json(
    State(state): State<ApiState>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let mut errors = FieldErrors::default();
    let name = Query::new(query.as_deref()).text("name", &mut errors);
    errors.finish(Some(())).map_err(Problem::invalid)?;
    let known = state.directory.well_known();
    let told = match name {
        Some(name) => known.only(&name),
        None => known,
    };
    let for_all = (ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    Ok(([for_all], Json(told)).into_response())
}

/// `OPTIONS`: pages of other sites may send any header (Fetch standard, CORS preflight).
pub(crate) async fn preflight() -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
        (ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET")),
        (ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*")),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}
