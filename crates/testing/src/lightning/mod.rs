//! Lightning wallets that lie, stall or forget, built from the honest ones of `usher-sandbox`.

mod behaviour;
mod false_lookups;
mod faulty_service;

pub use behaviour::{Behaviour, CallBehaviour, LookupLie, Memory};
pub use faulty_service::FaultyNwcService;
