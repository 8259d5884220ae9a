//! Money that leaves the service's Lightning node on chain.

use serde::{Deserialize, Serialize};

use crate::StreamId;

/// How much is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnChainAmount {
    /// So many millisats, a multiple of 1,000; the fee comes on top.
    Exactly(u64),
    /// All that the node can spend, less the fee.
    All,
}

/// Money to send on chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnChainWish {
    /// The payee's Bitcoin address.
    pub address: String,
    /// How much.
    pub amount: OnChainAmount,
    /// Sats per virtual byte; none for what the chain source names.
    pub fee_rate: Option<u64>,
}

/// What sending money on chain costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnChainPrice {
    /// What arrives, in millisats.
    pub amount: u64,
    /// The miner fee in millisats.
    pub fee: u64,
    /// The fee rate in sats per 1,000 weight units: 250 are one sat per virtual byte.
    pub fee_rate: u64,
}

/// An order to send money on chain; carried out once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnChainOrder {
    /// Its stream: a repeated order has the same.
    pub id: StreamId,
    /// The payee's Bitcoin address.
    pub address: String,
    /// How much.
    pub amount: OnChainAmount,
    /// Sats per 1,000 weight units.
    pub fee_rate: u64,
    /// The most that may be spent, fee included, in millisats.
    pub most: u64,
}

/// A transaction that was made for an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnChainStatus {
    /// Its id, in the usual form: 64 hex characters.
    pub transaction: String,
    /// What the payee gets, in millisats.
    pub amount: u64,
    /// The miner fee in millisats.
    pub fee: u64,
    /// How it stands.
    pub state: OnChainState,
}

/// How a transaction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnChainState {
    /// It is in no block.
    Unconfirmed,
    /// It is in a block; the number counts that block.
    Confirmed {
        /// How many blocks there are from it on.
        confirmations: u32,
    },
    /// Another transaction has spent its coins, and has six confirmations: it will never be in a block.
    Replaced,
}
