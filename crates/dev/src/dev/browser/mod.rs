//! What `usher dev` shows in a browser: the start page, a phone with the test wallet, and what the buttons of the hosted
//! pages do. `usher serve` has none of it.
//!
//! The start page and the phone need no token, so usher-api serves them under a loopback name only, and accepts what
//! their forms send from themselves only. What services wrote (descriptions, names) is escaped by the templates.

mod form;
mod guides;
mod hosted_pages;
mod page;
mod phone;
mod phone_page;
mod start_page;
mod trials;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::{get, post};
use secrecy::SecretString;
use tokio::task::JoinHandle;
use usher::service_lifecycle::TestRoutes;
use usher_engine::Engine;
use usher_page_layout::{AccentColor, Site};

use self::page::Look;
use super::test_wallet::TestWallet;

/// How long a form waits for what it began, which goes on in any case.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the pages need.
#[derive(Clone)]
pub(super) struct Browser {
    engine: Arc<Engine>,
    wallet: Arc<TestWallet>,
    /// The hosted pages.
    site: Site,
    look: Arc<Look>,
    about: Arc<About>,
}

/// What the start page says about the service.
pub(super) struct About {
    /// The address of the API, and of the start page.
    pub(super) base: String,
    /// The token. It is shown, because it was generated for this purpose.
    pub(super) token: SecretString,
    /// The price of a payment, in millisats.
    pub(super) price: u64,
    /// The mint's address and token.
    pub(super) mint: Option<(String, SecretString)>,
}

impl Browser {
    pub(super) fn new(
        engine: &Arc<Engine>,
        wallet: Arc<TestWallet>,
        site: &Site,
        accent: &AccentColor,
        about: About,
    ) -> Self {
        let (look, about) = (Arc::new(Look::new(accent)), Arc::new(about));
        Self { engine: Arc::clone(engine), wallet, site: site.clone(), look, about }
    }

    pub(super) fn routes(self) -> TestRoutes {
        let local = Router::new()
            .route("/", get(start_page::show))
            .route("/start.js", get(start_page::script))
            .route("/guides/{name}", get(guides::show))
            .route("/phone", get(phone::show))
            .route("/phone/events", get(phone::events))
            .route("/phone/phone.js", get(phone::script))
            .route("/phone/reply", post(phone::reply))
            .route("/phone/open", post(phone::open))
            .route("/phone/close", post(phone::close));
        let pages = Router::new()
            .route("/login/{stream_id}/{secret}/test-wallet", post(hosted_pages::log_in))
            .route("/pay/{stream_id}/{secret}/test-wallet", post(hosted_pages::pay))
            .route("/refund/{stream_id}/{secret}/test-wallet", post(hosted_pages::refund))
            .route("/handshake/{stream_id}/{secret}/test-wallet", post(hosted_pages::shake_hands))
            .route("/verify/{session_id}/{secret}/test-wallet", post(hosted_pages::decide));
        TestRoutes { pages: pages.with_state(self.clone()), local: local.with_state(self), ..TestRoutes::default() }
    }
}

/// Waits a little for what a form began.
async fn wait(begun: JoinHandle<()>) {
    let _ = tokio::time::timeout(PATIENCE, begun).await;
}
