//! The pages that a user's browser opens: today the page of an age verification session.
//!
//! A page is found by an unguessable secret in its address, and works without JavaScript. Everything it loads is in the
//! binary; its `Content-Security-Policy` allows nothing else. Templates escape every value. All texts are in `texts`.
//!
//! | path | is |
//! | --- | --- |
//! | `/verify/{session_id}/{secret}` | the page of a session |
//! | `/verify/{session_id}/{secret}/state` | its state as one word, for the page's script |
//! | `/verify/{session_id}/{secret}/start` | begins the check of a provider (POST) |
//! | `/verify/return` | where the provider sends the browser back to |
//! | `/verify/assets/…` | style sheet and script |
//!
//! The listener around this router limits connections and time, and keeps addresses out of the log: they contain secrets.

mod age_check;
mod assets;
mod page;
mod session;
mod texts;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use usher_engine::{Engine, StreamId};

/// How the pages are reached and what they say of the service.
#[derive(Clone, Debug)]
pub struct PagesOptions {
    /// How a browser reaches the service, without a trailing slash (`pages.public_url`).
    pub url: String,
    /// The service's name (`profile.display_name`, `profile.name`).
    pub service_name: Option<String>,
}

/// What every page has at hand.
#[derive(Clone)]
struct PagesState(Arc<Shared>);

struct Shared {
    engine: Arc<Engine>,
    /// Whether browsers reach the service over TLS.
    is_secure: bool,
    /// The path of the public URL, without a trailing slash: a proxy may serve the pages below a path.
    base: String,
    service_name: Option<String>,
}

impl PagesState {
    /// The path of the page of a session.
    fn address(&self, session: StreamId, secret: &str) -> String {
        format!("{}/verify/{session}/{secret}", self.base)
    }
}

impl std::ops::Deref for PagesState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

/// All pages.
pub fn router(engine: Arc<Engine>, options: PagesOptions) -> Router {
    let base = url::Url::parse(&options.url).map(|url| url.path().trim_end_matches('/').to_owned()).unwrap_or_default();
    let is_secure = options.url.starts_with("https://");
    let state = PagesState(Arc::new(Shared { engine, base, is_secure, service_name: options.service_name }));
    Router::new()
        .route("/verify/{session_id}/{secret}", get(session::show))
        .route("/verify/{session_id}/{secret}/state", get(session::state))
        .route("/verify/{session_id}/{secret}/start", post(age_check::begin))
        .route("/verify/return", get(age_check::end))
        .route("/verify/assets/page.css", get(assets::style))
        .route("/verify/assets/page.js", get(assets::script))
        .with_state(state)
}
