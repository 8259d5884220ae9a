//! A Lightning node inside the service (`ldk-node`), behind the port [`Lightning`](usher_engine::ports::Lightning).
//!
//! ```text
//! EmbeddedLightning (port Lightning) ─▶ node (ldk-node, with a runtime of its own) ─▶ peers, chain source
//!        │  ▲ ◀─ events ◀──────────────┘ │
//!        ▼  │                            ▼
//!      records of payments ───────── store: one SQLite file, each write on disk before it is acknowledged
//! ```
//!
//! # Payments
//!
//! The library records a payment only *after* it has handed it to the network, and forgets a payment that it queued
//! when the process ends at the wrong instant. So the adapter has a record of its own, which it writes before the library
//! gets the payment, and which only the library's events end:
//!
//! ```text
//! (none) ──recorded, then handed to the library──▶ sending ──event: sent────▶ paid
//!    ▲                                                │ └─────event: failed──▶ failed
//!    └──the library refuses at once, or never had it──┘
//! ```
//!
//! | crash … | what the next start does |
//! | --- | --- |
//! | before the record | nothing was sent, and look-ups say so |
//! | after the record, before the library stored anything of it | no stored state of the library names the payment hash, so it was never sent: a peer gets nothing that is not stored. The record is removed |
//! | after the library stored it | the record stays `sending`; the library resolves the payment and repeats its event until the record says how it ended |
//!
//! A payment hash is handed to the library once: after `failed` the invoice is not paid again.
//!
//! # The operator's view
//!
//! The same node is behind the port [`LightningNode`](usher_engine::ports::LightningNode): its state with warnings
//! (`overview.rs`), channels, addresses and prices (`channels.rs`). The opening of a channel is recorded under its key before
//! the library gets it. After a crash a channel that fits the record and that no other record has is the one that was
//! opened. Without one, nothing was funded unless the library has a channel monitor that is newer than the record: it stores
//! that before it publishes the funding transaction, and closes the channel if it was killed before it stored the rest.
//! The library publishes a funding transaction once; the adapter repeats that until it is in a block (`funding.rs`).
//!
//! Money leaves on chain by transactions that the adapter makes and stores before it publishes them (`sends.rs`), from a copy of
//! the library's wallet (`stored_wallet.rs`).
//!
//! # Who publishes a closing transaction
//!
//! Publishing it costs miner fees. Without an on-chain balance the node leaves it to the provider: a new operator has none, and
//! what a payment was claimed by is then safe, because the node can claim from the provider's transaction without coins of
//! its own. With a balance at the start (`node.rs`), it publishes it itself, so that a provider that is gone keeps nothing.
//!
//! # Who connects to it
//!
//! Nobody: the node connects to its peers itself, and listens on no port.
//!
//! # What a kill can cost
//!
//! If the process is killed between the library's write of a channel and its write of the list of channels, the library
//! closes that channel at the next start. Payments still end truly, but closing costs fees and liquidity. The log says so.

mod backend;
mod channel_records;
mod channels;
mod connections;
mod draft_store;
mod events;
mod fee_rate;
mod funding;
mod invoices;
mod liquidity;
mod log_bridge;
mod lost_data;
mod management;
mod node;
mod node_context;
mod options;
mod overview;
mod panic_flag;
mod payment_cleanup;
mod payment_records;
mod payments;
mod rollback_guard;
mod send_records;
mod sends;
mod store;
mod stored_wallet;
#[cfg(test)]
mod testing;

pub use backend::EmbeddedLightning;
pub use lost_data::{DataState, adopt, data_state, give_up};
pub use node::StartError;
pub use options::{ChainAccess, ChainSource, InvalidOption, LiquidityProvider, Options, Tip};
pub use rollback_guard::setting_of_backup;
