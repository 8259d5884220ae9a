//! A relay: the keys that wait on it, and the task that keeps it connected.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use nostr::Event;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::debug;
use url::Url;
use usher_nostr_connection::address_guard::Trust;
use usher_nostr_connection::{ConnectionError, DialError, DialOptions, OverheadLimits, Quality, Reconnection, dial};
use usher_protocol::PublicKey;
use usher_token_bucket::{Rate, TokenBucket};

use super::session::Session;
use super::{MAX_KEYS, Received, Shared};

/// Largest message that is received, in bytes.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

/// Events that wait to be sent over one connection; beyond that the oldest is dropped, because it will be repeated.
const MAX_OUTGOING: usize = 2 * MAX_KEYS;

/// Events for one key that are handed on at once; each costs a signature and, from a new author, an ECDH. More of them come
/// at eight a second. A pairing needs about six in all.
const EVENTS: u32 = 32;
const EVENTS_PER_SECOND: f64 = 8.0;

/// A key that waits.
pub(crate) struct Member {
    received: mpsc::Sender<Received>,
    author: Option<PublicKey>,
    events: TokenBucket<Instant>,
    /// Whether this connection delivers to it.
    listening: bool,
}

impl Member {
    pub(super) fn new(received: mpsc::Sender<Received>) -> Self {
        let events = TokenBucket::new(Rate::per_second(EVENTS, EVENTS_PER_SECOND), Instant::now());
        Self { received, author: None, events, listening: false }
    }
}

/// A relay and the keys that wait on it.
pub(crate) struct SharedRelay {
    pub(super) url: Url,
    pub(super) trust: Trust,
    members: Mutex<HashMap<PublicKey, Member>>,
    /// Keys joined or left.
    pub(super) changed: Notify,
    /// What waits to be sent; `None` while there is no open relay subscription.
    outgoing: Mutex<Option<VecDeque<String>>>,
    /// Something waits to be sent.
    pub(super) filled: Notify,
    /// Another relay has taken its place: nobody is reached over this one any more.
    pub(super) displaced: CancellationToken,
}

impl SharedRelay {
    pub(super) fn new(url: Url, trust: Trust) -> Self {
        let (members, outgoing) = (Mutex::default(), Mutex::default());
        let displaced = CancellationToken::new();
        Self { url, trust, members, changed: Notify::new(), outgoing, filled: Notify::new(), displaced }
    }

    pub(super) fn has_room(&self) -> bool {
        self.members.lock().len() < MAX_KEYS
    }

    /// How many keys wait.
    pub(super) fn len(&self) -> usize {
        self.members.lock().len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.lock().is_empty()
    }

    pub(super) fn insert(&self, key: PublicKey, member: Member) {
        self.members.lock().insert(key, member);
        self.changed.notify_one();
    }

    pub(super) fn remove(&self, key: &PublicKey) {
        self.members.lock().remove(key);
        self.changed.notify_one();
    }

    pub(super) fn expect(&self, key: &PublicKey, author: PublicKey) {
        if let Some(member) = self.members.lock().get_mut(key) {
            member.author = Some(author);
        }
    }

    pub(super) fn keys(&self) -> Vec<PublicKey> {
        self.members.lock().keys().copied().collect()
    }

    pub(super) fn send(&self, text: String) {
        if let Some(outgoing) = &mut *self.outgoing.lock() {
            if outgoing.len() >= MAX_OUTGOING {
                outgoing.pop_front();
            }
            outgoing.push_back(text);
            self.filled.notify_one();
        }
    }

    pub(super) fn next_outgoing(&self) -> Option<String> {
        self.outgoing.lock().as_mut()?.pop_front()
    }

    /// The relay delivers from now on what is sent to these keys.
    pub(super) fn listens_for(&self, keys: &[PublicKey]) {
        self.outgoing.lock().get_or_insert_default();
        let mut members = self.members.lock();
        for key in keys {
            if let Some(member) = members.get_mut(key).filter(|member| !member.listening) {
                // Full: the pairing has enough to do, and repeats its request by itself.
                member.listening = member.received.try_send(Received::Listening).is_ok();
            }
        }
    }

    /// The connection is lost.
    fn disconnected(&self) {
        *self.outgoing.lock() = None;
        self.members.lock().values_mut().for_each(|member| member.listening = false);
    }

    /// Hands an event on to the pairing that it is addressed to.
    pub(super) fn deliver(&self, event: Event) {
        let mut members = self.members.lock();
        let key = event.tags.public_keys().take(4).find(|key| members.contains_key(key)).copied();
        let Some(member) = key.and_then(|key| members.get_mut(&key)) else { return };
        if member.author.is_none_or(|author| author == event.pubkey) && member.events.take(Instant::now()) {
            // Full: the pairing has enough to do.
            let _ = member.received.try_send(Received::Event(Box::new(event)));
        }
    }
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum Ended {
    #[error(transparent)]
    Dial(#[from] DialError),
    #[error(transparent)]
    Lost(#[from] ConnectionError),
    #[error("the relay refuses our subscription")]
    Refused,
    #[error("the relay floods us")]
    Flood,
    #[error("nobody waits for a signer on it")]
    Unused,
}

/// Keeps a relay connected while somebody waits for a signer on it.
pub(super) async fn run(shared: Arc<Shared>, relay: Arc<SharedRelay>) {
    let mut reconnection = Reconnection::new(&shared.options.connection, Instant::now());
    loop {
        let (ended, quality) = tokio::select! {
            ended = connect_once(&shared, &relay) => ended,
            () = relay.displaced.cancelled() => return relay.disconnected(),
            () = shared.stop.cancelled() => return,
        };
        relay.disconnected();
        if matches!(ended, Ended::Unused) {
            return;
        }
        // Only the host of its address: the rest may be a secret.
        debug!(relay = relay.url.host_str(), reason = %ended, "a relay of remote signers is down");
        let pause = sleep(reconnection.after(quality, Instant::now()).duration());
        tokio::pin!(pause);
        loop {
            tokio::select! {
                () = &mut pause => break,
                () = relay.changed.notified() => if shared.retire(&relay) { return },
                () = relay.displaced.cancelled() => return,
                () = shared.stop.cancelled() => return,
            }
        }
    }
}

/// One connection from the attempt to its end: why it ended, and how good it was, if there was one.
async fn connect_once(shared: &Shared, relay: &Arc<SharedRelay>) -> (Ended, Option<Quality>) {
    if shared.retire(relay) {
        return (Ended::Unused, None);
    }
    let overhead = match relay.trust {
        Trust::Operator => &OverheadLimits::OPERATOR,
        Trust::User => &OverheadLimits::USER,
    };
    let timing = &shared.options.connection;
    let (tls, max_message_bytes) = (&shared.tls, MAX_MESSAGE_BYTES);
    let options = DialOptions { trust: relay.trust, timing, tls, max_message_bytes, overhead, dialer: None };
    match dial(&relay.url, &options, |_| true).await {
        Ok(connection) => {
            let (ended, quality) = Session::new(shared, relay, connection).run().await;
            (ended, Some(quality))
        }
        Err(error) => (error.into(), None),
    }
}
