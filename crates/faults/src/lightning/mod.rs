//! Lightning wallets that lie, stall or forget, built from the honest ones of `usher-sandbox`.

mod false_invoice;
mod nwc;

pub use false_invoice::{FalseInvoice, InvoiceLie, false_invoice};
pub use nwc::{Behaviour, Conduct, FaultyNwcService, LookupLie, Memory, PayLie};

/// A preimage that belongs to no payment.
fn unrelated_preimage() -> usher_protocol::message::Preimage {
    usher_protocol::message::Preimage::from_bytes(rand::random())
}
