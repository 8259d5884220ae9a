//! How many logins each network may begin. Many users may share an address, so the limit is generous; those who come over loopback
//! may be everybody, and have none.

use std::time::Duration;

use lru::LruCache;
use usher_token_bucket::{Rate, TokenBucket};

use crate::ClientNetwork;
use crate::kernel::bounded_cache::bounded;

/// Logins that one network may begin: a hundred people who are shown a code in the same minute are all in after 8 s.
const RATE: Rate = Rate::every(60, Duration::from_millis(200));

const REMEMBERED: usize = 10_000;

pub(crate) struct BeginRates(LruCache<ClientNetwork, TokenBucket<Duration>>);

impl BeginRates {
    pub(crate) fn new() -> Self {
        Self(bounded(REMEMBERED))
    }

    /// The network begins a login; fails with the time after which they may try again.
    pub(crate) fn begin(&mut self, network: ClientNetwork, now: Duration) -> Result<(), Duration> {
        if network == ClientNetwork::Loopback {
            return Ok(());
        }
        self.0.get_or_insert_mut(network, || TokenBucket::new(RATE, now)).try_take(now)
    }

    pub(crate) fn give_back(&mut self, network: ClientNetwork) {
        if let Some(rate) = self.0.get_mut(&network) {
            rate.give_back(1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::fixtures::network;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn crowd_behind_one_address_begins_a_burst_and_then_several_a_second() {
        let mut rates = BeginRates::new();
        let now = SECOND * 1_000;
        let mut begun = |network, at| (0..1_000).filter(|_| rates.begin(network, at).is_ok()).count();
        assert_eq!(begun(network(1), now), 60);
        assert_eq!(begun(network(1), now + SECOND), 5);
        assert_eq!(begun(network(2), now + SECOND), 60, "another address");
        assert_eq!(begun(network(1), now + SECOND * 9), 40, "a hundred within ten seconds");
        assert_eq!(begun(network(1), now + SECOND * 1_000), 60, "what is not used does not pile up");
        assert_eq!(begun(ClientNetwork::Loopback, now), 1_000);
    }

    #[test]
    fn wait_is_until_the_next_may_begin() {
        let mut rates = BeginRates::new();
        for _ in 0..60 {
            assert_eq!(rates.begin(network(1), SECOND), Ok(()));
        }
        assert_eq!(rates.begin(network(1), SECOND), Err(SECOND / 5));
        assert_eq!(rates.begin(network(1), SECOND + SECOND / 10), Err(SECOND / 10));
        rates.give_back(network(1));
        assert_eq!(rates.begin(network(1), SECOND), Ok(()));
    }
}
