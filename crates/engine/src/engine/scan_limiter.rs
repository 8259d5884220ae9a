//! Limits of reusable handshakes: their URLs are public, anybody can make keys, and each scan that is accepted is stored.
//!
//! Three limits, the narrowest first, so that whoever exceeds one uses up nothing of the next:
//!
//! 1. **per author**: one scan of one key a minute;
//! 2. **per relay**: a flood over one relay leaves room for those who come over another. The event of an honest wallet comes over
//!    several relays, and counts at the first of them that has room (`Via::copy`);
//! 3. **in all**, which bounds what is stored. When this is used up, each relay still has a small reserve of its own.
//!
//! Users who were accepted before have limits of their own (2 and 3): a flood of new keys does not reach those.
//! Everything is counted in memory, for each handshake by itself; after a restart all are full again.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lru::LruCache;
use parking_lot::Mutex;
use usher_protocol::{EventId, PublicKey};

use crate::ports::Via;
use crate::{StreamId, UnixMillis};

/// One scan of one key counts in so long.
const PER_AUTHOR: Duration = Duration::from_secs(60);

/// New users over one relay: a crowd that all read one poster, then a busy entrance.
const NEW_PER_RELAY: Rate = Rate { burst: 3_000, millis_per_scan: 200 };
/// New users in all: two such crowds at once, then 8 per second, which is under a million scans a day.
const NEW_IN_ALL: Rate = Rate { burst: 6_000, millis_per_scan: 125 };
/// New users over one relay when those in all are used up.
const RESERVE: Rate = Rate { burst: 60, millis_per_scan: 4_000 };
/// The same for users who were accepted before: fewer at once, for they are fewer.
const KNOWN_PER_RELAY: Rate = Rate { burst: 1_000, millis_per_scan: 500 };
const KNOWN_IN_ALL: Rate = Rate { burst: 2_000, millis_per_scan: 250 };

/// Handshakes that are counted; the one not used for longest is forgotten, and all its limits are full again. At most 5 KB each.
const HANDSHAKES: usize = 4096;
/// Accepted authors that are remembered, of all handshakes: 65,536 × about 130 bytes.
const AUTHORS: usize = 65_536;
/// Relays of one handshake: ours are at most 16, those of users count as one, and ours may change.
const RELAYS: usize = 24;

/// A warning is written at most this often, ...
const WARN_EVERY: Duration = Duration::from_secs(60);
/// ... and not for a few users who scanned twice in a minute.
const WORTH_A_WARNING: u64 = 20;

/// Which limit refused a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScanLimit {
    /// The same key a minute ago or less.
    Author,
    /// Too many over this relay.
    Relay,
    /// Too many over all relays.
    Total,
}

impl ScanLimit {
    /// Every limit.
    pub const ALL: [Self; 3] = [Self::Author, Self::Relay, Self::Total];

    /// The limit as the label of a metric.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Author => "author",
            Self::Relay => "relay",
            Self::Total => "total",
        }
    }
}

/// What becomes of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scan {
    /// It goes on to its operation.
    Accepted,
    /// It was accepted before, or is not counted twice: nothing more is done.
    Copy,
    /// A limit refuses it. `warn` has how many were refused since the last warning, when one is due.
    Refused { limit: ScanLimit, warn: Option<u64> },
}

/// The limits of all reusable handshakes.
pub(super) struct ScanLimiter(Mutex<State>);

struct State {
    handshakes: LruCache<StreamId, Handshake>,
    authors: LruCache<(StreamId, PublicKey), Accepted>,
    warned_at: UnixMillis,
    /// Refused since then.
    refused: u64,
}

#[derive(Clone, Copy)]
struct Accepted {
    at: UnixMillis,
    event: EventId,
}

#[derive(Default)]
struct Handshake {
    new_users: Class,
    known_users: Class,
    refused: u64,
}

/// The limits of one class of users.
#[derive(Default)]
struct Class {
    all: Bucket,
    /// The one used last comes last.
    relays: Vec<Relay>,
}

struct Relay {
    /// `None` stands for all relays of users.
    address: Option<Arc<str>>,
    bucket: Bucket,
    reserve: Bucket,
}

/// So many at once, and one more after each so many milliseconds.
#[derive(Clone, Copy)]
struct Rate {
    burst: u64,
    millis_per_scan: u64,
}

/// How much of a rate is used up, in milliseconds; a new one is full.
#[derive(Clone, Copy, Default)]
struct Bucket {
    used: u64,
    at: UnixMillis,
}

