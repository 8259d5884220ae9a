//! The miner fee of opening a channel and of on-chain payments. An estimate, because the coins are chosen when the
//! transaction is created.

use crate::chain_source::{ChainSource, PAYMENT_TARGET};
use crate::config::Config;

/// The size of a funding transaction with one input, in virtual bytes: 11 of its own, 68 of the input (P2WPKH), 43 of
/// the channel (P2WSH) and 31 of the change (P2WPKH). A payment is not larger.
const SIZE: f64 = 11.0 + 68.0 + 43.0 + 31.0;

/// Virtual bytes of each further input.
const INPUT: f64 = 68.0;

/// The estimate as text, with the current fee rate of the chain source.
pub(super) async fn text(config: &Config) -> String {
    let asked = async { ChainSource::of(config)?.funding_fee_rate().await };
    estimate(asked.await)
}

/// The same for an on-chain payment, with this fee rate or the current one of the chain source.
pub(super) async fn of_payment(config: &Config, fee_rate: Option<u64>) -> String {
    let asked = async { ChainSource::of(config)?.fee_rate_within(PAYMENT_TARGET).await };
    match fee_rate {
        // At most 1,000.
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
