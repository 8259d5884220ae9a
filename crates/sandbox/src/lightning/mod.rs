//! Lightning in miniature: accounts in one process that make and pay real invoices, without channels or blocks.
//!
//! A [`LightningNetwork`] holds [`Account`]s with balances in millisats. Its invoices are BOLT 11 texts for regtest, signed
//! with the account's node key; preimages hash to their payment hashes. Paying moves balance from one account to
//! another in one step, at most once per invoice, and costs a fee ([`Fees`]). Nothing else moves balance, so balances,
//! payments in flight and fees always add up to what was granted ([`LightningNetwork::totals`]).
//!
//! An [`nwc::NwcService`] is the Lightning wallet of one account as an app sees it (NIP-47), over relays.

mod account;
mod error;
mod invoice;
mod invoice_terms;
mod ledger;
mod network;
mod network_file;
pub mod nwc;
mod transaction;

pub use crate::relay_client::RelayClientError;
pub use account::Account;
pub use error::{MakeError, PayError};
pub use invoice_terms::{Fees, InvoiceTerms};
pub use ledger::Settlement;
pub use network::LightningNetwork;
pub use network_file::NetworkFileError;
pub use nwc::{Encryptions, ErrorCode, Method, NotAConnection, NwcClient, NwcError, NwcKeys, NwcMetrics, NwcService};
pub use transaction::{Direction, LedgerTotals, Paid, State, Transaction};
