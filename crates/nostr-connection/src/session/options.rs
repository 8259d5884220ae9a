//! What a session is for, and its time limits.

use std::time::Duration;

use nostr::{Filter, Keys};

/// What a session is for, and its time limits.
pub struct SessionOptions {
    /// The relay's address as it was dialled, for authentication (NIP-42).
    pub relay: String,
    /// Authenticate to the relay.
    pub keys: Keys,
    /// The machine's clock, in Unix seconds.
    pub unix_time: Box<dyn Fn() -> u64 + Send + Sync>,
    /// The filters of the relay subscription, for each request anew: they may contain the time.
    pub filters: Box<dyn Fn() -> Vec<Filter> + Send + Sync>,
    /// The id of the relay subscription; further requests have a number after it.
    pub subscription: &'static str,
    /// A relay subscription that the relay has neither confirmed nor closed after this time is assumed to be open,
    /// because some relays send no `EOSE`. `None`: never.
    pub confirm_within: Option<Duration>,
    /// How long to wait for a relay that requires authentication to send its challenge, or to accept our response.
    pub auth_within: Duration,
    /// For how long an event that was sent is remembered, until the relay acknowledges it.
    pub acknowledge_within: Duration,
    /// The first pause before a relay subscription that the relay closed is requested again; it doubles up to
    /// `resubscribe_longest`.
    pub resubscribe_first: Duration,
    /// The longest of these pauses.
    pub resubscribe_longest: Duration,
    /// What to do at a relay that does not serve us.
    pub on_refusal: OnRefusal,
}

/// What to do at a relay that does not serve us: it refuses our authentication, or says `restricted:` or `blocked:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRefusal {
    /// The connection ends. It also ends after the tenth relay subscription that the relay closed, or challenge.
    End,
    /// The relay subscription is requested again after this pause.
    RetryAfter(Duration),
}