impl Bucket {
    fn has_room(&mut self, rate: Rate, now: UnixMillis) -> bool {
        // A clock that was set back adds nothing, and nothing has to be waited for until it is where it was.
        self.used = self.used.saturating_sub(now.0.saturating_sub(self.at.0));
        self.at = now;
        self.used.saturating_add(rate.millis_per_scan) <= rate.burst.saturating_mul(rate.millis_per_scan)
    }

    fn take(&mut self, rate: Rate) {
        self.used = self.used.saturating_add(rate.millis_per_scan);
    }
}

impl Class {
    fn admit(&mut self, via: &Via, relay_rate: Rate, all_rate: Rate, now: UnixMillis) -> Result<(), ScanLimit> {
        let relay = match self.relays.iter().position(|relay| relay.address == via.relay) {
            Some(place) => self.relays.remove(place),
            None => {
                if self.relays.len() >= RELAYS {
                    self.relays.remove(0);
                }
                Relay { address: via.relay.clone(), bucket: Bucket::default(), reserve: Bucket::default() }
            }
        };
        self.relays.push(relay);
        let Some(relay) = self.relays.last_mut() else { return Err(ScanLimit::Relay) };
        if !relay.bucket.has_room(relay_rate, now) {
            return Err(ScanLimit::Relay);
        }
        if self.all.has_room(all_rate, now) {
            self.all.take(all_rate);
        } else if relay.reserve.has_room(RESERVE, now) {
            relay.reserve.take(RESERVE);
        } else {
            return Err(ScanLimit::Total);
        }
        relay.bucket.take(relay_rate);
        Ok(())
    }
}

impl Default for ScanLimiter {
    fn default() -> Self {
        Self(Mutex::new(State {
            handshakes: bounded(HANDSHAKES),
            authors: bounded(AUTHORS),
            warned_at: UnixMillis(0),
            refused: 0,
        }))
    }
}

/// Not `LruCache::new`, which allocates for the whole capacity at once.
fn bounded<K: std::hash::Hash + Eq, V>(capacity: usize) -> LruCache<K, V> {
    let mut cache = LruCache::unbounded();
    cache.resize(NonZeroUsize::new(capacity).unwrap_or(NonZeroUsize::MIN));
    cache
}

impl ScanLimiter {
    /// Whether a scan goes on to its operation.
    pub(super) fn admit(
        &self,
        stream: StreamId,
        author: PublicKey,
        event: EventId,
        via: &Via,
        now: UnixMillis,
    ) -> Scan {
        let state = &mut *self.0.lock();
        let before = state.authors.get(&(stream, author)).copied();
        if let Some(before) = before
            && before.at <= now
            && now < before.at.plus(PER_AUTHOR)
        {
            if before.event == event || via.copy {
                return Scan::Copy;
            }
            return state.refuse(stream, ScanLimit::Author, now);
        }
        let handshake = state.handshakes.get_or_insert_mut(stream, Handshake::default);
        let admitted = match before {
            Some(_) => handshake.known_users.admit(via, KNOWN_PER_RELAY, KNOWN_IN_ALL, now),
            None => handshake.new_users.admit(via, NEW_PER_RELAY, NEW_IN_ALL, now),
        };
        match admitted {
            Ok(()) => {
                state.authors.put((stream, author), Accepted { at: now, event });
                Scan::Accepted
            }
            Err(limit) => state.refuse(stream, limit, now),
        }
    }

    /// How many scans of a handshake were refused since the service started.
    pub(super) fn refused(&self, stream: StreamId) -> u64 {
        self.0.lock().handshakes.peek(&stream).map_or(0, |handshake| handshake.refused)
    }

    /// The handshake is over.
    pub(super) fn forget(&self, stream: StreamId) {
        self.0.lock().handshakes.pop(&stream);
    }
}

impl State {
    fn refuse(&mut self, stream: StreamId, limit: ScanLimit, now: UnixMillis) -> Scan {
        self.refused = self.refused.saturating_add(1);
        self.handshakes.get_or_insert_mut(stream, Handshake::default).refused += 1;
        let worth_it = limit != ScanLimit::Author || self.refused >= WORTH_A_WARNING;
        let due = now >= self.warned_at.plus(WARN_EVERY) || now < self.warned_at;
        let warn = (worth_it && due).then(|| {
            self.warned_at = now;
            std::mem::take(&mut self.refused)
        });
        Scan::Refused { limit, warn }
    }
}

#[cfg(test)]
mod tests;
