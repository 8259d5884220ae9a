//! One session with one Nostr relay: the connection, and the protocol on it (NIP-01, NIP-42).
//!
//! ```text
//! dial: resolve ─▶ address guard ─▶ TCP (or a Dialer) ─▶ TLS ─▶ WebSocket handshake, with received bytes metered
//! Connection: messages out with back-pressure, messages in, pings, dead peers
//! Session: one relay subscription, kept open; authentication; events out, and their acknowledgements
//! Quality of a connection that ended ─▶ Reconnection: the pause before the next attempt
//! ```
//!
//! A connection ends when a relay sends too many frames or bytes that carry no message ([`Abuse`]), sends a message too
//! slowly, falls silent, or reads nothing. For the reasons, see `docs/adr/0002-own-relay-connection.md`.

mod backoff;
mod connection;
mod dial;
mod dialer;
mod gated_stream;
mod overhead_limits;
mod printable;
mod reconnection;
mod relay_message;
mod session;
mod site_limits;
mod time_limits;
mod tls;

pub use backoff::Backoff;
pub use connection::{Activity, Connection, ConnectionError, Interest, wait_until};
pub use dial::{DialError, DialOptions, dial, open};
pub use dialer::{ByteStream, Dialer};
pub use gated_stream::WriteGate;
pub use overhead_limits::Abuse;
pub use printable::printable;
pub use reconnection::{Pause, Quality, Reconnection};
pub use relay_message::{EventHead, Prefix, RelayMessage};
pub use session::{
    EndReason, OnRefusal, Protocol, Received, Session, SessionOptions, SessionTiming, Step, Verdict, event_message,
};
pub use site_limits::{ConnectLimits, SIMPLEST_URL, network_of, site, url_simplicity};
pub use time_limits::Timing;
pub use tls::web_tls;
pub use tokio_tungstenite::tungstenite::Utf8Bytes;
pub use usher_address_guard as address_guard;
