//! How the transport behaves.

use std::sync::Arc;
use std::time::Duration;

use crate::{Dialer, Identity, RelayAddress};

/// How the relay pool behaves. [`RelayOptions::new`] has the defaults; the fields say what each is for.
#[derive(Clone, Debug)]
pub struct RelayOptions {
    /// Who we are.
    pub identity: Identity,
    /// The operator's relays, in the order in which handshake URLs name them.
    pub relays: Vec<RelayAddress>,
    /// Lets users name relays on private and loopback addresses. For development and closed networks only.
    pub allow_private: bool,
    /// Most relays of one user that are used at a time. Default 4: NIP-65 asks users to list 2 to 4.
    pub user_relays_per_user: usize,
    /// Most relays of users that are connected at a time under one registered domain, whatever their paths and ports, and
    /// at one network address, whatever their names. Default 8.
    pub user_relays_per_host: usize,
    /// Most relays of users that are connected at a time, in all. Default 64.
    pub user_relays_in_all: usize,
    /// How long a user's relay stays connected after the last answer was due, for answers on their way. Default 30 s.
    pub user_relay_grace: Duration,
    /// How far an event's `created_at` may be from now, either way: wallets' clocks are wrong, and old events are
    /// replays. Default 15 min. Also how far back a subscription reaches.
    pub created_at_tolerance: Duration,
    /// Time limits of connections.
    pub timing: Timing,
    /// Size and count limits.
    pub limits: Limits,
    /// TLS configuration for `wss://`; `None` means the web's certificate authorities.
    pub tls: Option<Arc<rustls::ClientConfig>>,
    /// In place of TCP and the address guard; `None` outside simulations.
    pub dialer: Option<Arc<dyn Dialer>>,
}

/// Time limits of a relay connection.
#[derive(Clone, Debug)]
pub struct Timing {
    /// For resolving a name. Default 5 s.
    pub resolve: Duration,
    /// For one TCP connection attempt; up to four addresses are tried. Default 4 s.
    pub connect: Duration,
    /// For TLS and the WebSocket handshake together. Default 10 s.
    pub handshake: Duration,
    /// The first pause before connecting again; it doubles with each failure, and 0 to 50 % of it is taken off by
    /// chance, so that a fleet does not return at once. Default 0.8 s.
    pub reconnect_first: Duration,
    /// The longest pause before connecting again. Default 60 s.
    pub reconnect_longest: Duration,
    /// After a connection that worked, the first new attempt is made within this, at a moment chosen by chance: what a
    /// wallet sends meanwhile is lost on relays that keep no ephemeral events. Default 100 ms. Thirty such attempts a
    /// minute are made at a relay, more after the ordinary pause.
    pub reconnect_at_once: Duration,
    /// A connection that lived so long, and on which something was received, has worked. One that lived shorter, such as
    /// that of a relay that cuts each connection at once, is followed by a pause. Default 1 s.
    pub worked_after: Duration,
    /// A connection that lived so long, and on which something was received, was a good one: pauses start anew. When it
    /// lived shorter, pauses grow to eight times the first at most. Default 30 s.
    pub healthy_after: Duration,
    /// When nothing was received for so long, a WebSocket ping is sent. Default 30 s: below the minute after which
    /// common proxies and NATs forget a connection.
    pub ping_after: Duration,
    /// When nothing was received for so long after a ping, the connection is dead. Default 20 s.
    pub pong_within: Duration,
    /// How long a message may take from its first byte to its last. Default 60 s.
    pub message_within: Duration,
    /// When the socket took nothing for so long although there was something to send, the connection is dead.
    /// Default 20 s.
    pub write_within: Duration,
    /// How long an event waits for its relay before it is dropped: the engine repeats unanswered requests with fresh
    /// events, so an old one helps nobody. Default 60 s.
    pub fresh_for: Duration,
    /// Events handed to a connection that broke so shortly after are sent once more. Default 10 s.
    pub resend_within: Duration,
    /// How long we wait for a relay that demands authentication to challenge us, or to accept our answer, before we try
    /// anyway. Default 5 s.
    pub auth_within: Duration,
    /// The first pause before asking again for a subscription that the relay closed; doubles up to `reconnect_longest`.
    /// Default 1 s.
    pub resubscribe_first: Duration,
    /// The pause before asking again when the relay said that we may not (`restricted:`, `blocked:`). Default 5 min.
    pub restricted_retry: Duration,
    /// How long a relay that says `rate-limited:` is left alone; doubles each time. Default 1 s.
    pub rate_limit_pause: Duration,
    /// How long a removed relay, or all of them at shutdown, may take to send what is queued. Default 2 s.
    pub drain: Duration,
    /// How often users' relays that are no longer needed are looked for. Default 5 s.
    pub sweep: Duration,
}

