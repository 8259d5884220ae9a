//! What a dishonest user can do with the reference wallet: send anything under any key, forge events, claim payments.

pub mod false_messages;
mod faulty_wallet;
pub mod forged_events;

pub use faulty_wallet::FaultyWallet;
