//! Bounds how many signers are waited for: a newcomer displaces who has waited longest.
//!
//! Anybody can begin a login and never finish it. If newcomers were refused, whoever begins enough of them would lock
//! everybody out for as long as a login lasts. Who displaces instead has to begin as many within the time that an honest user
//! needs.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// Who waits, in the order in which they began.
pub(crate) struct WaitingList {
    places: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    next_id: u64,
    places: VecDeque<(u64, CancellationToken)>,
}

/// A place in the list; left when it is dropped.
pub(crate) struct Place {
    list: Arc<WaitingList>,
    id: u64,
    displaced: CancellationToken,
}

impl WaitingList {
    pub(crate) fn new(places: usize) -> Arc<Self> {
        Arc::new(Self { places, waiting: Mutex::default() })
    }

    /// Takes a place.
    pub(crate) fn enter(self: &Arc<Self>) -> Place {
        let mut waiting = self.waiting.lock();
        while waiting.places.len() >= self.places.max(1) {
            if let Some((_, longest)) = waiting.places.pop_front() {
                longest.cancel();
            }
        }
        let (id, displaced) = (waiting.next_id, CancellationToken::new());
        waiting.next_id += 1;
        waiting.places.push_back((id, displaced.clone()));
        Place { list: Arc::clone(self), id, displaced }
    }
}

impl Place {
    /// Returns when somebody else has taken the place.
    pub(crate) async fn displaced(&self) {
        self.displaced.cancelled().await;
    }

    /// Leaves the list, and can no longer be displaced.
    pub(crate) fn leave(&self) {
        let mut waiting = self.list.waiting.lock();
        if let Ok(index) = waiting.places.binary_search_by_key(&self.id, |(id, _)| *id) {
            waiting.places.remove(index);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newcomer_displaces_who_has_waited_longest() {
        let list = WaitingList::new(2);
        let (first, second) = (list.enter(), list.enter());
        let third = list.enter();
        let displaced = [&first, &second, &third].map(|place| place.displaced.is_cancelled());
        assert_eq!(displaced, [true, false, false]);
        third.leave();
        let fourth = list.enter();
        assert!(!second.displaced.is_cancelled(), "a place was free");
        drop((first, second));
        let _fifth = list.enter();
        assert!(!fourth.displaced.is_cancelled() && !third.displaced.is_cancelled());
        assert_eq!(list.waiting.lock().places.len(), 2);
    }
}
