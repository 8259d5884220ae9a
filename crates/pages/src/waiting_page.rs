//! Pages that wait: the state of an operation as server-sent events, for the page's script.
//!
//! Each event is the state as one word. The script reloads the page when the word differs from the shown one.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse as _, Response};
use futures_util::future::BoxFuture;
use futures_util::stream;
use http::{HeaderName, StatusCode, header};
use usher_engine::{EventPage, ShownStream, StreamId};

use crate::page;
use crate::state::PagesState;

/// After how long without a change a comment is sent, so that proxies do not close the response as idle.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Events read at a time; only their number is used.
const BATCH: usize = 100;

/// Tells proxies not to buffer the response; nginx and compatible proxies obey this header.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

pub(crate) struct Shown {
    pub(crate) word: String,
    pub(crate) is_final: bool,
    /// After how long it may change without an event; `None` if it never does.
    pub(crate) check_after: Option<Duration>,
}

/// Reads the state; `None` when the page is gone.
pub(crate) type Reader = Box<dyn Fn() -> BoxFuture<'static, Option<Shown>> + Send + Sync>;

/// Streams the state of `stream` whenever it changes; ends at a final state.
pub(crate) async fn respond(pages: &PagesState, stream: StreamId, read: Reader) -> Response {
    match read().await {
        None => gone(),
        Some(shown) => {
            let feed = Feed {
                pages: pages.clone(),
                stream,
                read,
                after: 0,
                ready: Some(shown),
                check_after: None,
                is_done: false,
                wrote_final: false,
            };
            let body = Body::from_stream(stream::unfold(feed, Feed::chunk));
            let headers = [(header::CONTENT_TYPE, "text/event-stream"), (X_ACCEL_BUFFERING, "no")];
            (page::HEADERS, headers, body).into_response()
        }
    }
}

/// Stops the browser from reconnecting (the HTML standard, section 9.2.3): the page itself shows why.
pub(crate) fn gone() -> Response {
    (page::HEADERS, StatusCode::NO_CONTENT).into_response()
}

struct Feed {
    pages: PagesState,
    stream: StreamId,
    read: Reader,
    /// The index of the next event.
    after: u64,
    /// A state not sent yet.
    ready: Option<Shown>,
    check_after: Option<Duration>,
    /// Whether the operation has ended: later changes have no events.
    is_done: bool,
    /// Whether a final state was sent.
    wrote_final: bool,
}

impl Feed {
    async fn chunk(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        let text = match self.ready.take() {
            Some(shown) => self.write(&shown),
            None => self.wait().await?,
        };
        Some((Ok(text.into()), self))
    }

    fn write(&mut self, shown: &Shown) -> String {
        self.check_after = shown.check_after;
        self.wrote_final = shown.is_final;
        format!("data: {}\n\n", shown.word)
    }

    /// The next events; an empty page if there were none for `patience`.
    async fn next_events(&self, patience: Duration) -> Option<EventPage> {
        if self.is_done && self.check_after.is_some() {
            tokio::time::sleep(patience).await;
        }
        self.pages.engine.events().wait(ShownStream::to_service(self.stream), self.after, BATCH, patience).await.ok()
    }

    async fn wait(&mut self) -> Option<String> {
        let patience = self.check_after.unwrap_or(KEEP_ALIVE);
        let page = tokio::select! {
            biased;
            // Polled first: the engine's stop also ends every wait. The browser reconnects to the next process.
            () = self.pages.stop.cancelled() => return None,
            page = self.next_events(patience) => page?,
        };
        self.is_done = page.done;
        let is_news = page.next != self.after || page.done || self.check_after.is_some();
        self.after = page.next;
        if !is_news {
            return Some(":\n\n".to_owned());
        }
        let shown = (self.read)().await?;
        if page.done && shown.is_final && self.wrote_final {
            // The page loads the rest.
            return None;
        }
        Some(self.write(&shown))
    }
}
