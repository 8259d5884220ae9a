//! Counters of the transport.

use std::sync::atomic::{AtomicU64, Ordering};

usher_protocol::words! {
    /// Why an inbound message was refused.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Refusal {
        /// Above the size limit.
        TooLong = "too_long",
        /// Not a relay message, or not an event.
        Malformed = "malformed",
        /// An event that was not requested: another subscription, another kind, or not tagged with our key.
        NotAsked = "not_asked",
        /// `created_at` is too far from now.
        OutOfTime = "out_of_time",
        /// The signature or the id is wrong.
        Forged = "forged",
        /// Our key cannot decrypt it.
        Undecryptable = "undecryptable",
        /// Decrypted, but not a message of the wallet protocol.
        NotUnderstood = "not_understood",
    }
}

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// The number now.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }
}

/// Counters of the whole pool since it started.
#[derive(Debug, Default)]
pub struct Metrics {
    /// `EVENT` messages received from relays, of any kind.
    pub received: Counter,
    /// Messages handed to the engine.
    pub delivered: Counter,
    /// Copies of events that were handled before (other relays deliver them too).
    pub duplicates: Counter,
    /// Events whose signature was verified.
    pub verified: Counter,
    /// Our own events, sent back by a relay.
    pub own: Counter,
    /// Refused, by reason, in the order of [`Refusal::ALL`].
    refused: [Counter; Refusal::ALL.len()],
    /// Events we encrypted and signed.
    pub sealed: Counter,
    /// Events written to a relay; an event sent to three relays counts three times.
    pub sent: Counter,
    /// Events that a relay refused.
    pub rejected: Counter,
    /// Events dropped because a relay's queue was full or they waited too long there.
    pub dropped: Counter,
    /// How often a relay limited our rate.
    pub rate_limited: Counter,
    /// Connections made.
    pub connects: Counter,
    /// Connections lost and attempts failed.
    pub disconnects: Counter,
    /// Subkey proofs sent to authors whose events we could not read.
    pub proofs_sent: Counter,
    /// Subkey proofs not sent because there were too many.
    pub proofs_withheld: Counter,
    /// Users' relays not used: the address was refused, or the user named too many.
    pub user_relays_refused: Counter,
    /// Users' relays closed early to make room for others.
    pub user_relays_evicted: Counter,
}

impl Metrics {
    /// How many inbound messages were refused for `reason`.
    pub fn refused_for(&self, reason: Refusal) -> u64 {
        self.refused.get(reason as usize).map_or(0, Counter::get)
    }

    pub(crate) fn refuse(&self, reason: Refusal) {
        if let Some(counter) = self.refused.get(reason as usize) {
            counter.add(1);
        }
    }
}
