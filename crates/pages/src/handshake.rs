//! The page of a key handshake: its URL for the user's wallet.
//!
//! Whoever has the address can respond in the user's place, as with the URL itself.

use std::time::Duration;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use usher_engine::ports::StoreError;
use usher_engine::{Engine, HandshakeState, HandshakeView, StreamId};

use crate::PagesState;
use crate::keyed_page::{self, Address, KeyedView};
use crate::language::Language;
use crate::page;
use crate::qr::Qr;
use crate::texts::{Message, Texts, fill};
use crate::waiting_page::Shown;

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
    /// In seconds, and as a text.
    time_left: Option<(u64, &'a str)>,
    /// Where the page leads to at the end.
    return_url: Option<&'a str>,
}

impl KeyedView for HandshakeView {
    const FOLDER: &'static str = "handshake";

    fn find(
        engine: &Engine,
        id: StreamId,
        secret: &str,
    ) -> impl Future<Output = Result<Option<Self>, StoreError>> + Send {
        engine.handshakes().page(id, secret)
    }

    fn shown(&self) -> Shown {
        Shown {
            word: word(self.state).to_owned(),
            is_final: self.state != HandshakeState::Waiting,
            check_after: self.time_left.is_none().then_some(CLOSED_EVERY),
        }
    }

    fn not_found(texts: &Texts) -> &Message {
        &texts.handshake.not_found
    }
}

/// `GET /handshake/{stream_id}/{secret}`
pub(crate) async fn show(
    State(pages): State<PagesState>,
    Path((id, secret)): Address,
    Language(texts): Language,
) -> Response {
    match keyed_page::find::<HandshakeView>(&pages, texts, &id, &secret).await {
        Ok(found) => {
            let _turn = pages.turn().await;
            show_handshake(&pages, texts, &found.address, &found.view)
        }
        Err(response) => response,
    }
}

fn show_handshake(pages: &PagesState, texts: &Texts, address: &str, view: &HandshakeView) -> Response {
    let service = pages.service_name.as_deref().unwrap_or(texts.this_service);
    let live = view.state == HandshakeState::Waiting;
    let time_left = view.time_left.map(|left| (left.as_secs(), texts.time_left(left)));
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
                HandshakeState::Ended => texts.handshake.over,
            },
            tone: match view.state {
                HandshakeState::Waiting => "",
                HandshakeState::Completed => "passed",
                HandshakeState::Ended => "failed",
            },
            state: word(view.state),
            live,
            url: &view.url,
            qr: live.then(|| Qr::of(&view.url)).flatten(),
            time_left: time_left.as_ref().map(|(seconds, text)| (*seconds, text.as_str())),
            return_url: view.return_url.as_deref(),
        },
    )
}

/// The state in one word.
const fn word(state: HandshakeState) -> &'static str {
    match state {
        HandshakeState::Waiting => "waiting",
        HandshakeState::Completed => "completed",
        HandshakeState::Ended => "over",
    }
}
