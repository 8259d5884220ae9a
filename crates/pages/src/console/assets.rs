//! The program of the console and its style, under names that change with their content.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue, StatusCode};
use sha2::{Digest as _, Sha256};

use crate::assets::{compress, compressible};

pub(super) static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(include_str!("../../../../console/dist/app.js"), "js", "text/javascript; charset=utf-8")
});

pub(super) static STYLE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new(include_str!("../../../../console/dist/app.css"), "css", "text/css; charset=utf-8"));

pub(super) struct Asset {
    pub(super) name: String,
    content: &'static str,
    compressed: Option<Vec<u8>>,
    content_type: &'static str,
}

impl Asset {
    fn new(content: &'static str, extension: &str, content_type: &'static str) -> Self {
        let digest = Sha256::digest(content);
        let hash: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let compressed = compress(content.as_bytes()).ok();
        Self { name: format!("app-{hash}.{extension}"), content, compressed, content_type }
    }

    fn response(&'static self, headers: &HeaderMap) -> Response {
        let fixed = [
            (CONTENT_TYPE, HeaderValue::from_static(self.content_type)),
            (CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
            (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        ];
        compressible((fixed, self.content).into_response(), self.compressed.as_deref(), headers)
    }
}

/// `GET /console/assets/{name}`
pub(super) async fn show(Path(name): Path<String>, headers: HeaderMap) -> Response {
    match [&*SCRIPT, &*STYLE].into_iter().find(|asset| asset.name == name) {
        Some(asset) => asset.response(&headers),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
