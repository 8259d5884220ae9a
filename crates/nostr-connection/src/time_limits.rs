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
    /// The first pause before connecting again; it doubles with each failure, less a random 0 to 50 %. Default 0.8 s.
    pub reconnect_first: Duration,
    /// The longest pause before connecting again. Default 60 s.
    pub reconnect_longest: Duration,
    /// The first attempt after a connection that worked is made within this time, because messages sent meanwhile may
    /// be lost. Default 100 ms. At most thirty such attempts a minute; further ones use the ordinary pause.
    pub reconnect_at_once: Duration,
    /// A connection that lasted this long and received something useful has worked: pauses start again. Default 1 s.
    pub worked_after: Duration,
    /// A connection that lasted this long and received something useful is healthy. Default 30 s.
    pub healthy_after: Duration,
    /// After this long without data, a ping is sent. Default 30 s: common proxies drop connections idle for a minute.
    pub ping_after: Duration,
    /// A connection that receives nothing for this long after a ping is dead. Default 20 s.
    pub pong_within: Duration,
    /// Time limit of a message from its first byte to its last. Default 60 s.
    pub message_within: Duration,
    /// A connection whose socket accepts no data for this long is dead. Default 20 s.
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
