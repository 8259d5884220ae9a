//! The default fee rate of on-chain payments; the library does not expose its own estimate.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::options::ChainAccess;

/// How often the chain source is queried.
const INTERVAL: Duration = Duration::from_secs(300);

/// How often it is queried while it has no estimate.
const RETRY: Duration = Duration::from_secs(30);

/// Maximum age of an estimate, in seconds.
const OLDEST: u64 = 3600;

/// Sats per 1,000 weight units that equal one sat per virtual byte (BIP 141: a virtual byte is four weight units).
const PER_VIRTUAL_BYTE: f64 = 250.0;

/// The last estimate of the chain source.
#[derive(Default)]
pub(crate) struct FeeRateEstimate(Mutex<Option<Estimate>>);

#[derive(Clone, Copy)]
struct Estimate {
    /// Sats per 1,000 weight units.
    rate: u64,
    /// Unix seconds.
    at: u64,
}

impl FeeRateEstimate {
    pub(crate) fn set(&self, rate: u64, now: u64) {
        *self.0.lock() = Some(Estimate { rate, at: now });
    }

    /// Sats per 1,000 weight units; `None` if unknown at `now` (Unix seconds).
    pub(crate) fn get(&self, now: u64) -> Option<u64> {
        let estimate = *self.0.lock();
        estimate.filter(|estimate| estimate.at.saturating_add(OLDEST) >= now).map(|estimate| estimate.rate)
    }
}

/// Queries the chain source repeatedly; `note` takes the rate.
pub(crate) async fn follow(chain: Arc<dyn ChainAccess>, note: impl Fn(u64)) {
    loop {
        let pause = match chain.fee_rate().await {
            Ok(rate) => {
                // Rounded up; finite and positive.
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                let rate = (rate * PER_VIRTUAL_BYTE).ceil() as u64;
                note(rate);
                INTERVAL
            }
            Err(problem) => {
                tracing::debug!(problem, "the chain source names no fee rate");
                RETRY
            }
        };
        tokio::time::sleep(pause).await;
    }
}
