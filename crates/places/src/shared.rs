use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::holder::Holder;
use crate::places::{Full, Limits, Places};

/// Places behind a lock, each with a guard that frees it.
pub struct SharedPlaces<V = ()>(Arc<Mutex<Inner<V>>>);

struct Inner<V> {
    places: Places<u64, V>,
    last: u64,
}

/// A taken place; dropping it frees the place.
pub struct Place<V = ()> {
    places: SharedPlaces<V>,
    number: u64,
}

impl<V> SharedPlaces<V> {
    /// Empty places.
    pub fn new(limits: Limits) -> Self {
        Self(Arc::new(Mutex::new(Inner { places: Places::new(limits), last: 0 })))
    }

    /// Takes a place. Returns it and the values of those that had to go for it, whose guards free nothing any more: a value is what
    /// ends them, such as a token that is cancelled.
    ///
    /// # Errors
    /// [`Full`].
    pub fn take(&self, holder: &Holder, value: V, now: Duration) -> Result<(Place<V>, Vec<V>), Full> {
        let mut inner = self.0.lock();
        inner.last += 1;
        let number = inner.last;
        let displaced = inner.places.take(number, holder, value, now)?;
        drop(inner);
        let displaced = displaced.into_iter().map(|(_, value)| value).collect();
        Ok((Place { places: self.clone(), number }, displaced))
    }

    /// How many are taken.
    pub fn len(&self) -> usize {
        self.0.lock().places.len()
    }

    /// Whether none is taken.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<V> Clone for SharedPlaces<V> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<V> Drop for Place<V> {
    fn drop(&mut self) {
        // The value is dropped after the lock: dropping it may do anything.
        let value = self.places.0.lock().places.free(&self.number);
        drop(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::{Protection, WhenFull};

    #[test]
    fn guards_free_their_places() {
        let places = SharedPlaces::new(Limits {
            total: 2,
            share: 1,
            reserved: 0,
            when_full: WhenFull::Refuse,
            protection: Protection::NONE,
        });
        let take = |key: &str| places.take(&Holder::key(key), (), Duration::ZERO).map(|(place, _)| place);
        let first = take("a").unwrap();
        assert_eq!(take("a").err(), Some(Full { is_of_holder: true, retry_after: None }));
        let _second = take("b").unwrap();
        assert_eq!(take("c").err(), Some(Full { is_of_holder: false, retry_after: None }));
        drop(first);
        let _third = take("c").unwrap();
        assert_eq!(places.len(), 2);
    }

    #[test]
    fn guard_of_a_displaced_place_frees_nothing() {
        let places = SharedPlaces::new(Limits {
            total: 1,
            share: 1,
            reserved: 0,
            when_full: WhenFull::AlwaysDisplace,
            protection: Protection::NONE,
        });
        let (old, _) = places.take(&Holder::key("a"), 1, Duration::ZERO).unwrap();
        let (_new, displaced) = places.take(&Holder::key("b"), 2, Duration::ZERO).unwrap();
        assert_eq!(displaced, [1]);
        drop(old);
        assert_eq!(places.len(), 1);
    }
}
