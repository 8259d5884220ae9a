//! Nostr Wallet Connect (NIP-47): a Lightning backend that is reached over relays. NIP-47 calls it the wallet service.
//!
//! ```text
//! NwcBackend (port Lightning) ─▶ client ─▶ request sender ─▶ relay task ─▶ relay ─▶ … ─▶ the backend
//!                                   ▲ ◀── event reader ◀── relay task ◀─ responses and notifications
//! ```
//!
//! Each relay of the connection string has one long-lived subscription. A request goes to every connected relay; the
//! first response is used. A request that was never written to a socket is withdrawn when it times out, so that a
//! request reported as failed is not executed later. A backend that comes back gets the request again.
//!
//! Payments are different (`payment.rs`): the request is signed, stored by the engine, then sent to one relay; only
//! that same request is ever sent again.

mod backend;
mod client;
mod connection_uri;
mod event_reader;
mod liveness;
mod lookup_reliability;
mod payment;
mod pending_request;
mod relay_task;
mod request_sender;
mod response;

pub use backend::{NwcBackend, NwcOptions, Settings};
pub use connection_uri::{ConnectionUri, InvalidConnectionUri};
pub use response::{Announcement, InvalidResponse, Notification, Response};
