use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::holder::Holder;
use crate::places::{Full, Limits, Places};

/// Places behind a lock, each with a guard that frees it. Without displacement.
#[derive(Clone)]
pub struct SharedPlaces(Arc<Mutex<(Places<u64>, u64)>>);

/// A taken place; dropping it frees the place.
pub struct Place {
    places: SharedPlaces,
    number: u64,
}

impl SharedPlaces {
    /// A table without taken places.
    pub fn new(limits: Limits) -> Self {
        Self(Arc::new(Mutex::new((Places::new(limits), 0))))
    }

    /// Takes a place.
    pub fn take(&self, holder: &Holder) -> Result<Place, Full> {
        let (places, number) = &mut *self.0.lock();
        *number += 1;
        // Without displacement the time does not matter.
        places.take(*number, holder, (), Duration::ZERO)?;
        Ok(Place { places: self.clone(), number: *number })
    }

    /// The number of taken places.
    pub fn taken(&self) -> usize {
        self.0.lock().0.len()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.0.lock().0.free(&self.number);
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
        let take = |key: &str| places.take(&Holder::key(key));
        let first = take("a").unwrap();
        assert_eq!(take("a").err(), Some(Full { is_of_holder: true, retry_after: None }));
        let _second = take("b").unwrap();
        assert_eq!(take("c").err(), Some(Full { is_of_holder: false, retry_after: None }));
        drop(first);
        let _third = take("c").unwrap();
        assert_eq!(places.taken(), 2);
    }
}
