use std::time::Duration;

use nostr::{Filter, Keys};

/// What a session is for.
pub struct SessionOptions {
    /// The relay's address as it was dialled, for authentication (NIP-42).
    pub relay: String,
    /// Authenticate to the relay.
    pub keys: Keys,
    /// The machine's clock, in Unix seconds.
    pub unix_time: Box<dyn Fn() -> u64 + Send + Sync>,
    /// The filters of the relay subscription, for each request anew, at this time in Unix seconds.
    pub filters: Box<dyn Fn(u64) -> Vec<Filter> + Send + Sync>,
    /// The id of the relay subscription; further requests have a number after it.
    pub subscription: &'static str,
    /// Time limits.
    pub timing: SessionTiming,
}

/// Time limits of the protocol on a connection.
#[derive(Clone, Debug)]
pub struct SessionTiming {
    /// After this time a relay subscription is assumed to be open: some relays send no `EOSE`. Default `None`: never.
    pub confirm_within: Option<Duration>,
    /// How long to wait for a required challenge, or for the relay to accept our response. Default 5 s.
    pub auth_within: Duration,
    /// How long an event that was sent is remembered until the relay acknowledges it. Default 10 s.
    pub acknowledge_within: Duration,
    /// The first pause before a closed relay subscription is requested again; it doubles. Default 1 s.
    pub resubscribe_first: Duration,
    /// The longest of these pauses. Default 60 s.
    pub resubscribe_longest: Duration,
    /// What to do at a relay that does not serve us. Default: it is asked again after five minutes.
    pub on_refusal: OnRefusal,
}

impl Default for SessionTiming {
    fn default() -> Self {
        Self {
            confirm_within: None,
            auth_within: Duration::from_secs(5),
            acknowledge_within: Duration::from_secs(10),
            resubscribe_first: Duration::from_secs(1),
            resubscribe_longest: Duration::from_secs(60),
            on_refusal: OnRefusal::RetryAfter(Duration::from_secs(300)),
        }
    }
}

/// What to do at a relay that does not serve us: it refuses our authentication, or says `restricted:` or `blocked:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRefusal {
    /// The connection ends. It also ends after the tenth relay subscription that the relay closed, or challenge.
    End,
    /// The relay subscription is requested again after this pause.
    RetryAfter(Duration),
}
