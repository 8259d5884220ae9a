//! The rates of reusable handshakes: over one relay, in all, and of those that wait.

use std::sync::Arc;
use std::time::Duration;

use usher_token_bucket::{Rate, TokenBucket};

use super::ScanLimit;
use crate::UnixMillis;
use crate::ports::Via;

/// New users over one relay: an audience that scans one poster at once, then a busy entrance.
const NEW_PER_RELAY: Rate = Rate::every(3_000, Duration::from_millis(200));
/// New users in total: two such audiences at once, then 4 per second.
const NEW_IN_ALL: Rate = Rate::every(6_000, Duration::from_millis(250));
/// New users over one relay when those in all are used up.
const RESERVE: Rate = Rate::every(60, Duration::from_millis(4_000));
/// The same for known users: fewer at once, for they are fewer.
const KNOWN_PER_RELAY: Rate = Rate::every(1_000, Duration::from_millis(500));
const KNOWN_IN_ALL: Rate = Rate::every(2_000, Duration::from_millis(250));

/// Scans of one handshake that are drawn from those that wait, of new users and of known ones each: 20 per second. With
/// [`NEW_IN_ALL`] two million new users a day.
const DRAWN: Rate = Rate::every(20, Duration::from_millis(50));
/// Scans of all handshakes that are drawn.
pub(super) const DRAWN_IN_ALL: Rate = Rate::every(100, Duration::from_millis(10));

/// Relays of one handshake: ours are at most 16, those of users count as one, and ours may change.
pub(super) const RELAYS: usize = 24;

/// Counts scans by the wall clock.
pub(super) type Bucket = TokenBucket<UnixMillis>;

/// A full bucket.
pub(super) const fn full(rate: Rate) -> Bucket {
    Bucket::new(rate, UnixMillis(0))
}

/// What a scan has taken beside the allowance of its relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Charge {
    /// Of the limit in all.
    Total,
    /// Of the relay's reserve.
    Reserve,
}

/// The limits of one class of users.
pub(super) struct Class {
    all: Bucket,
    /// Scans that were drawn from those that wait.
    pub(super) drawn: Bucket,
    relay_rate: Rate,
    /// The one used last comes last.
    relays: Vec<Relay>,
}

struct Relay {
    /// `None` stands for all relays of users.
    address: Option<Arc<str>>,
    bucket: Bucket,
    reserve: Bucket,
}

impl Class {
    /// The limits of users who were never accepted.
    pub(super) const fn of_new_users() -> Self {
        Self::new(NEW_PER_RELAY, NEW_IN_ALL)
    }

    /// The limits of users who were accepted before.
    pub(super) const fn of_known_users() -> Self {
        Self::new(KNOWN_PER_RELAY, KNOWN_IN_ALL)
    }

    const fn new(relay_rate: Rate, all_rate: Rate) -> Self {
        Self { all: full(all_rate), drawn: full(DRAWN), relay_rate, relays: Vec::new() }
    }

    /// How many relays it counts.
    #[cfg(test)]
    pub(super) fn relays(&self) -> usize {
        self.relays.len()
    }

    /// Takes a scan that came `via` a relay, if no limit is exceeded.
    pub(super) fn admit(&mut self, via: &Via, now: UnixMillis) -> Result<Charge, ScanLimit> {
        let relay = match self.relays.iter().position(|relay| relay.address == via.relay) {
            Some(place) => self.relays.remove(place),
            None => {
                if self.relays.len() >= RELAYS {
                    self.relays.remove(0);
                }
                Relay { address: via.relay.clone(), bucket: full(self.relay_rate), reserve: full(RESERVE) }
            }
        };
        self.relays.push(relay);
        let Some(relay) = self.relays.last_mut() else { return Err(ScanLimit::Relay) };
        if !relay.bucket.has_one(now) {
            return Err(ScanLimit::Relay);
        }
        let charge = if self.all.take(now) {
            Charge::Total
        } else if relay.reserve.take(now) {
            Charge::Reserve
        } else {
            return Err(ScanLimit::Total);
        };
        relay.bucket.take(now);
        Ok(charge)
    }

    /// What was taken has had no effect.
    pub(super) fn give_back(&mut self, via: &Via, charge: Charge) {
        let relay = self.relays.iter_mut().find(|relay| relay.address == via.relay);
        match (charge, relay) {
            (Charge::Total, Some(relay)) => {
                self.all.give_back(1.0);
                relay.bucket.give_back(1.0);
            }
            (Charge::Total, None) => self.all.give_back(1.0),
            (Charge::Reserve, Some(relay)) => {
                relay.reserve.give_back(1.0);
                relay.bucket.give_back(1.0);
            }
            (Charge::Reserve, None) => {}
        }
    }
}
