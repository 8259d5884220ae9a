//! Limits of reusable handshakes: their URLs are public, anybody can generate keys, and every accepted scan is stored.
//!
//! Each handshake has three limits, narrowest first, so that a refused scan does not count for the next: per author,
//! per source (a relay, or the address of a browser), and in total. A source may use a fifth of the total, so that a
//! flood leaves room for others. They are in memory, and reset by a restart.

use std::sync::Arc;
use std::time::Duration;

use lru::LruCache;
use parking_lot::Mutex;
use tracing::warn;
use usher_places::bounded;
use usher_protocol::message::WalletMessage;
use usher_protocol::{EventId, PublicKey};
use usher_token_bucket::{Rate, TokenBucket};

use super::open_child_logins::ChildLogins;
use crate::kernel::admission::Admission;
use crate::kernel::capacity::Capacity;
use crate::kernel::index::Index;
use crate::kernel::input_queue::InputQueue;
use crate::kernel::tasks::Tasks;
use crate::machine::{Input, Signal};
use crate::ports::{Clock, CorrelationKey, Inbound};
use crate::{ClientNetwork, StreamId};

const PER_AUTHOR: Rate = Rate::every(1, Duration::from_secs(60));
/// Logins of one author on pages: after a failure a user retries at once.
const PER_AUTHOR_ON_PAGES: Rate = Rate::every(3, Duration::from_secs(20));
const PER_SOURCE: Rate = Rate::every(2_000, Duration::from_millis(500));
const IN_ALL: Rate = Rate::every(10_000, Duration::from_millis(100));

/// Authors and sources that are remembered, over all handshakes: at most 12 MB each.
const REMEMBERED: usize = 65_536;
/// Counted handshakes. The least recently used one is forgotten, and its limits are full again.
const HANDSHAKES: usize = 4_096;

const WARN_EVERY: Duration = Duration::from_secs(60);

usher_protocol::words! {
    /// The limit that refused a scan.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ScanLimit {
        /// The same key within a minute.
        Author = "author",
        /// Too many over this relay, or from this address.
        Relay = "relay",
        /// Too many in total.
        Total = "total",
        /// Too many operations are open.
        Room = "room",
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// One of the service's relays; `None` for all relays of users.
    Relay(Option<Arc<str>>),
    Network(ClientNetwork),
}

/// The numbers of scans of reusable handshakes since the service started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanMetrics {
    /// Accepted.
    pub accepted: u64,
    /// Refused, by limit, in the order of [`ScanLimit::ALL`].
    pub refused: [u64; ScanLimit::ALL.len()],
}

impl ScanMetrics {
    /// How many scans this limit has refused.
    pub const fn refused_by(&self, limit: ScanLimit) -> u64 {
        self.refused[limit as usize]
    }
}

pub(crate) struct ScanLimitParts {
    pub(crate) index: Arc<Index>,
    pub(crate) capacity: Capacity,
    pub(crate) inputs: InputQueue,
    pub(crate) logins: ChildLogins,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tasks: Tasks,
}

pub(crate) struct ScanLimits {
    parts: ScanLimitParts,
    state: Mutex<State>,
}

type Bucket = TokenBucket<Duration>;

struct State {
    /// By the handshake, the author, and whether the scan was on a page.
    authors: LruCache<(StreamId, PublicKey, bool), Bucket>,
    sources: LruCache<(StreamId, Source), Bucket>,
    handshakes: LruCache<StreamId, Handshake>,
    /// Events refused for one source, which may be accepted over another.
    refused: LruCache<EventId, ()>,
    counts: ScanMetrics,
    warned_at: Option<Duration>,
    unwarned: u64,
}

struct Handshake {
    all: Bucket,
    refused: u64,
}

impl ScanLimits {
    pub(crate) fn new(parts: ScanLimitParts) -> Self {
        let state = Mutex::new(State {
            authors: bounded(REMEMBERED),
            sources: bounded(REMEMBERED),
            handshakes: bounded(HANDSHAKES),
            refused: bounded(REMEMBERED),
            counts: ScanMetrics::default(),
            warned_at: None,
            unwarned: 0,
        });
        Self { parts, state }
    }

    /// Counts a login on a page of the reusable login `reusable`; fails with the limit that refuses it. `author` is the
    /// proven key; `None` for a request to a remote signer.
    pub(crate) fn take_on_page(
        &self,
        reusable: StreamId,
        author: Option<PublicKey>,
        network: ClientNetwork,
    ) -> Result<(), ScanLimit> {
        self.take(reusable, author.map(|author| (author, true)), &Source::Network(network))
    }

    fn take(&self, stream: StreamId, author: Option<(PublicKey, bool)>, source: &Source) -> Result<(), ScanLimit> {
        let now = self.parts.clock.monotonic();
        let state = &mut *self.state.lock();
        let taken = state.take(stream, author, source.clone(), now);
        match taken {
            Ok(()) => state.counts.accepted += 1,
            Err(limit) => state.refuse(stream, limit, source, now),
        }
        taken
    }

