//! On-chain payments of the service's Lightning node.

use serde::{Deserialize, Serialize};

use crate::StreamId;

/// The amount to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnChainAmount {
    /// Millisats, a multiple of 1,000; the fee is added.
    Exactly(u64),
    /// The whole spendable balance, minus the fee.
    All,
}

/// A planned on-chain payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnChainWish {
    /// The payee's Bitcoin address.
    pub address: String,
    /// How much.
    pub amount: OnChainAmount,
    /// Sats per virtual byte; `None` for the chain source's estimate.
    pub fee_rate: Option<u64>,
}

/// The cost of an on-chain payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnChainPrice {
    /// What the payee gets, in millisats.
    pub amount: u64,
    /// The miner fee in millisats.
    pub fee: u64,
    /// The fee rate in sats per 1,000 weight units: 250 are one sat per virtual byte.
    pub fee_rate: u64,
}

/// An order for an on-chain payment; executed once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnChainOrder {
    /// Its stream, the same for a repeated order.
    pub id: StreamId,
    /// The payee's Bitcoin address.
    pub address: String,
    /// How much.
    pub amount: OnChainAmount,
    /// Sats per 1,000 weight units.
    pub fee_rate: u64,
    /// The most to spend, including the fee, in millisats.
    pub most: u64,
}

/// The transaction of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnChainStatus {
    /// Its id, in the usual form: 64 hex characters.
    pub transaction: String,
    /// What the payee gets, in millisats.
    pub amount: u64,
    /// The miner fee in millisats.
    pub fee: u64,
    /// Its state.
    pub state: OnChainState,
}

/// The state of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnChainState {
    /// Not in a block.
    Unconfirmed,
    /// In a block.
    Confirmed {
        /// The number of blocks from its own on.
        confirmations: u32,
    },
    /// Another transaction that spends its coins has six confirmations: this one will never be in a block.
    Replaced,
}
