//! What the start page and the phone have in common: the style of the hosted pages, and what a browser may load.

use askama::Template;
use axum::response::{Html, IntoResponse as _, Redirect, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderName, HeaderValue, StatusCode};
use sha2::{Digest as _, Sha256};
use usher_page_layout::AccentColor;

const STYLE: &str = include_str!("../../../assets/dev.css");

/// The start page shows the phone in a frame; no other site can.
const HEADERS: [(HeaderName, HeaderValue); 5] = [
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("SAMEORIGIN")),
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
];

/// The style, and the policy that allows it by its hash.
pub(super) struct Look {
    pub(super) style: String,
    policy: HeaderValue,
}

impl Look {
    pub(super) fn new(accent: &AccentColor) -> Self {
        let style = format!("{}{STYLE}", usher_page_layout::style(accent));
        let hash = BASE64_STANDARD.encode(Sha256::digest(&style));
        let policy = HeaderValue::try_from(format!(
            "default-src 'none'; script-src 'self'; connect-src 'self'; trusted-types usher-page; \
             require-trusted-types-for 'script'; style-src 'sha256-{hash}'; img-src data:; frame-src 'self'; \
             base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
        ));
        // A hash is plain ASCII.
        Self { style, policy: policy.unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'")) }
    }

    pub(super) fn render(&self, status: StatusCode, page: &impl Template) -> Response {
        match page.render() {
            Ok(html) => {
                let mut response = (status, HEADERS, Html(html)).into_response();
                response.headers_mut().insert(CONTENT_SECURITY_POLICY, self.policy.clone());
                response
            }
            Err(error) => {
                tracing::error!(%error, "a page could not be rendered");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}

pub(super) fn see_other(address: &str) -> Response {
    (HEADERS, Redirect::to(address)).into_response()
}

pub(super) fn script(text: &'static str) -> Response {
    (HEADERS, [(CONTENT_TYPE, "text/javascript; charset=utf-8")], text).into_response()
}
