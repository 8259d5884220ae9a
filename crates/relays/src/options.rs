//! Options of the transport.

use std::sync::Arc;
use std::time::Duration;

use usher_nostr_connection::{Dialer, SessionTiming, Timing as ConnectionTiming, WriteGate};

use crate::identity::Identity;
use crate::relay_address::RelayAddress;

/// How far an event's `created_at` may be from now, either way: clocks of wallets are wrong, and old events may be replays.
/// Also how far back a subscription reaches.
pub(crate) const CREATED_AT_TOLERANCE: Duration = Duration::from_secs(15 * 60);

/// Options of the relay pool. [`RelayOptions::new`] has the defaults.
#[derive(Clone, Debug)]
pub struct RelayOptions {
    /// The service's keys.
    pub identity: Identity,
    /// The operator's relays, in the order in which handshake URLs name them.
    pub relays: Vec<RelayAddress>,
    /// Those of [`relays`](Self::relays) restricted to public addresses.
    pub public_only: Vec<RelayAddress>,
    /// Lets users name relays on private and loopback addresses. For development and closed networks only.
    pub allow_private: bool,
    /// How long a user's relay stays connected after the last reply was due, for late replies. Default 30 s.
    pub user_relay_grace: Duration,
    /// Time limits of connections, and the pauses between them.
    pub connection: ConnectionTiming,
    /// Time limits of the protocol on a connection.
    pub timing: Timing,
    /// Size and count limits.
    pub limits: Limits,
    /// TLS configuration for `wss://`; `None` means the web's certificate authorities.
    pub tls: Option<Arc<rustls::ClientConfig>>,
    /// Replaces TCP and the address guard in simulations.
    pub dialer: Option<Arc<dyn Dialer>>,
    /// Whether anything may be sent; `None` means always.
    pub gate: Option<WriteGate>,
}

/// Time limits of the protocol on a relay connection.
#[derive(Clone, Debug)]
pub struct Timing {
    /// How long an event waits for its relay before it is dropped: the engine repeats unanswered requests with fresh
    /// events. Default 60 s.
    pub fresh_for: Duration,
    /// Subscription, authentication and acknowledgements. Events sent within
    /// [`acknowledge_within`](SessionTiming::acknowledge_within) before a connection broke, and not acknowledged, are
    /// sent once more.
    pub session: SessionTiming,
    /// The pause after a relay responds `rate-limited:`; doubles each time. Default 1 s.
    pub rate_limit_pause: Duration,
    /// How often to look for users' relays that are no longer needed. Default 5 s.
    pub sweep: Duration,
}

/// Size and count limits.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Most events waiting for one relay. Default 4,096: 4 s of 500 logins per second with two events each.
    pub queue_events: usize,
    /// Largest relay message received: a larger one ends the connection. Default 4 MiB for the operator's relays, so
    /// that a slightly oversized event cannot disconnect us.
    pub frame_bytes: usize,
    /// How many conversation keys are kept, by author. Default 4,096.
    pub conversation_keys: usize,
    /// How many useless messages at once a user's relay may send before it is dropped. Default 1,000.
    pub user_relay_useless: u32,
    /// How many useless messages per second a user's relay may send after that. Default 30: at 75 µs each, a
    /// seventh of a core if all 64 users' relays do.
    pub user_relay_useless_per_second: u32,
    /// Burst of subkey proofs to authors whose events we cannot read; half of it over one relay, a quarter over all
    /// users' relays together. Default 240.
    pub proofs: u32,
    /// Subkey proofs per second after that. Default 60: a hundredth of a core.
    pub proofs_per_second: u32,
}

impl RelayOptions {
    /// The defaults.
    pub fn new(identity: Identity, relays: Vec<RelayAddress>) -> Self {
        Self {
            identity,
            relays,
            public_only: Vec::new(),
            allow_private: false,
            user_relay_grace: Duration::from_secs(30),
            connection: ConnectionTiming::default(),
            timing: Timing::default(),
            limits: Limits::default(),
            tls: None,
            dialer: None,
            gate: None,
        }
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            fresh_for: Duration::from_secs(60),
            session: SessionTiming::default(),
            rate_limit_pause: Duration::from_secs(1),
            sweep: Duration::from_secs(5),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            queue_events: 4096,
            frame_bytes: 4 * 1024 * 1024,
            conversation_keys: 4096,
            user_relay_useless: 1000,
            user_relay_useless_per_second: 30,
            proofs: 240,
            proofs_per_second: 60,
        }
    }
}
