//! The session on one connection to a relay.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use nostr::{Event, Filter, JsonUtil as _, Kind, Timestamp};
use tokio::sync::mpsc;
use tracing::{info, warn};
use url::Url;
use usher_nostr_connection::{
    Connection, EndReason, Interest, OnRefusal, Quality, Received, Session, SessionOptions, SessionTiming, Step,
    Verdict,
};
use usher_protocol::nwc::{INFO, NOTIFICATION, NOTIFICATION_NIP04, RESPONSE};

use super::outgoing_request::OutgoingRequest;
use super::shared::{ReceivedEvent, Shared};
use crate::nwc::response::clean;

/// Most requests kept until we have authenticated.
const MAX_REFUSED: usize = 64;

/// How far the backend's clock may be behind: older events are not requested. Relays store them briefly, if at all.
const CLOCKS: Duration = Duration::from_secs(900);

pub(super) struct RequestSession<'a> {
    shared: &'a Shared,
    relay: usize,
    url: &'a Url,
    session: Session<Arc<OutgoingRequest>>,
    backend: String,
    /// To be written: from the queue, or refused before we authenticated.
    waiting: VecDeque<Arc<OutgoingRequest>>,
    /// Refused until we have authenticated.
    refused: Vec<Arc<OutgoingRequest>>,
    logged: Logged,
}

#[derive(Default)]
struct Logged {
    subscribed: bool,
    refused: bool,
}

/// Options of the session: subscribes to the backend's announcement and to what it sends from now on. Authenticates
/// (NIP-42) with the connection's key, which the relay knows from the subscription.
fn session_options(shared: &Shared, url: &Url) -> SessionOptions {
    let clock = Arc::clone(&shared.clock);
    let (backend, ours) = (shared.uri.backend, shared.uri.keys.public_key());
    SessionOptions {
        relay: url.as_str().to_owned(),
        keys: shared.uri.keys.clone(),
        unix_time: Box::new(move || clock.now().secs()),
        filters: Box::new(move |now| {
            let since = Timestamp::from_secs(now.saturating_sub(CLOCKS.as_secs()));
            let kinds = [RESPONSE, NOTIFICATION, NOTIFICATION_NIP04].map(Kind::from_u16);
            vec![
                Filter::new().author(backend).kind(Kind::from_u16(INFO)).limit(1),
                Filter::new().author(backend).kinds(kinds).pubkey(ours).since(since),
            ]
        }),
        subscription: "usher-nwc",
        timing: session_timing(),
    }
}

impl<'a> RequestSession<'a> {
    pub(super) fn new(shared: &'a Shared, relay: usize, url: &'a Url, connection: Connection) -> Self {
        Self {
            shared,
            relay,
            url,
            session: Session::new(connection, session_options(shared, url)),
            backend: shared.uri.backend.to_hex(),
            waiting: VecDeque::new(),
            refused: Vec::new(),
            logged: Logged::default(),
        }
    }

    /// Runs until the connection ends. Returns why, and the connection's quality.
    pub(super) async fn run(
        mut self,
        outgoing: &mut mpsc::Receiver<Arc<OutgoingRequest>>,
    ) -> (EndReason, Option<Quality>) {
        let Err(ended) = self.serve(outgoing).await;
        let quality = Some(self.session.quality(&ended));
        (ended, quality)
    }

    async fn serve(&mut self, outgoing: &mut mpsc::Receiver<Arc<OutgoingRequest>>) -> Result<Infallible, EndReason> {
        loop {
            let is_open = self.session.protocol().is_open();
            self.shared.set_up(self.relay, is_open);
            let interest = Interest { read: true, write: is_open && !self.waiting.is_empty() };
            tokio::select! {
                step = self.session.next(interest) => match step? {
                    Step::Text(text) => self.read(&text).await,
                    Step::Writable => self.write()?,
                    Step::Subscribed => self.subscribed(),
                    Step::Binary(_) => {}
                },
                // A request is written only once its response can be received.
                request = outgoing.recv(), if is_open && self.waiting.is_empty() => match request {
                    Some(request) => self.waiting.push_back(request),
                    None => return Err(EndReason::ByUs),
                },
            }
        }
    }

    /// Writes a request, unless it was withdrawn or has expired.
    fn write(&mut self) -> Result<(), EndReason> {
        match self.waiting.pop_front() {
            Some(request) if request.mark_written(self.shared.clock.now().secs()) => {
                Ok(self.session.publish(request.id, request.message.clone(), request)?)
            }
            _ => Ok(()),
        }
    }

    fn subscribed(&mut self) {
        if !std::mem::replace(&mut self.logged.subscribed, true) {
            info!(relay = self.url.host_str(), "connected to the Lightning backend's relay");
        }
    }

    async fn read(&mut self, text: &str) {
        match self.session.receive(text) {
            // Events of other authors are refused without parsing them.
            Received::Event(event) if event.get().contains(&self.backend) => {
                let Ok(event) = Event::from_json(event.get()) else { return };
                if event.pubkey == self.shared.uri.backend {
                    // A full channel holds up the relay. Fails only at shutdown.
                    let _ = self.shared.received.send(ReceivedEvent { relay: self.relay, event }).await;
                }
            }
            Received::Subscribed => self.subscribed(),
            Received::Authenticated { accepted: true, .. } => self.waiting.extend(self.refused.drain(..)),
            // Written again once we have authenticated and are subscribed.
            Received::Acknowledged { verdict: Verdict::AuthRequired, sent: Some((request, _)), .. }
                if self.refused.len() < MAX_REFUSED =>
            {
                self.refused.push(request);
            }
            Received::Acknowledged {
                verdict: Verdict::Refused | Verdict::RateLimited, text, sent: Some(_), ..
            } if !std::mem::replace(&mut self.logged.refused, true) => {
                // This proves nothing: another relay may have accepted it, and this one may have forwarded it nevertheless.
                let (relay, reason) = (self.url.host_str(), clean(&text));
                warn!(relay, reason, "the Lightning backend's relay refuses a request");
            }
            _ => {}
        }
    }
}

/// A subscription is soon assumed to be open, because nothing is sent before it is.
fn session_timing() -> SessionTiming {
    SessionTiming {
        confirm_within: Some(Duration::from_secs(2)),
        auth_within: Duration::from_secs(15),
        acknowledge_within: Duration::from_secs(60),
        resubscribe_first: Duration::from_millis(100),
        on_refusal: OnRefusal::End,
        ..SessionTiming::default()
    }
}
