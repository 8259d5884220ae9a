//! Time limits of a connection.

use std::time::Duration;

/// Time limits of a connection to a relay, and the pauses between connections.
#[derive(Clone, Debug)]
pub struct Timing {
    /// For resolving a name. Default 5 s.
    pub resolve: Duration,
    /// For one TCP connection attempt; up to four addresses are tried. Default 4 s.
    pub connect: Duration,
    /// For TLS and the WebSocket handshake together. Default 10 s.
    pub handshake: Duration,
    /// The first pause before connecting again. It doubles with each failure and is shortened by a random 0 to 50 %, so
    /// that many clients do not return at the same moment. Default 0.8 s.
    pub reconnect_first: Duration,
    /// The longest pause before connecting again. Default 60 s.
    pub reconnect_longest: Duration,
    /// After a connection that worked, the first new attempt is made within this time, at a random moment: messages sent
    /// meanwhile are lost on relays that keep no ephemeral events. Default 100 ms. At most thirty such attempts a minute
    /// are made at a relay; further ones wait for the ordinary pause.
    pub reconnect_at_once: Duration,
    /// A connection that lasted this long and received something useful has worked: pauses start again from the first.
    /// After a shorter one, such as at a relay that closes each connection at once, they grow. Default 1 s.
    pub worked_after: Duration,
    /// A connection that lasted this long and received something useful is healthy. Default 30 s.
    pub healthy_after: Duration,
    /// When nothing was received for this long, a WebSocket ping is sent. Default 30 s: below the minute after which
    /// common proxies and NATs drop an idle connection.
    pub ping_after: Duration,
    /// When nothing was received for this long after a ping, the connection is dead. Default 20 s.
    pub pong_within: Duration,
    /// How long a message may take from its first byte to its last. Default 60 s.
    pub message_within: Duration,
    /// When the socket accepted nothing for this long although there was something to send, the connection is dead.
    /// Default 20 s.
    pub write_within: Duration,
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
        }
    }
}
