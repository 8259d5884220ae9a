use std::time::Duration;

use nostr::{Filter, Keys};

/// Options of a session.
pub struct SessionOptions {
    /// The relay's address as dialled, for authentication (NIP-42).
    pub relay: String,
    /// The keys for authentication.
    pub keys: Keys,
    /// The wall clock, in Unix seconds.
    pub unix_time: Box<dyn Fn() -> u64 + Send + Sync>,
    /// The filters of the relay subscription, evaluated for each request with the time in Unix seconds.
    pub filters: Box<dyn Fn(u64) -> Vec<Filter> + Send + Sync>,
    /// The id of the relay subscription; repeated requests append a number.
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
    /// How long a sent event is kept until the relay acknowledges it. Default 10 s.
    pub acknowledge_within: Duration,
    /// The first pause before a closed relay subscription is requested again; it doubles. Default 1 s.
    pub resubscribe_first: Duration,
    /// The longest of these pauses. Default 60 s.
    pub resubscribe_longest: Duration,
    /// The reaction to a refusal. Default: a retry after five minutes.
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

/// The reaction to a relay that refuses our authentication, or responds `restricted:` or `blocked:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRefusal {
    /// Ends the connection. It also ends after the tenth challenge, or relay subscription that the relay closed.
    End,
    /// Requests the relay subscription again after this pause.
    RetryAfter(Duration),
}
