//! The pages that a user's browser opens: login, payment, key handshake and age verification.
//!
//! A page is found by an unguessable secret in its address, and works without JavaScript. Everything it loads is in the
//! binary; its `Content-Security-Policy` allows nothing else. Templates escape every value. All texts are in `texts`.
//!
//! | path | is |
//! | --- | --- |
//! | `/` | the service's name and its app; in test mode `usher dev` has its start page there |
//! | `/login/{stream_id}/{secret}` | the page of a login; a POST opens it for a browser that sends no Fetch Metadata |
//! | `/login/{stream_id}/{secret}/events` | its state as server-sent events, for the page's script |
//! | `/login/{stream_id}/{secret}/extension` | receives the event signed by a browser extension (POST) |
//! | `/login/{stream_id}/{secret}/signer` | the user enters their remote signer |
//! | `/login/{stream_id}/{secret}/signed` | where an Android signer app returns, with the event in the query |
//! | `/login/{stream_id}/{secret}/passkey` | the user's key and its recovery file (GET); a passkey was created or used (POST) |
//! | `/login/{stream_id}/{secret}/passkey/options`, `…/wrapped-key` | requests of the script (POST) |
//! | `/login/{stream_id}/{secret}/decline` | declines the login (POST); redirects to the page (GET) |
//! | `/pay/{stream_id}/{secret}`, `…/events` | the page of a payment, and its state |
//! | `/refund/{stream_id}/{secret}`, `…/events` | the page of a refund, to which the payer posts an invoice, and its state |
//! | `/link/{stream_id}/{secret}` | the page of a payment link; a POST requests an invoice and redirects to the payment's page |
//! | `/lnurlp/{stream_id}/{secret}`, `…/invoice` | the same link for wallets (LNURL-pay) |
//! | `/.well-known/lnurlp/{name}` | the payment parameters of the service's Lightning address |
//! | `/handshake/{stream_id}/{secret}`, `…/events` | the page of a key handshake, and its state |
//! | `/verify/{session_id}/{secret}`, `…/events` | the page of a verification session, and its state |
//! | `/verify/{session_id}/{secret}/start` | begins the check of a provider (POST) |
//! | `/console` and below | the console of operators (`console`) |
//! | `/verify/return` | where the provider redirects the browser |
//! | `/pages/none` | the "not found" page, for browsers that request an unknown path |
//! | `/pages/assets/page.js` | the script of all pages |
//! | `/pages/assets/passkey.js` | the script for passkeys, loaded on demand |
//!
//! The listener around this router limits connections and time, and does not log addresses, which contain secrets.

mod account;
mod age_provider_redirect;
mod age_verification;
mod amounts;
mod assets;
mod browser;
mod console;
mod handshake;
mod keyed_page;
mod link;
mod lnurl_pay;
mod login;
mod login_methods;
mod login_page_request;
mod page;
mod passkey;
mod payment;
mod qr;
mod refund;
mod signer;
mod signer_app;
mod state;
mod texts;
mod visit;
mod waiting_page;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use usher_engine::{Engine, HandshakeView, PaymentView, RefundView, VerificationView};
use usher_page_layout::{PageRunner, preflight, run_changes, run_to_end};

use self::console::OperatorsState;
use self::state::PagesState;

pub use self::browser::{login_cookie_name, login_cookies};
pub use self::console::{OperatorOptions, session_cookie, session_secret};
pub use self::link::typed_amount;
pub use self::page::not_available;
pub use self::state::PagesOptions;

/// Largest request body, in bytes: a signed event.
const MAX_BODY_BYTES: usize = 16 * 1024;

/// The routes of all pages.
pub fn router(engine: Arc<Engine>, options: PagesOptions) -> Router {
    let (operators, runner) = (options.operators.clone(), PageRunner::new(options.tasks.clone()));
    let home = if options.site.is_test_mode() { Router::new() } else { Router::new().route("/", get(page::home)) };
    let state = PagesState::new(engine, options);
    // For requests that change something by GET.
    let to_end = from_fn_with_state(runner.clone(), run_to_end);
    let networks = operators.console.clone();
    let operators = OperatorsState::new(state.clone(), operators);
    let console = networks.map(|networks| console::router(operators, networks, runner.clone()));
    home.route("/login/{stream_id}/{secret}", get(login::show).route_layer(to_end.clone()).post(login::enter))
        .route("/login/{stream_id}/{secret}/events", get(login::events))
        .route("/login/{stream_id}/{secret}/extension", post(login::prove))
        .route("/login/{stream_id}/{secret}/signer", get(signer::show).post(signer::ask))
        .route("/login/{stream_id}/{secret}/signed", get(signer_app::signed).route_layer(to_end.clone()))
        .route("/login/{stream_id}/{secret}/passkey", get(passkey::show).post(passkey::prove))
        .route("/login/{stream_id}/{secret}/passkey/options", post(passkey::options))
        .route("/login/{stream_id}/{secret}/passkey/wrapped-key", post(passkey::wrapped_key))
        .route("/login/{stream_id}/{secret}/decline", get(login::decline_again).post(login::decline))
        .route("/pay/{stream_id}/{secret}", get(payment::show).post(payment::renew))
        .route("/pay/{stream_id}/{secret}/events", get(keyed_page::events::<PaymentView>))
        .route("/refund/{stream_id}/{secret}", get(refund::show).post(refund::take))
        .route("/refund/{stream_id}/{secret}/events", get(keyed_page::events::<RefundView>))
        .route("/link/{stream_id}/{secret}", get(link::show).post(link::pay))
        .route("/lnurlp/{stream_id}/{secret}", get(lnurl_pay::offer).options(preflight))
        .route("/lnurlp/{stream_id}/{secret}/invoice", get(lnurl_pay::invoice).options(preflight))
        .route("/.well-known/lnurlp/{name}", get(lnurl_pay::address).options(preflight))
        .route("/handshake/{stream_id}/{secret}", get(handshake::show))
        .route("/handshake/{stream_id}/{secret}/events", get(keyed_page::events::<HandshakeView>))
        .route("/verify/{session_id}/{secret}", get(age_verification::show))
        .route("/verify/{session_id}/{secret}/events", get(keyed_page::events::<VerificationView>))
        .route("/verify/{session_id}/{secret}/start", post(age_provider_redirect::begin))
        .route("/verify/return", get(age_provider_redirect::end).route_layer(to_end))
        .route("/pages/none", get(page::none))
        .route("/pages/assets/page.js", get(assets::page_script))
        .route("/pages/assets/passkey.js", get(assets::passkey_script))
        .with_state(state)
        .merge(console.unwrap_or_default())
        .layer(from_fn_with_state(runner, run_changes))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
}
