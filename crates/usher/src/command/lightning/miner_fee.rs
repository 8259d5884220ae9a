//! What opening a channel and sending money on chain cost: the miner fee of a transaction. Which coins pay for it is decided
//! when it is made, so what is shown before is an estimate.

use crate::chain_source::{ChainSource, PAYMENT_TARGET};
use crate::config::Config;

/// The size of a funding transaction with one input, in virtual bytes: 11 of its own, 68 of the input (P2WPKH), 43 of the
/// channel (P2WSH) and 31 of the change (P2WPKH). A payment has at most as many.
const SIZE: f64 = 11.0 + 68.0 + 43.0 + 31.0;

/// Virtual bytes of each further input.
const INPUT: f64 = 68.0;

/// The estimate in words, with the fee rate that the chain source names now.
pub(super) async fn text(config: &Config) -> String {
    let asked = async { ChainSource::of(config)?.funding_fee_rate().await };
    estimate(asked.await)
}

/// The same of money that is sent on chain, with this fee rate, or the one that the chain source names now.
pub(super) async fn of_payment(config: &Config, fee_rate: Option<u64>) -> String {
    let asked = async { ChainSource::of(config)?.fee_rate_within(PAYMENT_TARGET).await };
    match fee_rate {
        // It is at most 1,000.
        Some(rate) => estimate(Ok(f64::from(u32::try_from(rate).unwrap_or(u32::MAX)))),
        None => estimate(asked.await),
    }
}

fn estimate(rate: Result<f64, String>) -> String {
    match rate {
        Ok(rate) => format!(
            "the miner fee is about {:.0} sat at {rate:.1} sat/vB, and {:.0} sat more for each coin that is spent beyond the \
             first (an estimate)",
            (rate * SIZE).ceil(),
            (rate * INPUT).ceil()
        ),
        Err(reason) => format!(
            "the miner fee cannot be estimated: the chain source does not tell the fee rate: {reason}. The transaction has about \
             {SIZE:.0} vbytes, and {INPUT:.0} more for each coin that is spent beyond the first"
        ),
    }
}
