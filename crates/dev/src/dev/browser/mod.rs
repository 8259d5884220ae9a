//! What `usher dev` shows in a browser: the start page, a phone with the test wallet, and what the buttons of the hosted
//! pages do. `usher serve` has none of it.
//!
//! The start page and the phone need no token, so usher-api serves them under a loopback name only, and accepts what
//! their forms send from themselves only. What services wrote (descriptions, names) is escaped by the templates.

mod console;
mod form;
mod guides;
mod hosted_pages;
mod page;
mod phone;
mod phone_page;
mod start_page;
mod state;
mod trials;

use axum::Router;
use axum::routing::{get, post};
use usher::service_lifecycle::TestRoutes;

pub(super) use self::state::{About, Browser};

impl Browser {
    pub(super) fn routes(self) -> TestRoutes {
        let local = Router::new()
            .route("/", get(start_page::show))
            .route("/start.js", get(start_page::script))
            .route("/guides/{name}", get(guides::show))
            .route("/dev/console", get(console::log_in))
            .route("/phone", get(phone::show))
            .route("/phone/events", get(phone::events))
            .route("/phone/phone.js", get(phone::script))
            .route("/phone/reply", post(phone::reply))
            .route("/phone/open", post(phone::open))
            .route("/phone/close", post(phone::close));
        let pages = Router::new()
            .route("/login/{stream_id}/{secret}/test-wallet", post(hosted_pages::log_in))
            .route("/pay/{stream_id}/{secret}/test-wallet", post(hosted_pages::pay))
            .route("/link/{stream_id}/{secret}/test-wallet", post(hosted_pages::pay_at_link))
            .route("/refund/{stream_id}/{secret}/test-wallet", post(hosted_pages::refund))
            .route("/handshake/{stream_id}/{secret}/test-wallet", post(hosted_pages::shake_hands))
            .route("/verify/{session_id}/{secret}/test-wallet", post(hosted_pages::decide));
        TestRoutes { pages: pages.with_state(self.clone()), local: local.with_state(self), ..TestRoutes::default() }
    }
}
