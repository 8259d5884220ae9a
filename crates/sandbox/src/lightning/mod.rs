//! Lightning in miniature: accounts in one process that make and pay real invoices, without channels or blocks.
//!
//! A [`LightningWorld`] holds [`Account`]s with balances in millisats. Its invoices are BOLT 11 texts for regtest, signed
//! with the account's node key; preimages hash to their payment hashes. Paying moves balance from one account to
//! another in one step, at most once per invoice, and costs a fee ([`Fees`]). Nothing else moves balance, so balances,
//! payments in flight and fees always add up to what was granted ([`LightningWorld::books`]).
//!
//! An [`nwc::NwcService`] is the Lightning wallet of one account as an app sees it (NIP-47), over relays.

mod account;
mod error;
mod file;
mod invoice;
mod ledger;
pub mod nwc;
mod record;
mod terms;
mod world;

pub use crate::line::LineError;
pub use account::Account;
pub use error::{MakeError, PayError};
pub use file::WorldFileError;
pub use nwc::{Encryptions, ErrorCode, Method, NotAConnection, NwcClient, NwcCounts, NwcError, NwcKeys, NwcService};
pub use record::{Books, Direction, Paid, State, Transaction};
pub use terms::{Fees, InvoiceTerms};
pub use world::{LightningWorld, Occurrence};
