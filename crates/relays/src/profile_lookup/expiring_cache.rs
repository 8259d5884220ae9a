//! A cache of look-up results.

use std::hash::Hash;
use std::time::Duration;

use parking_lot::Mutex;
use usher_engine::UnixMillis;
use usher_places::LruCache;

/// A cache limited in number, bytes and age; the least recently used entry is dropped first.
#[derive(Debug)]
pub(crate) struct ExpiringCache<K: Hash + Eq, V> {
    inner: Mutex<Inner<K, V>>,
    most_entries: usize,
    most_bytes: usize,
}

#[derive(Debug)]
struct Inner<K: Hash + Eq, V> {
    entries: LruCache<K, Entry<V>>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    bytes: usize,
    until: UnixMillis,
}

/// The size of an entry beside its value: the key twice, the map, the list.
const ENTRY_BYTES: usize = 256;

impl<K: Hash + Eq + Clone, V: Clone> ExpiringCache<K, V> {
    pub(crate) fn new(most_entries: usize, most_bytes: usize) -> Self {
        let inner = Inner { entries: LruCache::unbounded(), bytes: 0 };
        Self { inner: Mutex::new(inner), most_entries, most_bytes }
    }

    pub(crate) fn get(&self, key: &K, now: UnixMillis) -> Option<V> {
        let mut inner = self.inner.lock();
        let entry = inner.entries.get(key)?;
        if entry.until > now {
            return Some(entry.value.clone());
        }
        inner.remove(key);
        None
    }

    pub(crate) fn put(&self, key: K, value: V, bytes: usize, now: UnixMillis, keep: Duration) {
        let mut inner = self.inner.lock();
        inner.remove(&key);
        let bytes = bytes.saturating_add(ENTRY_BYTES);
        inner.bytes = inner.bytes.saturating_add(bytes);
        inner.entries.put(key, Entry { value, bytes, until: now.plus(keep) });
        while inner.entries.len() > self.most_entries || inner.bytes > self.most_bytes {
            match inner.entries.pop_lru() {
                Some((_, entry)) => inner.bytes = inner.bytes.saturating_sub(entry.bytes),
                None => break,
            }
        }
    }

    pub(crate) fn remove(&self, key: &K) {
        self.inner.lock().remove(key);
    }
}

impl<K: Hash + Eq, V> Inner<K, V> {
    fn remove(&mut self, key: &K) {
        if let Some(entry) = self.entries.pop(key) {
            self.bytes = self.bytes.saturating_sub(entry.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_000_000);
    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn entries_expire() {
        let cache = ExpiringCache::new(10, 10_000);
        cache.put("a", 1, 10, NOW, MINUTE);
        assert_eq!(cache.get(&"a", NOW.plus(Duration::from_secs(59))), Some(1));
        assert_eq!(cache.get(&"a", NOW.plus(MINUTE)), None);
        assert_eq!(cache.inner.lock().bytes, 0);
        cache.put("a", 1, 10, NOW, MINUTE);
        cache.put("a", 2, 10, NOW, MINUTE);
        assert_eq!(cache.get(&"a", NOW), Some(2));
        cache.remove(&"a");
        assert_eq!(cache.get(&"a", NOW), None);
        assert_eq!(cache.inner.lock().bytes, 0);
    }

    #[test]
    fn number_and_bytes_are_limited() {
        let cache = ExpiringCache::new(10, 100_000);
        for number in 0..1000 {
            cache.put(number, number, 1, NOW, MINUTE);
        }
        assert_eq!(cache.inner.lock().entries.len(), 10);
        assert_eq!((cache.get(&989, NOW), cache.get(&990, NOW)), (None, Some(990)));
        for number in 0..1000 {
            cache.put(number, number, 30_000, NOW, MINUTE);
        }
        let inner = cache.inner.lock();
        assert_eq!(inner.entries.len(), 3);
        assert!(inner.bytes <= 100_000);
    }
}
