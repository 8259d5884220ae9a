//! The session on one connection to a relay.

use std::convert::Infallible;
use std::sync::Arc;

use nostr::{Event, Filter, JsonUtil as _, Kind};
use parking_lot::Mutex;
use tokio::time::Instant;
use usher_nostr_connection::address_guard::AddressSource;
use usher_nostr_connection::{Connection, EndReason, Interest, Quality, Received, Session, SessionOptions, Step};
use usher_protocol::PublicKey;
use usher_token_bucket::{Rate, TokenBucket};

use super::shared::Shared;
use super::shared_relay::SharedRelay;
use crate::message;
use crate::stored_session::new_keys;

/// Burst of messages of a user's relay, and its refill per second. A pairing causes about twenty in total.
const MESSAGES: u32 = 512;
const MESSAGES_PER_SECOND: f64 = 64.0;

/// The session on one connection, with one relay subscription for the keys of all pairings. It is replaced when keys
/// join or leave.
pub(super) struct SignerSession<'a> {
    shared: &'a Shared,
    relay: &'a Arc<SharedRelay>,
    session: Session<()>,
    /// The keys of the last requested relay subscription.
    keys: Arc<Mutex<Vec<PublicKey>>>,
    allowance: Option<TokenBucket<Instant>>,
}

/// Options of the session. Authenticates (NIP-42) with its own key, so that no session's key is bound to a connection.
fn session_options(
    shared: &Shared,
    relay: &Arc<SharedRelay>,
    requested: &Arc<Mutex<Vec<PublicKey>>>,
) -> SessionOptions {
    let (clock, url) = (Arc::clone(&shared.clock), relay.url.as_str().to_owned());
    let (relay, requested) = (Arc::clone(relay), Arc::clone(requested));
    SessionOptions {
        relay: url,
        keys: new_keys(shared.randomness.as_ref()),
        unix_time: Box::new(move || clock.now().secs()),
        filters: Box::new(move |_| {
            let keys = relay.keys();
            let filter = Filter::new().kind(Kind::from_u16(message::KIND)).pubkeys(keys.iter().copied());
            *requested.lock() = keys;
            vec![filter]
        }),
        subscription: "signers",
        timing: shared.options.session.clone(),
    }
}

impl<'a> SignerSession<'a> {
    pub(super) fn new(shared: &'a Shared, relay: &'a Arc<SharedRelay>, connection: Connection) -> Self {
        let (keys, rate) = (Arc::default(), Rate::per_second(MESSAGES, MESSAGES_PER_SECOND));
        let session = Session::new(connection, session_options(shared, relay, &keys));
        let allowance = (relay.source == AddressSource::User).then(|| TokenBucket::new(rate, Instant::now()));
        Self { shared, relay, session, keys, allowance }
    }

    /// Runs until the connection ends. Returns why, and the connection's quality.
    pub(super) async fn run(mut self) -> (EndReason, Option<Quality>) {
        let Err(ended) = self.serve().await;
        let quality = Some(self.session.quality(&ended));
        if matches!(ended, EndReason::ByUs) {
            // Best effort: the connection is dropped either way.
            let _ = self.session.connection().send_close().await;
        }
        (ended, quality)
    }

    async fn serve(&mut self) -> Result<Infallible, EndReason> {
        loop {
            let relay = self.relay;
            let interest = Interest { read: true, write: relay.has_outgoing() };
            tokio::select! {
                step = self.session.next(interest) => match step? {
                    Step::Text(text) => {
                        self.charge()?;
                        self.read(&text);
                    }
                    Step::Binary(_) => self.charge()?,
                    Step::Writable => if let Some(message) = relay.next_outgoing() {
                        self.session.connection().start_send(message)?;
                    },
                    Step::Subscribed => relay.listens_for(&self.keys.lock()),
                },
                () = relay.changed.notified() => {
                    if self.shared.retire(relay) {
                        return Err(EndReason::ByUs);
                    }
                    self.session.protocol().renew();
                }
                () = relay.filled.notified(), if !interest.write => {}
            }
        }
    }

    fn charge(&mut self) -> Result<(), EndReason> {
        let within = self.allowance.as_mut().is_none_or(|allowance| allowance.take(Instant::now()));
        if within { Ok(()) } else { Err(EndReason::Flood) }
    }

    /// Other messages are ignored; unanswered requests are repeated.
    fn read(&mut self, text: &str) {
        match self.session.receive(text) {
            Received::Event(event) => {
                if let Ok(event) = Event::from_json(event.get())
                    && event.kind.as_u16() == message::KIND
                {
                    self.relay.deliver(event);
                }
            }
            Received::Subscribed => self.relay.listens_for(&self.keys.lock()),
            _ => {}
        }
    }
}
