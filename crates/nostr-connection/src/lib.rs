//! One WebSocket connection to one Nostr relay, below the Nostr protocol.
//!
//! ```text
//! dial: resolve ─▶ address guard ─▶ TCP (or a Dialer) ─▶ byte counter ─▶ TLS ─▶ frame counter ─▶ WebSocket handshake
//! Connection: messages out with back-pressure, messages in, pings, dead peers
//! Health ─▶ Quality of a connection that ended ─▶ Reconnection: the pause before the next attempt
//! ```
//!
//! Relays are untrusted input. A connection ends when a relay sends frames or bytes that carry no message
//! ([`OverheadLimits`]), sends a message too slowly, falls silent, or reads nothing.
//!
//! This crate knows nothing about Nostr messages. The service's relays (`usher-relays`), the Lightning backend
//! (NIP-47, `usher-lightning`) and remote signers (NIP-46, `usher-remote-signer`) use it. Why it is not built on a client library: `docs/adr/0002-own-relay-connection.md`.

mod backoff;
mod connection;
mod dial;
mod dialer;
mod frame_tracker;
mod health;
mod overhead_limiter;
mod printable;
mod reconnection;
mod relay_host;
mod timing;
mod tls;

pub use backoff::Backoff;
pub use connection::{Activity, Connection, ConnectionError, Interest};
pub use dial::{DialError, DialOptions, dial, open};
pub use dialer::{ByteStream, Dialer};
pub use health::{Health, Quality};
pub use overhead_limiter::{Abuse, OverheadLimits};
pub use printable::printable;
pub use reconnection::{Pause, Reconnection};
pub use relay_host::{Openings, PLAINEST, network_of, plainness, site};
pub use timing::Timing;
pub use tls::web_tls;
pub use usher_address_guard as address_guard;
