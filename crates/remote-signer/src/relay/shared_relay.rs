use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};

use nostr::Event;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;
use usher_nostr_connection::address_guard::AddressSource;
use usher_nostr_connection::{Utf8Bytes, site};
use usher_protocol::PublicKey;
use usher_token_bucket::{Rate, TokenBucket};

/// Most pairings on one connection: a relay subscription with this many keys has 35 KB. More need another connection.
const MAX_PAIRINGS: usize = 512;

#[derive(Debug)]
pub(crate) enum Received {
    /// From now on the relay delivers events for the pairing's key. Sent again after an interruption.
    Listening,
    /// An event addressed to the pairing's key. Only its kind is checked, and its author if one is expected.
    Event(Box<Event>),
}

/// Events queued for one connection; beyond that the oldest is dropped, because it is repeated.
const MAX_OUTGOING: usize = 2 * MAX_PAIRINGS;

/// Burst of events passed to one pairing; each costs a signature check and, from a new author, an ECDH. Refilled at
/// eight a second. A pairing needs about six in total.
const EVENTS: u32 = 32;
const EVENTS_PER_SECOND: f64 = 8.0;

pub(crate) struct Member {
    received: mpsc::Sender<Received>,
    author: Option<PublicKey>,
    events: TokenBucket<Instant>,
    listening: bool,
}

impl Member {
    pub(super) fn new(received: mpsc::Sender<Received>) -> Self {
        let events = TokenBucket::new(Rate::per_second(EVENTS, EVENTS_PER_SECOND), Instant::now());
        Self { received, author: None, events, listening: false }
    }
}

/// By key and number: several pairings of one session share a key.
type Members = BTreeMap<(PublicKey, u64), Member>;

/// A relay and the pairings that wait on it.
pub(crate) struct SharedRelay {
    pub(super) url: Url,
    pub(super) source: AddressSource,
    /// Its site, from its host name.
    pub(super) site: String,
    network: Mutex<Option<IpAddr>>,
    members: Mutex<Members>,
    pub(super) changed: Notify,
    /// The send queue; `None` while there is no open relay subscription.
    outgoing: Mutex<Option<VecDeque<Utf8Bytes>>>,
    pub(super) filled: Notify,
    /// Whether the last connection attempt failed, or the connection has ended.
    failed: AtomicBool,
    /// Cancelled when another relay has taken its place.
    pub(super) displaced: CancellationToken,
}

impl SharedRelay {
    pub(super) fn new(url: Url, source: AddressSource) -> Self {
        let (network, members, outgoing) = (Mutex::default(), Mutex::default(), Mutex::default());
        let (site, displaced) = (site(&url), CancellationToken::new());
        let (changed, filled, failed) = (Notify::new(), Notify::new(), AtomicBool::new(false));
        Self { url, source, site, network, members, changed, outgoing, filled, failed, displaced }
    }

    pub(super) fn has_room(&self) -> bool {
        self.members.lock().len() < MAX_PAIRINGS
    }

    pub(super) fn len(&self) -> usize {
        self.members.lock().len()
    }

    /// Whether it is connected with an open relay subscription.
    pub(super) fn is_listening(&self) -> bool {
        self.outgoing.lock().is_some()
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    pub(super) fn network(&self) -> Option<IpAddr> {
        *self.network.lock()
    }

    pub(super) fn connected_to(&self, network: IpAddr) {
        *self.network.lock() = Some(network);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.lock().is_empty()
    }

    /// Returns the member's number.
    pub(super) fn insert(&self, key: PublicKey, member: Member) -> u64 {
        let mut members = self.members.lock();
        let last = members.range(all_of(key)).next_back().map_or(0, |((_, number), _)| *number);
        let number = last.wrapping_add(1);
        members.insert((key, number), member);
        drop(members);
        self.changed.notify_one();
        number
    }

    pub(super) fn remove(&self, key: PublicKey, number: u64) {
        self.members.lock().remove(&(key, number));
        self.changed.notify_one();
    }

    pub(super) fn expect(&self, key: PublicKey, number: u64, author: PublicKey) {
        if let Some(member) = self.members.lock().get_mut(&(key, number)) {
            member.author = Some(author);
        }
    }

    /// The waiting keys, without duplicates.
    pub(super) fn keys(&self) -> Vec<PublicKey> {
        let mut keys: Vec<PublicKey> = self.members.lock().keys().map(|(key, _)| *key).collect();
        keys.dedup();
        keys
    }

    pub(super) fn send(&self, message: Utf8Bytes) {
        if let Some(outgoing) = &mut *self.outgoing.lock() {
            if outgoing.len() >= MAX_OUTGOING {
                outgoing.pop_front();
            }
            outgoing.push_back(message);
            self.filled.notify_one();
        }
    }

    pub(super) fn has_outgoing(&self) -> bool {
        self.outgoing.lock().as_ref().is_some_and(|outgoing| !outgoing.is_empty())
    }

    pub(super) fn next_outgoing(&self) -> Option<Utf8Bytes> {
        self.outgoing.lock().as_mut()?.pop_front()
    }

    /// Records that the relay delivers events for these keys from now on.
    pub(super) fn listens_for(&self, keys: &[PublicKey]) {
        self.failed.store(false, Ordering::Relaxed);
        self.outgoing.lock().get_or_insert_default();
        let mut members = self.members.lock();
        for key in keys {
            for (_, member) in members.range_mut(all_of(*key)).filter(|(_, member)| !member.listening) {
                // A full pairing has enough events, and repeats its request itself.
                member.listening = member.received.try_send(Received::Listening).is_ok();
            }
        }
    }

    pub(super) fn disconnected(&self) {
        self.failed.store(true, Ordering::Relaxed);
        *self.network.lock() = None;
        *self.outgoing.lock() = None;
        self.members.lock().values_mut().for_each(|member| member.listening = false);
    }

    /// Passes an event to the pairings that it is addressed to; only they can tell whose reply it is.
    pub(super) fn deliver(&self, event: Event) {
        let mut members = self.members.lock();
        let waits = |key: &PublicKey| members.range(all_of(*key)).next().is_some();
        let Some(key) = event.tags.public_keys().take(4).copied().find(waits) else { return };
        let event = Box::new(event);
        for (_, member) in members.range_mut(all_of(key)) {
            if member.author.is_none_or(|author| author == event.pubkey) && member.events.take(Instant::now()) {
                // A full pairing has enough events.
                let _ = member.received.try_send(Received::Event(event.clone()));
            }
        }
    }
}

fn all_of(key: PublicKey) -> RangeInclusive<(PublicKey, u64)> {
    (key, 0)..=(key, u64::MAX)
}