    pub(crate) fn counts(&self) -> ScanMetrics {
        self.state.lock().counts
    }

    pub(crate) fn refused(&self, stream: StreamId) -> u64 {
        self.state.lock().handshakes.peek(&stream).map_or(0, |handshake| handshake.refused)
    }

    pub(crate) fn forget(&self, stream: StreamId) {
        self.state.lock().handshakes.pop(&stream);
    }

    /// The reusable handshake or login whose limits apply to a message to this operation, and whether it is on a page
    /// there.
    fn limited(&self, id: StreamId) -> Option<(StreamId, bool)> {
        // A handshake without an expiry is open to everybody with its token, and so is the page of a reusable login.
        if self.parts.index.get(id).is_some_and(|open| open.wake.is_none()) {
            return Some((id, false));
        }
        self.parts.logins.unused_at(id).map(|reusable| (reusable, true))
    }
}

impl Admission for ScanLimits {
    fn admits(&self, id: StreamId, inbound: &Inbound) -> bool {
        let limited = match inbound.message {
            WalletMessage::KeyHandshake(_) => self.limited(id),
            _ => None,
        };
        let Some((stream, on_page)) = limited else { return !inbound.via.copy };
        if inbound.via.copy && self.state.lock().refused.pop(&inbound.event_id).is_none() {
            return false;
        }
        let source = Source::Relay(inbound.via.relay.clone());
        let starts_login = on_page || self.parts.index.find(CorrelationKey::reusable_login(id)).is_some();
        if starts_login && !self.parts.capacity.has_room() {
            self.state.lock().refuse(stream, ScanLimit::Room, &source, self.parts.clock.monotonic());
            return false;
        }
        match self.take(stream, Some((inbound.author, on_page)), &source) {
            Ok(()) => {}
            Err(limit) => {
                if limit == ScanLimit::Relay {
                    self.state.lock().refused.put(inbound.event_id, ());
                }
                return false;
            }
        }
        if starts_login && let Some(oldest) = self.parts.logins.make_room() {
            let inputs = self.parts.inputs.clone();
            self.parts.tasks.spawn(async move { inputs.put(oldest, Input::Signal(Signal::Close)).await });
        }
        true
    }
}

impl State {
    fn take(
        &mut self,
        stream: StreamId,
        author: Option<(PublicKey, bool)>,
        source: Source,
        now: Duration,
    ) -> Result<(), ScanLimit> {
        let author = author.map(|(author, on_page)| {
            let rate = if on_page { PER_AUTHOR_ON_PAGES } else { PER_AUTHOR };
            self.authors.get_or_insert_mut((stream, author, on_page), || Bucket::new(rate, now))
        });
        let source = self.sources.get_or_insert_mut((stream, source), || Bucket::new(PER_SOURCE, now));
        let all = &mut self.handshakes.get_or_insert_mut(stream, || Handshake::new(now)).all;
        let [mut author, mut source, mut all] = [author, Some(source), Some(all)];
        for (bucket, limit) in [&mut author, &mut source, &mut all].into_iter().zip(ScanLimit::ALL) {
            if bucket.as_mut().is_some_and(|bucket| !bucket.has_one(now)) {
                return Err(limit);
            }
        }
        for bucket in [author, source, all].into_iter().flatten() {
            bucket.take(now);
        }
        Ok(())
    }

    fn refuse(&mut self, stream: StreamId, limit: ScanLimit, source: &Source, now: Duration) {
        if let Some(refused) = self.counts.refused.get_mut(limit as usize) {
            *refused += 1;
        }
        self.handshakes.get_or_insert_mut(stream, || Handshake::new(now)).refused += 1;
        if limit == ScanLimit::Author {
            // A user who scans twice in a minute is harmless.
            return;
        }
        self.unwarned += 1;
        if self.warned_at.is_none_or(|at| now.saturating_sub(at) >= WARN_EVERY) {
            self.warned_at = Some(now);
            let refused = std::mem::take(&mut self.unwarned);
            let source = match source {
                Source::Relay(relay) => relay.as_deref().unwrap_or("a user's relay"),
                Source::Network(_) => "a browser",
            };
            warn!(
                stream_id = %stream,
                limit = limit.as_str(),
                source,
                refused,
                "limits refuse scans of reusable handshake URLs; GET /key-handshake lists how many of each, and \
                 DELETE /key-handshake/{{stream_id}} ends one"
            );
        }
    }
}

impl Handshake {
    const fn new(now: Duration) -> Self {
        Self { all: Bucket::new(IN_ALL, now), refused: 0 }
    }
}

#[cfg(test)]
mod tests;
