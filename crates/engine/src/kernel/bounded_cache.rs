use std::hash::Hash;
use std::num::NonZeroUsize;

use lru::LruCache;

/// A cache of at most so many entries. Not `LruCache::new`, which allocates for the whole capacity at once.
pub(crate) fn bounded<K: Hash + Eq, V>(capacity: usize) -> LruCache<K, V> {
    let mut cache = LruCache::unbounded();
    cache.resize(NonZeroUsize::new(capacity).unwrap_or(NonZeroUsize::MIN));
    cache
}
