//! The streams with something to deliver that are kept in memory: those whose turn is now or soon. All stand in the store.

use std::collections::HashMap;

use super::lanes::Pace;
use crate::StreamId;

/// What is known of the streams with pending deliveries.
pub(super) struct Streams {
    known: HashMap<StreamId, Progress>,
    /// Most that are known.
    room: usize,
    /// There are streams with pending deliveries that are not known here.
    more_in_store: bool,
    /// The last time that the store was asked, nothing of it could be used.
    asked_in_vain: bool,
    /// After which stream the store is asked next.
    cursor: Option<StreamId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// A timer is set, or it waits for a place.
    Scheduled(Pace),
    /// Being delivered; `true`: something was added meanwhile.
    Delivering(bool),
}

/// What became of a stream that the store knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loaded {
    /// It is known now: a timer is to be set.
    New,
    /// It was known.
    Known,
    /// It is left in the store: its turn comes later.
    Later,
    /// There is no room.
    Full,
}

impl Streams {
    /// With room for so many streams, of which new ones always find a quarter free of those that wait for long.
    pub(super) fn new(room: usize) -> Self {
        Self { known: HashMap::new(), room, more_in_store: true, asked_in_vain: false, cursor: None }
    }

    /// Notes that `stream` has something new; says whether a timer is to be set for it.
    pub(super) fn note(&mut self, stream: StreamId) -> bool {
        let full = self.known.len() >= self.room;
        match self.known.get_mut(&stream) {
            Some(Progress::Scheduled(_)) => return false,
            Some(Progress::Delivering(more)) => *more = true,
            None if full => {
                self.more_in_store = true;
                self.asked_in_vain = false;
            }
            None => {
                self.known.insert(stream, Progress::Scheduled(Pace::Brisk));
                return true;
            }
        }
        false
    }

    /// The store has `stream`, whose turn is `soon` or later. Of how it did nothing is known: it goes with the slow ones.
    pub(super) fn load(&mut self, stream: StreamId, soon: bool) -> Loaded {
        if self.known.contains_key(&stream) {
            Loaded::Known
        } else if self.known.len() >= self.room / 4 * 3 {
            Loaded::Full
        } else if !soon && self.known.len() >= self.room / 2 {
            Loaded::Later
        } else {
            self.known.insert(stream, Progress::Scheduled(Pace::Slow));
            Loaded::New
        }
    }

    /// Ends a stream's delivery until it is begun again: `false` when something was added meanwhile, and it goes on.
    pub(super) fn rest(&mut self, stream: StreamId) -> bool {
        if let Some(Progress::Delivering(more @ true)) = self.known.get_mut(&stream) {
            *more = false;
            return false;
        }
        self.known.remove(&stream);
        true
    }

    /// The stream's next turn is `soon` or later; says whether a timer is to be set for it. One that comes later is left to
    /// the store when room is needed for what is new.
    pub(super) fn later(&mut self, stream: StreamId, pace: Pace, soon: bool) -> bool {
        let stays = soon || self.known.len() < self.room / 2;
        if stays {
            self.known.insert(stream, Progress::Scheduled(pace));
        } else {
            self.known.remove(&stream);
            self.more_in_store = true;
        }
        stays
    }

    /// There is no room for the stream among those that wait for a place.
    pub(super) fn put_off(&mut self, stream: StreamId) {
        if let Some(Progress::Scheduled(_)) = self.known.get(&stream) {
            self.known.remove(&stream);
        }
        self.more_in_store = true;
    }

    /// The stream's delivery was lost: it is left to the store, and loaded again.
    pub(super) fn lose(&mut self, stream: StreamId) {
        self.known.remove(&stream);
        self.more_in_store = true;
    }

    /// The stream shall be looked at now, whatever it waits for.
    pub(super) fn hurry(&mut self, stream: StreamId) {
        if let Some(Progress::Delivering(more)) = self.known.get_mut(&stream) {
            *more = true;
        }
    }

    /// Begins a stream's delivery; `false` when it is being delivered already, and will go on with what was added. Never
    /// two at a time, or order would be lost.
    pub(super) fn begin(&mut self, stream: StreamId) -> bool {
        let runs = matches!(self.known.get(&stream), Some(Progress::Delivering(_)));
        self.known.insert(stream, Progress::Delivering(runs));
        !runs
    }

