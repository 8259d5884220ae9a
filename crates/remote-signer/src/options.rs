use std::time::Duration;

use usher_nostr_connection::{OnRefusal, SessionTiming, Timing, WriteGate};

/// Options of remote signers. [`RemoteSignerOptions::new`] has the defaults.
#[derive(Clone, Debug)]
pub struct RemoteSignerOptions {
    /// The relays in our addresses (`nostrconnect://`), in this order; at most three are used.
    pub relays: Vec<String>,
    /// Lets signers name relays at private and loopback addresses. For development and closed networks only.
    pub allow_private: bool,
    /// The service's name, as shown by signers.
    pub name: String,
    /// The URL of the service's pages, as shown by signers.
    pub url: String,
    /// Most connections to relays that users or signers name. Default 512.
    pub user_connections: usize,
    /// Most of these under one registered domain, whatever their paths and ports, and at one network address, whatever their
    /// names. Default 8, as for users' relays.
    pub user_connections_per_host: usize,
    /// The first pause before a request is repeated; it doubles up to eight times as long. Default 4 s.
    pub repeat_first: Duration,
    /// How long to wait for a signer's list of relays, which many signers do not support. Default 3 s.
    pub switch_within: Duration,
    /// Time limits of the relay subscription, which is assumed to be open after 3 s.
    pub session: SessionTiming,
    /// Time limits of connections, and the pauses between them.
    pub connection: Timing,
    /// Whether anything may be sent; `None` means always.
    pub gate: Option<WriteGate>,
}

impl RemoteSignerOptions {
    /// The defaults, with these relays.
    pub fn new(relays: Vec<String>) -> Self {
        Self {
            relays,
            allow_private: false,
            name: String::new(),
            url: String::new(),
            user_connections: 512,
            user_connections_per_host: 8,
            repeat_first: Duration::from_secs(4),
            switch_within: Duration::from_secs(3),
            session: SessionTiming {
                confirm_within: Some(Duration::from_secs(3)),
                on_refusal: OnRefusal::End,
                ..SessionTiming::default()
            },
            // Pauses are short, because users wait.
            connection: Timing {
                reconnect_first: Duration::from_millis(500),
                reconnect_longest: Duration::from_secs(15),
                ..Timing::default()
            },
            gate: None,
        }
    }
}
