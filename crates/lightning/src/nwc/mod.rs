//! Nostr Wallet Connect (NIP-47): a wallet that is reached over relays.
//!
//! ```text
//! wallet (calls) ─▶ desk ─▶ relay ─▶ relay ─▶ … ─▶ the wallet service
//!                    ▲ ◀── relay ◀─ answers and notifications
//! ```
//!
//! One long-lived subscription for each relay of the connection string. A request goes to every relay that is connected; the first
//! answer counts. A request that was written to no socket is taken back when its time is over, so that what is said to have
//! failed is not done later. A wallet that was away when it was asked is asked anew when it shows life.
//!
//! A request to pay is another matter (`payment.rs`): it is signed, then stored by the engine, then sent to one relay, and only the
//! same request is ever sent again.

mod backend;
mod client;
mod connection_uri;
mod encryption;
mod liveness;
mod lookup_reliability;
mod payment;
mod pending_request;
mod relay_task;
mod response;

pub use backend::{NwcBackend, NwcOptions, Settings};
pub use connection_uri::{ConnectionUri, InvalidConnectionUri};
pub use response::{Announcement, InvalidResponse, Notification, Response};
