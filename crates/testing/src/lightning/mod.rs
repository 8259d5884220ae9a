//! Lightning wallets that lie, stall or forget, built from the honest ones of `usher-sandbox`.

mod behaviour;
mod false_results;
mod faulty_service;

pub use behaviour::{Behaviour, CallBehaviour, InvoiceLie, LookupLie, Memory, PayLie};
pub use faulty_service::FaultyNwcService;
