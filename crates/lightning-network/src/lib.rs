//! A Lightning network on a private Bitcoin chain (regtest), in one process: for tests, and for trying things without
//! money.
//!
//! ```text
//! payer ──channel──▶ liquidity provider ──channels that it opens when a payment arrives (LSPS2)──▶ the node under test
//!   └───────────────────────┴───────────── chain: bitcoind's RPC or Esplora, real proof of work ───────────────────┘
//! ```
//!
//! Chain and nodes listen on free loopback ports and stop when they are dropped. The payments are real: the payer and
//! the provider are nodes of the library `ldk-node`, and blocks and transactions are what a node on `regtest` gets.
//! Only the consensus rules that such nodes rely on are checked.
#![allow(missing_docs, reason = "only tests and `usher dev` use this crate: what a name says is not said again")]

mod blockchain;
mod chain_source;
mod esplora;
mod network;
mod peer;
mod prepared_network;

pub use chain_source::{Chain, RpcAccess};
pub use ldk_node::payment::PaymentStatus;
pub use network::{Fees, Network};
pub use peer::{Peer, PeerPayment};
