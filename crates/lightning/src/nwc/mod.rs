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

mod answer;
mod cipher;
mod desk;
mod flight;
mod life;
mod lookups;
mod payment;
mod relay;
mod url;
mod wallet;

pub use answer::{Announcement, Answer, NoSense, Notice};
pub use url::{ConnectionUrl, NotAConnectionUrl};
pub use wallet::{NwcOptions, NwcWallet, Settings};
