//! Lightning wallets that lie, stall or forget, built from the honest ones of `usher-sandbox`.

mod false_invoice;
mod nwc;
mod unrelated_preimage;

pub use false_invoice::InvoiceLie;
pub use nwc::{Behaviour, CallBehaviour, FaultyNwcService, LookupLie, Memory, PayLie};
