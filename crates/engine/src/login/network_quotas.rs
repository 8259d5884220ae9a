//! How much of a room each network has: nobody at one address takes the places of all others. Many users may share an
//! address, so the limits are generous; those who come over loopback may be everybody, and have no rate.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use lru::LruCache;
use usher_token_bucket::{Rate, TokenBucket};

use crate::ClientNetwork;
use crate::kernel::bounded_cache::bounded;
use crate::kernel::per_network_limit::quota;

/// Logins that one network may begin: a hundred people who are shown a code in the same minute are all in after 8 s.
const RATE: Rate = Rate::every(60, Duration::from_millis(200));

const REMEMBERED: usize = 10_000;

pub(crate) struct NetworkQuotas {
    most: usize,
    networks: HashMap<ClientNetwork, Usage>,
    rates: LruCache<ClientNetwork, TokenBucket<Duration>>,
}

/// What one network has: about 100 bytes.
#[derive(Default)]
struct Usage {
    held: usize,
    /// Those of the held places that no page waits for, by when their pages were seen: the first was seen least recently.
    idle: BTreeSet<u64>,
}

impl NetworkQuotas {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, networks: HashMap::new(), rates: bounded(REMEMBERED) }
    }

    /// The network begins a login; fails with the time after which they may try again.
    pub(crate) fn begin(&mut self, network: ClientNetwork, now: Duration) -> Result<(), Duration> {
        if network == ClientNetwork::Loopback {
            return Ok(());
        }
        self.rates.get_or_insert_mut(network, || TokenBucket::new(RATE, now)).try_take(now)
    }

    pub(crate) fn give_back(&mut self, network: ClientNetwork) {
        if let Some(rate) = self.rates.get_mut(&network) {
            rate.give_back(1.0);
        }
    }

    pub(crate) fn is_full(&self, network: ClientNetwork) -> bool {
        let most = quota(network, self.most);
        self.networks.get(&network).is_some_and(|usage| most.is_some_and(|most| usage.held >= most))
    }

    pub(crate) fn oldest_idle(&self, network: ClientNetwork) -> Option<u64> {
        self.networks.get(&network)?.idle.first().copied()
    }

    pub(crate) fn add(&mut self, network: ClientNetwork) {
        self.networks.entry(network).or_default().held += 1;
    }

    pub(crate) fn remove(&mut self, network: ClientNetwork, seen: u64) {
        if let Some(usage) = self.networks.get_mut(&network) {
            usage.held = usage.held.saturating_sub(1);
            usage.idle.remove(&seen);
            if usage.held == 0 {
                self.networks.remove(&network);
            }
        }
    }

    pub(crate) fn change_idle(&mut self, network: ClientNetwork, before: u64, now: Option<u64>) {
        if let Some(usage) = self.networks.get_mut(&network) {
            usage.idle.remove(&before);
            usage.idle.extend(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn network(number: u32) -> ClientNetwork {
        ClientNetwork::Network(number.to_be_bytes().into())
    }

    #[test]
    fn crowd_behind_one_address_begins_a_burst_and_then_several_a_second() {
        let mut quotas = NetworkQuotas::new(20_000);
        let now = SECOND * 1_000;
        let mut begun = |network, at| (0..1_000).filter(|_| quotas.begin(network, at).is_ok()).count();
        assert_eq!(begun(network(1), now), 60);
        assert_eq!(begun(network(1), now + SECOND), 5);
        assert_eq!(begun(network(2), now + SECOND), 60, "another address");
        assert_eq!(begun(network(1), now + SECOND * 9), 40, "a hundred within ten seconds");
        assert_eq!(begun(network(1), now + SECOND * 1_000), 60, "what is not used does not pile up");
        assert_eq!(begun(ClientNetwork::Loopback, now), 1_000);
    }

    #[test]
    fn wait_is_until_the_next_may_begin() {
        let mut quotas = NetworkQuotas::new(20_000);
        for _ in 0..60 {
            assert_eq!(quotas.begin(network(1), SECOND), Ok(()));
        }
        assert_eq!(quotas.begin(network(1), SECOND), Err(SECOND / 5));
        assert_eq!(quotas.begin(network(1), SECOND + SECOND / 10), Err(SECOND / 10));
        quotas.give_back(network(1));
        assert_eq!(quotas.begin(network(1), SECOND), Ok(()));
    }

    #[test]
    fn nobody_at_one_address_holds_more_than_a_part() {
        let mut quotas = NetworkQuotas::new(80);
        for _ in 0..10 {
            assert!(!quotas.is_full(network(1)));
            quotas.add(network(1));
        }
        assert!(quotas.is_full(network(1)));
        quotas.remove(network(1), 0);
        assert!(!quotas.is_full(network(1)));
        let mut tiny = NetworkQuotas::new(1);
        assert!(!tiny.is_full(network(1)), "there is always one");
        tiny.add(network(1));
        assert!(tiny.is_full(network(1)));
    }
}
