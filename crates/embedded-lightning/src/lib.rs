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
//! The library records a payment only *after* it has sent it, and loses a queued payment if the process ends at the
//! wrong moment. So the adapter writes its own record before it calls the library, and only the library's events end
//! it:
//!
//! ```text
//! (none) ──recorded, then handed to the library──▶ sending ──event: sent────▶ paid
//!    ▲                                                │ └─────event: failed──▶ failed
//!    └──the library refuses at once, or never had it──┘
//! ```
//!
//! | crash … | what the next start does |
//! | --- | --- |
//! | before the record | nothing was sent, and look-ups report so |
//! | after the record, before the library stored anything of it | no stored state of the library contains the payment hash, so it was never sent: the library stores before it sends. The record is removed |
//! | after the library stored it | the record stays `sending`; the library resolves the payment and repeats its event until the record has the outcome |
//!
//! A payment hash is passed to the library once: after `failed` the invoice is not paid again.
//!
//! # The operator's view
//!
//! The same node implements the port [`LightningNode`](usher_engine::ports::LightningNode): its state with warnings
//! (`overview.rs`), channels, addresses and prices (`channels.rs`). The opening of a channel is recorded under its key
//! before the library is called. After a crash, a channel that matches the record and no other record is the one that
//! was opened. If there is none, nothing was funded unless the library has a channel monitor newer than the record: it
//! stores the monitor before it publishes the funding transaction, and closes the channel if it was killed before it
//! stored the rest. The library publishes a funding transaction once; the adapter republishes it until it is in a block
//! (`funding.rs`).
//!
//! On-chain payments are transactions that the adapter creates from a copy of the library's wallet (`stored_wallet.rs`)
//! and stores before it publishes them (`sends.rs`).
//!
//! # Who publishes a closing transaction
//!
//! Publishing it costs miner fees. A node without an on-chain balance, such as a new one, leaves it to the provider;
//! claimed payments are safe, because the node can claim them from the provider's transaction without coins of its own.
//! A node with a balance at the start (`node.rs`) publishes it itself, so that money is not lost if the provider is
//! gone.
//!
//! # Connections
//!
//! The node connects to its peers itself and listens on no port.
//!
//! # What a kill can cost
//!
//! If the process is killed between the library's write of a channel and its write of the list of channels, the library
//! closes that channel at the next start and this is logged. Payments still end correctly, but closing costs fees and
//! liquidity.

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
