//! The ways in which a relay can misbehave, and what it counts.

use std::collections::BTreeMap;
use std::time::Duration;

use super::junk::JunkEvents;

/// How a [`QuirkyRelay`](super::QuirkyRelay) behaves; the default is a common relay without faults.
///
/// Everything can be changed while it runs ([`QuirkyRelay::set`](super::QuirkyRelay::set)) and then holds for the
/// connections that are open, too.
#[derive(Clone, Debug, Default)]
pub struct Quirks {
    /// Sends no OK for kinds 20000–29999 (as nostr-rs-relay 0.8 does), though it forwards them.
    pub no_ok_for_ephemeral: bool,
    /// Keeps ephemeral events for this long and answers REQs with them, as strfry does (300 s by default). None is
    /// forwarded a second time (OK true, `duplicate:`).
    pub keeps_ephemeral: Option<Duration>,
    /// Most subscriptions of one connection, 20 by default; one more is answered CLOSED.
    pub max_subscriptions: Option<usize>,
    /// Does not check ids and signatures: takes and forwards forged events like others.
    pub accept_forged: bool,
    /// Answers every event OK false, `blocked:`.
    pub refuse_events: bool,
    /// Accepts TCP connections and never answers the websocket handshake.
    pub accept_tcp_only: bool,
    /// The WebSocket works (pings are answered), but the relay sends and forwards nothing. Its metrics still count.
    pub mute: bool,
    /// Stops reading from its sockets, so that senders' buffers fill up; not even pings are answered.
    pub stop_reading: bool,
    /// Most events per second and connection; one more is answered OK false, `rate-limited:`.
    pub rate_limit: Option<u32>,
    /// NIP-42: challenges on connection, and answers `auth-required:` to REQ and EVENT until authenticated.
    pub require_auth: bool,
    /// Closes each connection this long after it was opened.
    pub drop_every: Option<Duration>,
    /// Forwards each event twice: once after this time and once after twice this time.
    pub duplicate_and_delay: Option<Duration>,
    /// Sends a junk frame on each connection at this interval: wrong JSON, wrong messages, binary, huge, deeply nested.
    pub garbage: Option<Duration>,
    pub lie_ok: Option<LieOk>,
    /// Closes each subscription (CLOSED) this long after it was opened; the connection stays.
    pub close_subscriptions_after: Option<Duration>,
    /// Delays everything by this in each direction, without changing its order.
    pub latency: Duration,
    /// Sends junk events to every subscription that matches them.
    pub flood: Option<Flood>,
}

/// How a relay's OK is false.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LieOk {
    /// OK true, but the event is neither stored nor forwarded.
    AcceptAndDrop,
    /// OK false (`error:`), but the event is stored and forwarded.
    RefuseAndForward,
}

#[derive(Clone, Debug)]
pub struct Flood {
    pub per_second: u32,
    pub events: JunkEvents,
}

/// What a [`QuirkyRelay`](super::QuirkyRelay) counted since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RelayMetrics {
    /// TCP connections accepted.
    pub connections: u64,
    pub open_connections: u64,
    /// Websocket handshakes completed.
    pub handshakes: u64,
    /// Text and binary frames received, valid or not.
    pub frames: u64,
    pub reqs: u64,
    pub closes: u64,
    pub auths: u64,
    pub auths_valid: u64,
    /// Subscriptions open now, over all connections.
    pub open_subscriptions: u64,
    /// The most subscriptions that one connection ever had open.
    pub most_subscriptions: u64,
    /// EVENTs received, by kind, accepted or not.
    pub events: BTreeMap<u16, u64>,
    /// EVENTs answered OK false.
    pub events_refused: u64,
    /// Junk events of the flood put into connections' queues.
    pub flooded: u64,
}

impl RelayMetrics {
    pub fn events_of(&self, kind: u16) -> u64 {
        self.events.get(&kind).copied().unwrap_or(0)
    }
}
