//! `GET /docs`: Swagger UI, which shows the OpenAPI document and sends requests. Everything it loads is in the binary.

use std::io::Read as _;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use flate2::read::GzDecoder;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue};

const PAGE: &str = include_str!("../../../assets/docs.html");

/// Content Security Policy of the page: it loads from this service alone, sends requests to this service alone, and
/// cannot be framed. `data:` is for the icons in the style sheet.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// Shows this interface in a browser and sends requests to it.
///
/// A browser asks for the token before it shows the page: enter any user name, and the token as the password. `usher dev`
/// serves the page to browsers on the same machine without it. "Authorize" on the page takes the token for the requests that
/// it sends; the page does not store it.
#[utoipa::path(
    get,
    path = "/docs",
    responses((
        status = 200,
        description = "The page.",
        body = String,
        content_type = "text/html",
        example = "<!doctype html>…",
    )),
)]
pub(crate) async fn show_docs() -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    (headers, PAGE).into_response()
}

/// `GET /docs/viewer.js`: starts Swagger UI.
pub(crate) async fn viewer() -> Response {
    asset("text/javascript; charset=utf-8", include_str!("../../../assets/viewer.js").into_response())
}

/// `GET /docs/swagger-ui.js`
pub(crate) async fn script(headers: HeaderMap) -> Response {
    const FILE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/swagger-ui.js.gz"));
    asset("text/javascript; charset=utf-8", compressed(FILE, &headers))
}

/// `GET /docs/swagger-ui.css`
pub(crate) async fn style(headers: HeaderMap) -> Response {
    const FILE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/swagger-ui.css.gz"));
    asset("text/css; charset=utf-8", compressed(FILE, &headers))
}

/// `GET /docs/favicon.png`
pub(crate) async fn icon(headers: HeaderMap) -> Response {
    const FILE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/favicon.png.gz"));
    asset("image/png", compressed(FILE, &headers))
}

fn asset(content_type: &'static str, mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Another version of the service may have other files.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, max-age=300"));
    response
}

/// A file that is kept compressed by gzip: as it is for a client that accepts that, as every browser does.
pub(super) fn compressed(file: &'static [u8], request: &HeaderMap) -> Response {
    let vary = (VARY, HeaderValue::from_name(ACCEPT_ENCODING));
    if accepts_gzip(request) {
        let encoding = (CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        return ([vary, encoding], Bytes::from_static(file)).into_response();
    }
    let mut content = Vec::new();
    // Reading from memory fails only when the file is damaged, and the build script has just made it.
    let _ = GzDecoder::new(file).read_to_end(&mut content);
    ([vary], content).into_response()
}

/// Whether `Accept-Encoding` names gzip and does not refuse it by `q=0` (RFC 9110 section 12.5.3).
fn accepts_gzip(request: &HeaderMap) -> bool {
    let values = request.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        named && !parts.any(|weight| matches!(weight, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_only_to_clients_that_accept_it() {
        let accepts = |value: &'static str| {
            accepts_gzip(&HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(value))]))
        };
        assert!(accepts("gzip, deflate, br") && accepts("br;q=1.0, GZIP;q=0.8") && accepts("gzip"));
        assert!(!accepts("br") && !accepts("gzip;q=0, br") && !accepts("") && !accepts_gzip(&HeaderMap::new()));
    }
}