    /// The pace at which the stream waits for its turn.
    pub(super) fn pace(&self, stream: StreamId) -> Pace {
        match self.known.get(&stream) {
            Some(Progress::Scheduled(pace)) => *pace,
            Some(Progress::Delivering(_)) | None => Pace::Brisk,
        }
    }

    /// Whether the store has streams that are not known here.
    pub(super) fn has_more(&self) -> bool {
        self.more_in_store
    }

    /// Whether the store has streams that are not known here, and asking it would be of use now.
    pub(super) fn has_room_for_more(&self) -> bool {
        self.more_in_store && !self.asked_in_vain && self.known.len() < self.room / 4
    }

    /// The store is asked now; says after which stream.
    pub(super) fn ask(&mut self) -> Option<StreamId> {
        // What is left there from now on sets it again.
        self.more_in_store = false;
        self.cursor
    }

    /// The store was asked; `after` which stream it is to be asked next, whether there is more, and how many were of use.
    pub(super) fn asked(&mut self, after: Option<StreamId>, more: bool, loaded: usize) {
        self.cursor = after;
        self.more_in_store |= more;
        self.asked_in_vain = loaded == 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u8) -> StreamId {
        StreamId::from_bytes([n; 16])
    }

    #[test]
    fn what_failed_and_comes_later_makes_room_for_what_is_new() {
        let mut streams = Streams::new(8);
        streams.ask();
        for n in 0..100 {
            assert!(streams.note(id(n)), "{n}");
            assert!(streams.begin(id(n)));
            let stays = streams.later(id(n), Pace::Brisk, false);
            assert_eq!(stays, n < 3, "{n}");
        }
        assert!(streams.has_more());
        assert!(streams.known.len() <= 8);
    }

    #[test]
    fn a_burst_beyond_the_room_is_left_to_the_store_and_fetched_when_there_is_room() {
        let mut streams = Streams::new(8);
        streams.ask();
        streams.asked(None, false, 0);
        assert_eq!((0..20).filter(|n| streams.note(id(*n))).count(), 8);
        assert!(streams.has_more() && !streams.has_room_for_more());
        for n in 0..7 {
            assert!(streams.begin(id(n)) && streams.rest(id(n)));
        }
        assert!(streams.has_room_for_more());
        assert_eq!(streams.ask(), None);
        let loaded: Vec<_> = (7..20).map(|n| streams.load(id(n), true)).collect();
        assert_eq!(loaded[0], Loaded::Known);
        assert_eq!(loaded[1..6], [Loaded::New; 5]);
        assert_eq!(loaded[6..], [Loaded::Full; 7]);
        streams.asked(Some(id(12)), true, 5);
        assert!(streams.note(id(99)), "what is new has room still");
        assert_eq!(streams.ask(), Some(id(12)));
    }

    #[test]
    fn of_what_comes_later_only_half_the_room_is_filled_and_asking_in_vain_is_not_repeated_at_once() {
        let mut streams = Streams::new(8);
        streams.ask();
        let loaded: Vec<_> = (0..8).map(|n| streams.load(id(n), false)).collect();
        assert_eq!(loaded, [[Loaded::New; 4], [Loaded::Later; 4]].concat());
        streams.asked(None, true, 0);
        for n in 0..4 {
            assert_eq!(streams.pace(id(n)), Pace::Slow);
            assert!(streams.begin(id(n)) && streams.rest(id(n)));
        }
        assert!(streams.has_more() && !streams.has_room_for_more());
    }

    #[test]
    fn one_at_a_time_and_what_is_added_meanwhile_is_seen() {
        let mut streams = Streams::new(8);
        assert!(streams.note(id(1)));
        assert!(!streams.note(id(1)), "it has its timer");
        assert!(streams.begin(id(1)));
        assert!(!streams.begin(id(1)));
        assert!(!streams.note(id(1)));
        assert!(!streams.rest(id(1)), "something was added");
        streams.put_off(id(1));
        assert!(!streams.begin(id(1)), "it still runs");
        streams.hurry(id(1));
        assert!(!streams.rest(id(1)) && streams.rest(id(1)));
        assert!(streams.begin(id(1)) && streams.later(id(1), Pace::Slow, true));
        assert!(!streams.note(id(1)), "it waits for its turn, and keeps its pace");
        assert_eq!(streams.pace(id(1)), Pace::Slow);
        streams.put_off(id(1));
        assert!(streams.note(id(1)));
    }
}
