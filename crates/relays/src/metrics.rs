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

/// Counters of the whole pool since it started; they only grow.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) received: AtomicU64,
    pub(crate) delivered: AtomicU64,
    pub(crate) duplicates: AtomicU64,
    pub(crate) verified: AtomicU64,
    pub(crate) own: AtomicU64,
    refused: [AtomicU64; Refusal::ALL.len()],
    pub(crate) sealed: AtomicU64,
    pub(crate) sent: AtomicU64,
    pub(crate) rejected: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) rate_limited: AtomicU64,
    pub(crate) connects: AtomicU64,
    pub(crate) disconnects: AtomicU64,
    pub(crate) proofs_sent: AtomicU64,
    pub(crate) proofs_withheld: AtomicU64,
    pub(crate) user_relays_refused: AtomicU64,
    pub(crate) user_relays_evicted: AtomicU64,
}

/// The values of the counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricsSnapshot {
    /// `EVENT` messages received from relays, of any kind.
    pub received: u64,
    /// Messages handed to the engine.
    pub delivered: u64,
    /// Copies of events that were handled before (other relays deliver them too).
    pub duplicates: u64,
    /// Events whose signature was verified.
    pub verified: u64,
    /// Our own events, sent back by a relay.
    pub own: u64,
    /// Refused, by reason, in the order of [`Refusal::ALL`].
    pub refused: [u64; Refusal::ALL.len()],
    /// Events we encrypted and signed.
    pub sealed: u64,
    /// Events written to a relay; an event sent to three relays counts three times.
    pub sent: u64,
    /// Events that a relay refused.
    pub rejected: u64,
    /// Events dropped because a relay's queue was full or they waited too long there.
    pub dropped: u64,
    /// How often a relay limited our rate.
    pub rate_limited: u64,
    /// Connections made.
    pub connects: u64,
    /// Connections lost and attempts failed.
    pub disconnects: u64,
    /// Subkey proofs sent to authors whose events we could not read.
    pub proofs_sent: u64,
    /// Subkey proofs not sent because there were too many.
    pub proofs_withheld: u64,
    /// Users' relays not used: the address was refused, or the user named too many.
    pub user_relays_refused: u64,
    /// Users' relays closed early to make room for others.
    pub user_relays_evicted: u64,
}

impl MetricsSnapshot {
    /// How many inbound messages were refused for `reason`.
    pub fn refused_for(&self, reason: Refusal) -> u64 {
        Refusal::ALL.iter().zip(self.refused).find_map(|(each, count)| (*each == reason).then_some(count)).unwrap_or(0)
    }
}

impl Metrics {
    pub(crate) fn refuse(&self, reason: Refusal) {
        if let Some(counter) = self.refused.get(reason as usize) {
            add(counter);
        }
    }

    pub(crate) fn values(&self) -> MetricsSnapshot {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        MetricsSnapshot {
            received: get(&self.received),
            delivered: get(&self.delivered),
            duplicates: get(&self.duplicates),
            verified: get(&self.verified),
            own: get(&self.own),
            refused: std::array::from_fn(|i| self.refused.get(i).map_or(0, get)),
            sealed: get(&self.sealed),
            sent: get(&self.sent),
            rejected: get(&self.rejected),
            dropped: get(&self.dropped),
            rate_limited: get(&self.rate_limited),
            connects: get(&self.connects),
            disconnects: get(&self.disconnects),
            proofs_sent: get(&self.proofs_sent),
            proofs_withheld: get(&self.proofs_withheld),
            user_relays_refused: get(&self.user_relays_refused),
            user_relays_evicted: get(&self.user_relays_evicted),
        }
    }
}

pub(crate) fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
