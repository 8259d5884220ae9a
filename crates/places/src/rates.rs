use std::hash::Hash;
use std::num::NonZeroUsize;

use lru::LruCache;
use usher_token_bucket::{Rate, Timestamp, TokenBucket};

/// An LRU cache of at most `capacity` entries. `LruCache::new` would allocate for the whole capacity at once.
pub fn bounded<K: Hash + Eq, V>(capacity: usize) -> LruCache<K, V> {
    let mut cache = LruCache::unbounded();
    cache.resize(NonZeroUsize::new(capacity).unwrap_or(NonZeroUsize::MIN));
    cache
}

/// The same rate limit for each key. Recent keys are remembered; a forgotten one has the full burst again.
#[derive(Debug)]
pub struct Rates<K: Hash + Eq, T> {
    rate: Rate,
    buckets: LruCache<K, TokenBucket<T>>,
}

impl<K: Hash + Eq, T: Timestamp> Rates<K, T> {
    /// Each key has this rate.
    pub fn new(rate: Rate, remembered: usize) -> Self {
        Self { rate, buckets: bounded(remembered) }
    }

    /// The token bucket of a key.
    pub fn of(&mut self, key: K, now: T) -> &mut TokenBucket<T> {
        self.buckets.get_or_insert_mut(key, || TokenBucket::new(self.rate, now))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_has_the_rate_and_the_one_not_seen_for_longest_is_forgotten() {
        let mut rates = Rates::new(Rate::every(2, Duration::from_secs(1)), 2);
        let mut taken = |key| (0..9).filter(|_| rates.of(key, Duration::ZERO).take(Duration::ZERO)).count();
        assert_eq!([1, 2, 1, 3, 1, 2].map(&mut taken), [2, 2, 0, 2, 0, 2]);
        assert_eq!(rates.buckets.len(), 2);
    }
}
