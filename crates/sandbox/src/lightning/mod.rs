//! Lightning in miniature: accounts in one process that make and pay real invoices, without a channel or a block.
//!
//! A [`LightningWorld`] holds [`Account`]s with balances in millisats. Its invoices are BOLT 11 texts, signed by the
//! account's node key, on regtest; its preimages hash to their payment hashes. Paying moves balance from one account to
//! another in one step, at most once for an invoice, and costs a fee ([`Fees`]). Nothing else moves balance, so the
//! sum of all balances, what is in flight and the fees stays what was granted ([`LightningWorld::books`]).
//!
//! An [`NwcService`] is the wallet of one account as an app sees it (NIP-47), over relays; how it behaves can be
//! changed while it runs ([`Behaviour`]): it can be slow, silent, forgetful, or lie.

mod account;
mod error;
mod falsified;
mod file;
mod ledger;
mod mint;
mod nwc;
mod record;
mod terms;
mod world;

pub use crate::line::LineError;
pub use account::Account;
pub use error::{MakeError, PayError};
pub use falsified::{InvoiceLie, Offered};
pub use file::WorldFileError;
pub use nwc::{
    Behaviour, Conduct, Encryptions, ErrorCode, LookupLie, Memory, Method, NotAConnection, NwcClient, NwcCounts,
    NwcError, NwcKeys, NwcService, PayLie,
};
pub use record::{Books, Direction, Paid, State, Transaction};
pub use terms::{Fees, InvoiceTerms};
pub use world::{LightningWorld, Occurrence};