/// Size and count limits.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Most events waiting for one relay. Default 4,096: at 500 logins per second 4 s of two events each.
    pub queue_events: usize,
    /// Most bytes waiting for one relay. Default 8 MiB. Copies for several relays share their memory.
    pub queue_bytes: usize,
    /// Largest relay message that is parsed, in bytes. Default 128 KiB: the largest content we take
    /// ([`usher_protocol::envelope::MAX_CONTENT_BYTES`], 88 KiB), and room for tags.
    pub message_bytes: usize,
    /// Largest relay message that is received at all: a larger one ends the connection. Default 4 MiB for the
    /// operator's relays, so that no stranger can cut us off from one by an event that is a little too large.
    pub frame_bytes: usize,
    /// The same for users' relays. Default 512 KiB: 64 of them buffer 32 MiB at worst.
    pub user_frame_bytes: usize,
    /// How many handled event ids are remembered, to handle an event from five relays once. Default 32,768 (about
    /// 3 MB), a minute at 500 per second; the engine remembers durably.
    pub remembered_events: usize,
    /// How many conversation keys are kept, by author. Default 4,096.
    pub conversation_keys: usize,
    /// A user's relay may send us so many useless messages at once before it is dropped. Default 2,000.
    pub user_relay_nuisance: u32,
    /// How many useless messages a user's relay is forgiven per second. Default 200.
    pub user_relay_nuisance_per_second: u32,
    /// How many useless messages all relays of users together are forgiven per second: beyond, they are read one after the
    /// other, each as much as the others. Default 2,000: a sixth of a core.
    pub user_relays_nuisance_per_second: u32,
    /// What a connection to one of the operator's relays may cost beside its messages. Default 65,536 frames and 8,192 more
    /// per second, 16 MiB and 4 MiB more per second.
    pub burden: Burden,
    /// The same for users' relays. Default 4,096 frames and 512 more per second, 1 MiB and 256 KiB more per second.
    pub user_burden: Burden,
    /// Most subkey proofs sent at once to those whose events we cannot read, in all. Over one relay half as many, and over
    /// all relays of users together a quarter. Default 240.
    pub proofs: u32,
    /// Subkey proofs per second, in all, after that. Default 60: a hundredth of a core.
    pub proofs_per_second: u32,
    /// Most subkey proofs sent to one author in a minute. Default 3.
    pub proofs_per_author: u32,
}

/// What a connection may cost beside the messages that it brings, at once and per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burden {
    /// WebSocket frames that are no whole message: pings, pongs, fragments.
    pub frames: u32,
    /// More of them each second.
    pub frames_per_second: u32,
    /// Bytes that TLS adds. Of messages of 300 bytes, each in a record of its own, a twelfth.
    pub overhead_bytes: u32,
    /// More of them each second.
    pub overhead_bytes_per_second: u32,
}

impl RelayOptions {
    /// The defaults.
    pub fn new(identity: Identity, relays: Vec<RelayAddress>) -> Self {
        Self {
            identity,
            relays,
            allow_private: false,
            user_relays_per_user: 4,
            user_relays_per_host: 8,
            user_relays_in_all: 64,
            user_relay_grace: Duration::from_secs(30),
            created_at_tolerance: Duration::from_secs(15 * 60),
            timing: Timing::default(),
            limits: Limits::default(),
            tls: None,
            dialer: None,
        }
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            resolve: Duration::from_secs(5),
            connect: Duration::from_secs(4),
            handshake: Duration::from_secs(10),
            reconnect_first: Duration::from_millis(800),
            reconnect_longest: Duration::from_secs(60),
            reconnect_at_once: Duration::from_millis(100),
            worked_after: Duration::from_secs(1),
            healthy_after: Duration::from_secs(30),
            ping_after: Duration::from_secs(30),
            pong_within: Duration::from_secs(20),
            message_within: Duration::from_secs(60),
            write_within: Duration::from_secs(20),
            fresh_for: Duration::from_secs(60),
            resend_within: Duration::from_secs(10),
            auth_within: Duration::from_secs(5),
            resubscribe_first: Duration::from_secs(1),
            restricted_retry: Duration::from_secs(300),
            rate_limit_pause: Duration::from_secs(1),
            drain: Duration::from_secs(2),
            sweep: Duration::from_secs(5),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            queue_events: 4096,
            queue_bytes: 8 * 1024 * 1024,
            message_bytes: 128 * 1024,
            frame_bytes: 4 * 1024 * 1024,
            user_frame_bytes: 512 * 1024,
            remembered_events: 32_768,
            conversation_keys: 4096,
            user_relay_nuisance: 2000,
            user_relay_nuisance_per_second: 200,
            user_relays_nuisance_per_second: 2000,
            burden: Burden {
                frames: 65_536,
                frames_per_second: 8192,
                overhead_bytes: 16 * 1024 * 1024,
                overhead_bytes_per_second: 4 * 1024 * 1024,
            },
            user_burden: Burden {
                frames: 4096,
                frames_per_second: 512,
                overhead_bytes: 1024 * 1024,
                overhead_bytes_per_second: 256 * 1024,
            },
            proofs: 240,
            proofs_per_second: 60,
            proofs_per_author: 3,
        }
    }
}
