//! How much of a room each visitor has: nobody at one address takes the places of all others. Many users may share an
//! address, so the limits are generous; those who come over loopback may be everybody, and have no rate.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use lru::LruCache;
use usher_token_bucket::{Rate, TokenBucket};

use crate::Visitor;
use crate::kernel::bounded_cache::bounded;
use crate::kernel::visitor_share::share;

/// Logins that one network may begin: a hundred people who are shown a code in the same minute are all in after 8 s.
const RATE: Rate = Rate::every(60, Duration::from_millis(200));

const REMEMBERED: usize = 10_000;

pub(crate) struct VisitorShares {
    most: usize,
    visitors: HashMap<Visitor, Share>,
    rates: LruCache<Visitor, TokenBucket<Duration>>,
}

/// What one visitor has: about 100 bytes.
#[derive(Default)]
struct Share {
    held: usize,
    /// Those of the held places that no page waits for, by when their pages were seen: the first was seen least recently.
    idle: BTreeSet<u64>,
}

impl VisitorShares {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, visitors: HashMap::new(), rates: bounded(REMEMBERED) }
    }

    /// The visitor begins a login; fails with the time after which they may try again.
    pub(crate) fn begin(&mut self, visitor: Visitor, now: Duration) -> Result<(), Duration> {
        if visitor == Visitor::Loopback {
            return Ok(());
        }
        self.rates.get_or_insert_mut(visitor, || TokenBucket::new(RATE, now)).try_take(now)
    }

    pub(crate) fn give_back(&mut self, visitor: Visitor) {
        if let Some(rate) = self.rates.get_mut(&visitor) {
            rate.give_back(1.0);
        }
    }

    pub(crate) fn is_full(&self, visitor: Visitor) -> bool {
        let most = share(visitor, self.most);
        self.visitors.get(&visitor).is_some_and(|share| most.is_some_and(|most| share.held >= most))
    }

    pub(crate) fn oldest_idle(&self, visitor: Visitor) -> Option<u64> {
        self.visitors.get(&visitor)?.idle.first().copied()
    }

    pub(crate) fn add(&mut self, visitor: Visitor) {
        self.visitors.entry(visitor).or_default().held += 1;
    }

    pub(crate) fn remove(&mut self, visitor: Visitor, seen: u64) {
        if let Some(share) = self.visitors.get_mut(&visitor) {
            share.held = share.held.saturating_sub(1);
            share.idle.remove(&seen);
            if share.held == 0 {
                self.visitors.remove(&visitor);
            }
        }
    }

    pub(crate) fn change_idle(&mut self, visitor: Visitor, before: u64, now: Option<u64>) {
        if let Some(share) = self.visitors.get_mut(&visitor) {
            share.idle.remove(&before);
            share.idle.extend(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn network(number: u32) -> Visitor {
        Visitor::Network(number.to_be_bytes().into())
    }

    #[test]
    fn crowd_behind_one_address_begins_a_burst_and_then_several_a_second() {
        let mut shares = VisitorShares::new(20_000);
        let now = SECOND * 1_000;
        let mut begun = |visitor, at| (0..1_000).filter(|_| shares.begin(visitor, at).is_ok()).count();
        assert_eq!(begun(network(1), now), 60);
        assert_eq!(begun(network(1), now + SECOND), 5);
        assert_eq!(begun(network(2), now + SECOND), 60, "another address");
        assert_eq!(begun(network(1), now + SECOND * 9), 40, "a hundred within ten seconds");
        assert_eq!(begun(network(1), now + SECOND * 1_000), 60, "what is not used does not pile up");
        assert_eq!(begun(Visitor::Loopback, now), 1_000);
    }

    #[test]
    fn wait_is_until_the_next_may_begin() {
        let mut shares = VisitorShares::new(20_000);
        for _ in 0..60 {
            assert_eq!(shares.begin(network(1), SECOND), Ok(()));
        }
        assert_eq!(shares.begin(network(1), SECOND), Err(SECOND / 5));
        assert_eq!(shares.begin(network(1), SECOND + SECOND / 10), Err(SECOND / 10));
        shares.give_back(network(1));
        assert_eq!(shares.begin(network(1), SECOND), Ok(()));
    }

    #[test]
    fn nobody_at_one_address_holds_more_than_a_part() {
        let mut shares = VisitorShares::new(80);
        for _ in 0..10 {
            assert!(!shares.is_full(network(1)));
            shares.add(network(1));
        }
        assert!(shares.is_full(network(1)));
        shares.remove(network(1), 0);
        assert!(!shares.is_full(network(1)));
        let mut tiny = VisitorShares::new(1);
        assert!(!tiny.is_full(network(1)), "there is always one");
        tiny.add(network(1));
        assert!(tiny.is_full(network(1)));
    }
}
