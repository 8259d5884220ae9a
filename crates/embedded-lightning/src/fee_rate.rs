//! The fee rate of money that is sent on chain, if the request names none. The library keeps its own estimate to itself.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::node_context::NodeContext;
use crate::options::ChainAccess;

/// How often the chain source is asked.
const INTERVAL: Duration = Duration::from_secs(300);

/// How often it is asked while it names none.
const RETRY: Duration = Duration::from_secs(30);

/// How old an estimate may be, in seconds.
const OLDEST: u64 = 3600;

/// Sats per 1,000 weight units that are one sat per virtual byte (BIP 141: four weight units are a virtual byte).
const PER_VIRTUAL_BYTE: f64 = 250.0;

/// What the chain source has named last.
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
    /// Sats per 1,000 weight units, if that is known at this time in Unix seconds.
    pub(crate) fn get(&self, now: u64) -> Option<u64> {
        let estimate = *self.0.lock();
        estimate.filter(|estimate| estimate.at.saturating_add(OLDEST) >= now).map(|estimate| estimate.rate)
    }
}

/// Asks the chain source again and again, until `stop`.
pub(crate) async fn follow(inner: Arc<NodeContext>, chain: Arc<dyn ChainAccess>, stop: CancellationToken) {
    loop {
        let asked = tokio::select! {
            () = stop.cancelled() => return,
            asked = chain.fee_rate() => asked,
        };
        let pause = match asked {
            Ok(rate) => {
                // Rounded up; it is finite and positive.
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                let rate = (rate * PER_VIRTUAL_BYTE).ceil() as u64;
                *inner.fee_rate.0.lock() = Some(Estimate { rate, at: inner.now() });
                INTERVAL
            }
            Err(problem) => {
                tracing::debug!(problem, "the chain source names no fee rate");
                RETRY
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}
