//! The page of a key handshake: its URL for the user's wallet.
//!
//! Whoever has the address can respond in the user's place, as with the URL itself.

use std::time::Duration;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use usher_engine::{HandshakeState, HandshakeView, StreamId};

use crate::PagesState;
use crate::language::Language;
use crate::page;
use crate::qr::Qr;
use crate::texts::{Texts, fill};
use crate::waiting::{self, Shown};

/// How often the page looks whether the operator has closed a handshake: no event says so.
const CLOSED_EVERY: Duration = Duration::from_secs(30);

#[derive(Template)]
#[template(path = "handshake.html")]
struct HandshakePage<'a> {
    texts: &'a Texts,
    base: &'a str,
    /// The page's own path.
    address: &'a str,
    asks: &'a str,
    status: &'a str,
    /// The colour of the status: `passed`, `failed` or none.
    tone: &'a str,
    /// The state in one word.
    state: &'a str,
    /// Whether the state may change.
    live: bool,
    url: &'a str,
    qr: Option<Qr>,
    time_left: Option<&'a str>,
    /// Where the page leads to at the end.
    return_url: Option<&'a str>,
}

/// What the address names.
type Address = Path<(String, String)>;

/// `GET /handshake/{stream_id}/{secret}`
pub(crate) async fn show(
    State(pages): State<PagesState>,
    Path((id, secret)): Address,
    Language(texts): Language,
) -> Response {
    let Ok(handshake) = id.parse::<StreamId>() else { return not_found(&pages, texts) };
    match pages.engine.handshake_page(handshake, &secret).await {
        Ok(Some(view)) => {
            show_handshake(&pages, texts, &format!("{}/handshake/{handshake}/{secret}", pages.base), &view)
        }
        Ok(None) => not_found(&pages, texts),
        Err(error) => {
            tracing::error!(%handshake, %error, "the page of a key handshake could not be shown");
            page::message(StatusCode::SERVICE_UNAVAILABLE, texts, &pages.base, &texts.unavailable, None)
        }
    }
}

/// `GET /handshake/{stream_id}/{secret}/events`
pub(crate) async fn events(
    State(pages): State<PagesState>,
    Path((id, secret)): Address,
    Language(texts): Language,
) -> Response {
    let Ok(handshake) = id.parse::<StreamId>() else { return not_found(&pages, texts) };
    let engine = pages.engine.clone();
    let read = move || -> futures_util::future::BoxFuture<'static, Option<Shown>> {
        let (engine, secret) = (engine.clone(), secret.clone());
        Box::pin(async move {
            let view = engine.handshake_page(handshake, &secret).await.ok()??;
            let check_after = view.time_left.is_none().then_some(CLOSED_EVERY);
            Some(Shown {
                word: word(view.state).to_owned(),
                is_final: view.state != HandshakeState::Waiting,
                check_after,
            })
        })
    };
    waiting::respond(&pages, handshake, Box::new(read)).await
}

fn show_handshake(pages: &PagesState, texts: &Texts, address: &str, view: &HandshakeView) -> Response {
    let service = pages.service_name.as_deref().unwrap_or(texts.this_service);
    let live = view.state == HandshakeState::Waiting;
    let time_left = view.time_left.map(|left| texts.time_left(left));
    page::render(
        StatusCode::OK,
        &HandshakePage {
            texts,
            base: &pages.base,
            address,
            asks: &fill(texts.handshake.asks, &[("service", service)]),
            status: match view.state {
                HandshakeState::Waiting => texts.handshake.waiting,
                HandshakeState::Completed => texts.handshake.completed,
                HandshakeState::Over => texts.handshake.over,
            },
            tone: match view.state {
                HandshakeState::Waiting => "",
                HandshakeState::Completed => "passed",
                HandshakeState::Over => "failed",
            },
            state: word(view.state),
            live,
            url: &view.url,
            qr: live.then(|| Qr::of(&view.url)).flatten(),
            time_left: time_left.as_deref(),
            return_url: view.return_url.as_deref(),
        },
    )
}

/// The state in one word.
const fn word(state: HandshakeState) -> &'static str {
    match state {
        HandshakeState::Waiting => "waiting",
        HandshakeState::Completed => "completed",
        HandshakeState::Over => "over",
    }
}

fn not_found(pages: &PagesState, texts: &Texts) -> Response {
    page::message(StatusCode::NOT_FOUND, texts, &pages.base, &texts.handshake.not_found, None)
}
