//! The Nostr transport: the engine's [`Messenger`](usher_engine::ports::Messenger), over any number of relays.
//!
//! ```text
//! message ─▶ RelayPool::send ─▶ encrypted, one event per recipient ─▶ a bounded queue per relay ─▶ relay task ─▶ relay
//! relay ─▶ relay task: size, head, known id, signature, decryption, message ─▶ bounded inbox ─▶ engine
//! ```
//!
//! Each relay has its own task, with one connection, one long-lived subscription and one queue. A relay that is slow,
//! silent, flooding or lying affects only its own task. Nothing waits for an `OK`: many relays send none for ephemeral
//! kinds, and it does not prove receipt. The connection itself is `usher-nostr-connection`.
//!
//! The same connections also serve:
//!
//! - [`RelayManager`], the engine's [`RelayRegistry`](usher_engine::ports::RelayRegistry): relays added and removed at run
//!   time, stored as the difference to the configuration ([`ServiceRelays`]);
//! - [`ProfileDirectory`], the engine's [`Directory`](usher_engine::ports::Directory): profiles (short subscriptions on
//!   existing connections, one-shot queries to other relays), NIP-05 identifiers (HTTPS), and the service's own profile.
//!
//! Relays that users choose are untrusted input. The [address guard](usher_nostr_connection::address_guard) decides what
//! may be connected to, `relays_in_use` how many, and `session` how much each connection may cost.

mod added_relay_backlog;
mod conversation_keys;
mod direct_message;
mod event_verifier;
mod handshake_sources;
mod identity;
mod metrics;
mod nip05;
mod open_queries;
mod options;
mod own_proof_responder;
mod probe;
mod profile_directory;
mod profile_lookup;
mod proof_queue;
mod publications;
mod publisher;
mod query;
mod relay_address;
mod relay_handle;
mod relay_manager;
mod relay_pool;
mod relay_status;
mod relay_task;
mod relays_in_use;
mod runtime_relay_changes;
mod seen_events;
mod send_queue;
mod send_rate;
mod service_profile;
mod session;
mod shared_state;

pub use direct_message::{DirectMessageError, send_direct_message};
pub use identity::Identity;
pub use metrics::{Counter, Metrics, Refusal};
pub use options::{Limits, RelayOptions, Timing};
pub use probe::{ProbeError, Probed, probe};
pub use profile_directory::{DirectoryError, DirectoryOptions, ProfileDirectory, RelaysOfUser, check_profile};
pub use relay_address::{AddressError, MAX_ADDRESS_BYTES, RelayAddress};
pub use relay_manager::{MAX_RELAYS, RelayManager};
pub use relay_pool::RelayPool;
pub use relay_status::{Origin, RelayState, RelayStatus};
pub use runtime_relay_changes::ServiceRelays;
