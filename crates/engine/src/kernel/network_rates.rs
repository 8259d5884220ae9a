//! Rate limits per network. Loopback may be everybody, and has no limit.

use std::time::Duration;

use usher_places::Rates;
use usher_token_bucket::Rate;

use crate::ClientNetwork;

/// Networks with remembered rates, about 100 bytes each.
const REMEMBERED: usize = 10_000;

pub(crate) struct NetworkRates(Rates<ClientNetwork, Duration>);

impl NetworkRates {
    pub(crate) fn new(rate: Rate) -> Self {
        Self(Rates::new(rate, REMEMBERED))
    }

    /// Fails with the time after which the network may try again.
    pub(crate) fn take(&mut self, network: ClientNetwork, now: Duration) -> Result<(), Duration> {
        if network == ClientNetwork::Loopback { Ok(()) } else { self.0.of(network, now).try_take(now) }
    }

    /// Undoes a count.
    pub(crate) fn give_back(&mut self, network: ClientNetwork, now: Duration) {
        self.0.of(network, now).give_back(1.0);
    }
}
