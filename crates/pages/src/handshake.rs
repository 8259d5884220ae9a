//! The page of a key handshake: its URL for the user's wallet.
//!
//! Anybody with the address can respond in the user's place, as with the URL itself.

use std::time::Duration;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use usher_engine::ports::StoreError;
use usher_engine::{Engine, HandshakeState, HandshakeView, StreamId};
use usher_page_layout::Frame;

use crate::keyed_page::{self, Address, KeyedView, Page};
use crate::page::{CodePanel, OtherLink, Tone};
use crate::qr::Qr;
use crate::state::PagesState;
use crate::texts::{Message, Texts};
use crate::visit::Visit;
use crate::waiting_page::Shown;

/// How often the page polls whether the operator has closed the handshake: there is no event for it.
const CLOSED_EVERY: Duration = Duration::from_secs(30);

#[derive(Template)]
#[template(path = "handshake.html")]
struct HandshakePage<'a> {
    frame: &'a Frame,
    texts: &'a Texts,
    /// The page's own path.
    address: &'a str,
    title: &'a str,
    asks: &'a str,
    status: &'a str,
    tone: Tone,
    state: &'a str,
    /// Whether the state may change.
    live: bool,
    /// Whether the page reloads by itself without JavaScript.
    reloads: bool,
    url: &'a str,
    other_links: Vec<OtherLink<'a>>,
    code: Option<CodePanel<'a>>,
    /// The line that shows the code.
    use_phone: &'a str,
    /// In seconds, and as a text.
    time_left: Option<(u64, &'a str)>,
    /// Where the browser is redirected now.
    return_now: Option<&'a str>,
}

impl KeyedView for HandshakeView {
    const FOLDER: &'static str = "handshake";

    async fn find(engine: &Engine, id: StreamId, secret: &str) -> Result<Option<Self>, StoreError> {
        engine.handshakes().page(id, secret).await
    }

    fn shown(&self) -> Shown {
        Shown {
            word: self.state.as_str().to_owned(),
            is_final: self.state != HandshakeState::Waiting,
            check_after: self.time_left.is_none().then_some(CLOSED_EVERY),
        }
    }

    fn not_found(texts: &Texts) -> &Message {
        &texts.handshake.not_found
    }
}

/// `GET /handshake/{stream_id}/{secret}`
pub(crate) async fn show(State(pages): State<PagesState>, Path((id, secret)): Address, visit: Visit) -> Page {
    let found = keyed_page::find::<HandshakeView>(&pages, &visit, &id, &secret).await?;
    let _turn = pages.turn().await;
    Ok(show_handshake(&visit, &found.address, &found.view))
}

fn show_handshake(visit: &Visit, address: &str, view: &HandshakeView) -> Response {
    let texts = visit.texts;
    let live = view.state == HandshakeState::Waiting;
    let time_left = view.time_left.map(|left| (left.as_secs(), texts.time_left(left)));
    visit.frame.render(
        StatusCode::OK,
        &HandshakePage {
            frame: &visit.frame,
            texts,
            address,
            title: match view.state {
                HandshakeState::Waiting => texts.handshake.heading,
                HandshakeState::Completed => texts.handshake.completed_heading,
                HandshakeState::Ended => texts.handshake.over_heading,
            },
            asks: &texts.handshake.asks(visit.service()),
            status: match view.state {
                HandshakeState::Waiting => texts.handshake.waiting,
                HandshakeState::Completed => texts.handshake.completed,
                HandshakeState::Ended => texts.handshake.over,
            },
            tone: match view.state {
                HandshakeState::Waiting => Tone::Waiting,
                HandshakeState::Completed => Tone::Passed,
                HandshakeState::Ended => Tone::Failed,
            },
            state: view.state.as_str(),
            live,
            reloads: live,
            url: &view.url,
            other_links: OtherLink::of_all(&view.other_urls),
            code: Qr::of(&view.url).filter(|_| live).map(|qr| CodePanel {
                qr,
                label: texts.handshake.qr,
                text: texts.handshake.scan,
                is_open: !visit.is_phone,
            }),
            use_phone: visit.use_phone(),
            time_left: time_left.as_ref().map(|(seconds, text)| (*seconds, text.as_str())),
            return_now: view.return_url.as_deref().filter(|_| !live),
        },
    )
}
