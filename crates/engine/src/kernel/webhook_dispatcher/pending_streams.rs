//! The streams with pending deliveries in memory: those due now or soon. All of them are in the store.

use std::collections::HashMap;

use crate::StreamId;
use crate::kernel::timers::MonotonicMillis;

pub(super) struct PendingStreams {
    known: HashMap<StreamId, Progress>,
    room: usize,
    /// Whether the store has streams with pending deliveries that are not in memory.
    more_in_store: bool,
    /// Whether the last query of the store returned nothing usable.
    asked_in_vain: bool,
    cursor: Option<StreamId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// Its timer is set, or it waits for a permit. The time is the end of the pause before its next attempt, if known.
    Scheduled(Option<MonotonicMillis>),
    /// Being delivered; `true`: an event was added meanwhile.
    Delivering(bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loaded {
    New,
    Known,
    Later,
    Full,
}

impl PendingStreams {
    /// Has room for this many streams, a quarter of it always free for new ones.
    pub(super) fn new(room: usize) -> Self {
        Self { known: HashMap::new(), room, more_in_store: true, asked_in_vain: false, cursor: None }
    }

    /// Adds a new event of `stream`; returns whether its timer must be set.
    pub(super) fn record(&mut self, stream: StreamId) -> bool {
        let full = self.known.len() >= self.room;
        match self.known.get_mut(&stream) {
            Some(Progress::Scheduled(_)) => return false,
            Some(Progress::Delivering(more)) => *more = true,
            None if full => {
                self.more_in_store = true;
                self.asked_in_vain = false;
            }
            None => {
                self.known.insert(stream, Progress::Scheduled(None));
                return true;
            }
        }
        false
    }

    pub(super) fn load(&mut self, stream: StreamId, soon: bool) -> Loaded {
        if self.known.contains_key(&stream) {
            Loaded::Known
        } else if self.known.len() >= self.room / 4 * 3 {
            Loaded::Full
        } else if !soon && self.known.len() >= self.room / 2 {
            Loaded::Later
        } else {
            self.known.insert(stream, Progress::Scheduled(None));
            Loaded::New
        }
    }

    /// Whether an event was added, or one is to be delivered sooner, since the delivery began or this was asked.
    pub(super) fn was_woken(&mut self, stream: StreamId) -> bool {
        match self.known.get_mut(&stream) {
            Some(Progress::Delivering(more)) => std::mem::take(more),
            _ => false,
        }
    }

    /// Ends a stream's delivery; `false` if it was woken meanwhile, so that the delivery continues.
    pub(super) fn rest(&mut self, stream: StreamId) -> bool {
        let is_over = !self.was_woken(stream);
        if is_over {
            self.known.remove(&stream);
        }
        is_over
    }

    /// Schedules the stream `soon` or later; returns whether its timer must be set. One that is due later stays only in
    /// the store if room is needed for new ones. `pause`: the end of the pause before its next attempt, if any.
    pub(super) fn later(&mut self, stream: StreamId, pause: Option<MonotonicMillis>, soon: bool) -> bool {
        let stays = soon || self.known.len() < self.room / 2;
        if stays {
            self.known.insert(stream, Progress::Scheduled(pause));
        } else {
            self.known.remove(&stream);
            self.more_in_store = true;
        }
        stays
    }

    /// Leaves the stream to the store, because the queue for permits is full.
    pub(super) fn put_off(&mut self, stream: StreamId) {
        if let Some(Progress::Scheduled(_)) = self.known.get(&stream) {
            self.known.remove(&stream);
        }
        self.more_in_store = true;
    }

    /// Leaves a stream whose delivery panicked to the store, from which it is loaded again.
    pub(super) fn lose(&mut self, stream: StreamId) {
        self.known.remove(&stream);
        self.more_in_store = true;
    }

    pub(super) fn hurry(&mut self, stream: StreamId) {
        if let Some(Progress::Delivering(more)) = self.known.get_mut(&stream) {
            *more = true;
        }
    }

    /// Begins a stream's delivery; `None` if one is running, which then continues with the added events: two at a time
    /// would break the order. Otherwise whether the pause before its next attempt is known to be over.
    pub(super) fn begin(&mut self, stream: StreamId, now: MonotonicMillis) -> Option<bool> {
        let (runs, is_over) = match self.known.get(&stream) {
            Some(Progress::Delivering(_)) => (true, false),
            Some(Progress::Scheduled(pause)) => (false, pause.is_some_and(|until| until <= now)),
            None => (false, false),
        };
        self.known.insert(stream, Progress::Delivering(runs));
        (!runs).then_some(is_over)
    }

    pub(super) fn has_more(&self) -> bool {
        self.more_in_store
    }

    pub(super) fn has_room_for_more(&self) -> bool {
        self.more_in_store && !self.asked_in_vain && self.known.len() < self.room / 4
    }

    pub(super) fn ask(&mut self) -> Option<StreamId> {
        // Set again for every stream left there from now on.
        self.more_in_store = false;
        self.cursor
    }

    /// Records a query of the store: where the next one continues, if at all, and the number of loaded streams.
    pub(super) fn asked(&mut self, after: Option<StreamId>, more: bool, loaded: usize) {
        self.cursor = after;
        self.more_in_store |= more;
        self.asked_in_vain = loaded == 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::fixtures::stream as id;

    const NOW: MonotonicMillis = MonotonicMillis(1_000);

    #[test]
    fn failed_streams_make_room_for_new_ones() {
        let mut streams = PendingStreams::new(8);
        streams.ask();
        for n in 0..100 {
            assert!(streams.record(id(n)), "{n}");
            assert!(streams.begin(id(n), NOW).is_some());
            let stays = streams.later(id(n), None, false);
            assert_eq!(stays, n < 3, "{n}");
        }
        assert!(streams.has_more());
        assert!(streams.known.len() <= 8);
    }

    #[test]
    fn overflow_stays_in_the_store_until_there_is_room() {
        let mut streams = PendingStreams::new(8);
        streams.ask();
        streams.asked(None, false, 0);
        assert_eq!((0..20).filter(|n| streams.record(id(*n))).count(), 8);
        assert!(streams.has_more() && !streams.has_room_for_more());
        for n in 0..7 {
            assert!(streams.begin(id(n), NOW).is_some() && streams.rest(id(n)));
        }
        assert!(streams.has_room_for_more());
        assert_eq!(streams.ask(), None);
        let loaded: Vec<_> = (7..20).map(|n| streams.load(id(n), true)).collect();
        assert_eq!(loaded[0], Loaded::Known);
        assert_eq!(loaded[1..6], [Loaded::New; 5]);
        assert_eq!(loaded[6..], [Loaded::Full; 7]);
        streams.asked(Some(id(12)), true, 5);
        assert!(streams.record(id(99)), "what is new has room still");
        assert_eq!(streams.ask(), Some(id(12)));
    }

    #[test]
    fn delayed_streams_fill_at_most_half_and_fruitless_queries_pause() {
        let mut streams = PendingStreams::new(8);
        streams.ask();
        let loaded: Vec<_> = (0..8).map(|n| streams.load(id(n), false)).collect();
        assert_eq!(loaded, [[Loaded::New; 4], [Loaded::Later; 4]].concat());
        streams.asked(None, true, 0);
        for n in 0..4 {
            assert!(streams.begin(id(n), NOW).is_some() && streams.rest(id(n)));
        }
        assert!(streams.has_more() && !streams.has_room_for_more());
    }

    #[test]
    fn pause_is_over_when_its_time_has_come_and_not_when_something_else_wakes_the_stream() {
        let mut streams = PendingStreams::new(8);
        for (until, is_over) in [(NOW.0 + 1, false), (NOW.0, true)] {
            assert!(streams.later(id(1), Some(MonotonicMillis(until)), true));
            assert_eq!(streams.begin(id(1), NOW), Some(is_over));
        }
    }

    #[test]
    fn stream_runs_once_at_a_time_and_additions_are_noticed() {
        let mut streams = PendingStreams::new(8);
        assert!(streams.record(id(1)));
        assert!(!streams.record(id(1)), "it has its timer");
        assert_eq!(streams.begin(id(1), NOW), Some(false));
        assert_eq!(streams.begin(id(1), NOW), None);
        assert!(!streams.record(id(1)));
        assert!(!streams.rest(id(1)), "something was added");
        streams.put_off(id(1));
        assert_eq!(streams.begin(id(1), NOW), None, "it still runs");
        streams.hurry(id(1));
        assert!(streams.was_woken(id(1)) && !streams.was_woken(id(1)));
        streams.hurry(id(1));
        assert!(!streams.rest(id(1)) && streams.rest(id(1)));
        assert!(streams.begin(id(1), NOW).is_some() && streams.later(id(1), None, true));
        assert!(!streams.record(id(1)), "it waits for its turn");
        streams.put_off(id(1));
        assert!(streams.record(id(1)));
    }
}
