//! A NIP-47 wallet service that misbehaves.

mod behaviour;
mod false_results;
mod faulty_handler;
mod faulty_service;
mod held_messages;

pub use behaviour::{Behaviour, CallBehaviour, LookupLie, Memory, PayLie};
pub use faulty_service::FaultyNwcService;
