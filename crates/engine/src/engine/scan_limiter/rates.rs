//! The rates of reusable handshakes: over one relay, in all, and of those that wait.

use std::sync::Arc;

use super::ScanLimit;
use crate::UnixMillis;
use crate::ports::Via;

/// New users over one relay: a crowd that all read one poster, then a busy entrance.
pub(super) const NEW_PER_RELAY: Rate = Rate { burst: 3_000, millis_per_scan: 200 };
/// New users in all: two such crowds at once, then 4 per second.
pub(super) const NEW_IN_ALL: Rate = Rate { burst: 6_000, millis_per_scan: 250 };
/// New users over one relay when those in all are used up.
const RESERVE: Rate = Rate { burst: 60, millis_per_scan: 4_000 };
/// The same for known users: fewer at once, for they are fewer.
pub(super) const KNOWN_PER_RELAY: Rate = Rate { burst: 1_000, millis_per_scan: 500 };
pub(super) const KNOWN_IN_ALL: Rate = Rate { burst: 2_000, millis_per_scan: 250 };

/// Scans of one handshake that are drawn from those that wait, of new users and of known ones each: 20 per second. With
/// [`NEW_IN_ALL`] two million new users a day.
pub(super) const DRAWN: Rate = Rate { burst: 20, millis_per_scan: 50 };
/// Scans of all handshakes that are drawn.
pub(super) const DRAWN_IN_ALL: Rate = Rate { burst: 100, millis_per_scan: 10 };

/// Relays of one handshake: ours are at most 16, those of users count as one, and ours may change.
pub(super) const RELAYS: usize = 24;

/// The limits of one class of users.
#[derive(Default)]
pub(super) struct Class {
    all: Bucket,
    /// Scans that were drawn from those that wait.
    pub(super) drawn: Bucket,
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
pub(super) struct Rate {
    burst: u64,
    millis_per_scan: u64,
}

/// How much of a rate is used up, in milliseconds; a new one is full.
#[derive(Clone, Copy, Default)]
pub(super) struct Bucket {
    used: u64,
    at: UnixMillis,
}

impl Bucket {
    /// Whether there is room for one more.
    pub(super) fn has_room(&mut self, rate: Rate, now: UnixMillis) -> bool {
        // A clock that was set back adds nothing, and nothing has to be waited for until it is where it was.
        self.used = self.used.saturating_sub(now.0.saturating_sub(self.at.0));
        self.at = now;
        self.used.saturating_add(rate.millis_per_scan) <= rate.burst.saturating_mul(rate.millis_per_scan)
    }

    /// Uses up the room for one.
    pub(super) fn take(&mut self, rate: Rate) {
        self.used = self.used.saturating_add(rate.millis_per_scan);
    }
}

impl Class {
    /// How many relays it counts.
    #[cfg(test)]
    pub(super) fn relays(&self) -> usize {
        self.relays.len()
    }

    /// Takes a scan that came `via` a relay, if no limit is exceeded.
    pub(super) fn admit(
        &mut self,
        via: &Via,
        relay_rate: Rate,
        all_rate: Rate,
        now: UnixMillis,
    ) -> Result<(), ScanLimit> {
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
