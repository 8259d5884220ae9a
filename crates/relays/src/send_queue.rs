//! The queue of events waiting for one relay.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use usher_protocol::{EventId, PublicKey};

/// The interval between events for one user: deployed wallets lose an event that arrives right after another.
const APART: Duration = Duration::from_millis(30);

/// Most events of one user held back for that; more are sent at once. A main key with eight devices needs nine.
const MAX_HELD: usize = 16;

/// Above this many users, idle ones are forgotten.
const FORGET_AFTER: usize = 512;

/// An event to be sent to a relay.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    pub(crate) id: EventId,
    pub(crate) user: Option<PublicKey>,
    /// The whole `EVENT` message; copies for several relays share it.
    pub(crate) frame: Utf8Bytes,
    pub(crate) made: Instant,
    pub(crate) attempts: u8,
}

/// The queue of one relay, limited in number, bytes and age; oldest first. Events for one user are spaced by [`APART`];
/// events of others overtake them. Adding events never waits.
#[derive(Debug)]
pub(crate) struct SendQueue {
    inner: Mutex<Inner>,
    filled: Notify,
    most_events: usize,
    most_bytes: usize,
    fresh_for: Duration,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: VecDeque<Outgoing>,
    /// Events held back, by user, and when the first of each may leave.
    held: HashMap<PublicKey, VecDeque<Outgoing>>,
    leaves: BinaryHeap<Reverse<(Instant, PublicKey)>>,
    held_back: usize,
    /// When an event was last sent to each user; only entries younger than [`APART`] matter.
    sent: HashMap<PublicKey, Instant>,
    forget_at: usize,
    bytes: usize,
}

impl SendQueue {
    pub(crate) fn new(most_events: usize, most_bytes: usize, fresh_for: Duration) -> Self {
        Self { inner: Mutex::default(), filled: Notify::new(), most_events, most_bytes, fresh_for }
    }

    /// Adds an event; returns how many were dropped for it.
    pub(crate) fn push(&self, event: Outgoing) -> u64 {
        let dropped = {
            let mut inner = self.inner.lock();
            inner.bytes += event.frame.len();
            inner.waiting.push_back(event);
            let mut dropped = 0;
            while inner.len() > self.most_events || inner.bytes > self.most_bytes {
                if inner.drop_oldest().is_none() {
                    break;
                }
                dropped += 1;
            }
            dropped
        };
        self.filled.notify_one();
        dropped
    }

    /// Puts events back in front, in order, while there is room; returns how many were dropped.
    pub(crate) fn put_back(&self, events: Vec<Outgoing>) -> u64 {
        let mut dropped = 0;
        {
            let mut inner = self.inner.lock();
            for event in events.into_iter().rev() {
                if inner.len() >= self.most_events || inner.bytes + event.frame.len() > self.most_bytes {
                    dropped += 1;
                } else {
                    inner.bytes += event.frame.len();
                    inner.waiting.push_front(event);
                }
            }
        }
        self.filled.notify_one();
        dropped
    }

    /// Takes the oldest event that is fresh and may leave, and returns how many were dropped because they were too
    /// old.
    pub(crate) fn pop(&self, now: Instant) -> (Option<Outgoing>, u64) {
        let mut inner = self.inner.lock();
        let mut dropped = 0;
        loop {
            let (event, was_held) = match inner.pop_held(now) {
                Some(event) => (event, true),
                None => match inner.pop() {
                    Some(event) => (event, false),
                    None => return (None, dropped),
                },
            };
            if now.saturating_duration_since(event.made) > self.fresh_for {
                dropped += 1;
            } else if was_held || !inner.must_be_held(&event, now) {
                inner.note_sent(&event, now);
                return (Some(event), dropped);
            } else {
                inner.hold(event);
            }
        }
    }

    pub(crate) fn has_ready(&self, now: Instant) -> bool {
        let inner = self.inner.lock();
        !inner.waiting.is_empty() || inner.leaves.peek().is_some_and(|Reverse((at, _))| *at <= now)
    }

    pub(crate) fn held_until(&self) -> Option<Instant> {
        self.inner.lock().leaves.peek().map(|Reverse((at, _))| *at)
    }

    /// Drops stale events while the relay is down; returns how many.
    pub(crate) fn drop_stale(&self, now: Instant) -> u64 {
        let mut inner = self.inner.lock();
        let mut dropped = 0;
        while inner.waiting.front().is_some_and(|event| now.saturating_duration_since(event.made) > self.fresh_for) {
            inner.pop();
            dropped += 1;
        }
        dropped + inner.drop_held(|event| now.saturating_duration_since(event.made) > self.fresh_for)
    }

    /// Keeps only the latest copy of each event: the engine repeats events while the relay is down, and wallets reply
    /// to each copy.
    pub(crate) fn drop_copies(&self) {
        let mut inner = self.inner.lock();
        let (mut ids, mut bytes) = (HashSet::new(), 0);
        let mut kept: VecDeque<_> = VecDeque::with_capacity(inner.waiting.len());
        for event in std::mem::take(&mut inner.waiting).into_iter().rev() {
            if ids.insert(event.id) {
                kept.push_front(event);
            } else {
                bytes += event.frame.len();
            }
        }
        inner.waiting = kept;
        inner.bytes = inner.bytes.saturating_sub(bytes);
    }

    pub(crate) fn clear(&self) {
        *self.inner.lock() = Inner::default();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.inner.lock().len() == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.inner.lock().len()
    }

    /// Wakes the waiting task although nothing was added.
    pub(crate) fn wake(&self) {
        self.filled.notify_one();
    }

    /// Returns when something may have been added since the last call.
    pub(crate) async fn filled(&self) {
        self.filled.notified().await;
    }
}

impl Inner {
    fn len(&self) -> usize {
        self.waiting.len() + self.held_back
    }

    /// Whether an event of this user was just sent or is held back.
    fn must_be_held(&self, event: &Outgoing, now: Instant) -> bool {
        let Some(user) = &event.user else { return false };
        match self.held.get(user) {
            Some(held) => held.len() < MAX_HELD,
            None => self.sent.get(user).is_some_and(|at| *at + APART > now),
        }
    }

    fn hold(&mut self, event: Outgoing) {
        let Some(user) = event.user else { return };
        self.bytes += event.frame.len();
        self.held_back += 1;
        if let Some(held) = self.held.get_mut(&user) {
            held.push_back(event);
        } else if let Some(at) = self.sent.get(&user) {
            self.leaves.push(Reverse((*at + APART, user)));
            self.held.insert(user, VecDeque::from([event]));
        }
    }

    /// Takes the first held-back event that is due, and schedules its user's next one.
    fn pop_held(&mut self, now: Instant) -> Option<Outgoing> {
        let Reverse((at, user)) = *self.leaves.peek()?;
        if at > now {
            return None;
        }
        self.leaves.pop();
        let mut held = self.held.remove(&user)?;
        let event = held.pop_front()?;
        self.held_back = self.held_back.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(event.frame.len());
        if !held.is_empty() {
            self.held.insert(user, held);
            self.leaves.push(Reverse((now + APART, user)));
        }
        Some(event)
    }

    fn note_sent(&mut self, event: &Outgoing, now: Instant) {
        let Some(user) = event.user else { return };
        self.sent.insert(user, now);
        if self.sent.len() > self.forget_at.max(FORGET_AFTER) {
            self.sent.retain(|_, at| *at + APART > now);
            self.forget_at = self.sent.len() * 2;
        }
    }

    fn drop_oldest(&mut self) -> Option<Outgoing> {
        if let Some(event) = self.pop() {
            return Some(event);
        }
        let Reverse((_, user)) = *self.leaves.peek()?;
        let event = self.held.get_mut(&user)?.pop_front()?;
        self.held_back = self.held_back.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(event.frame.len());
        self.forget_empty();
        Some(event)
    }

    /// Drops the held-back events for which `old` is true; returns how many.
    fn drop_held(&mut self, old: impl Fn(&Outgoing) -> bool) -> u64 {
        let (mut dropped, mut bytes) = (0, 0);
        for held in self.held.values_mut() {
            held.retain(|event| {
                let drop = old(event);
                if drop {
                    dropped += 1;
                    bytes += event.frame.len();
                }
                !drop
            });
        }
        self.held_back = self.held_back.saturating_sub(dropped);
        self.bytes = self.bytes.saturating_sub(bytes);
        if dropped > 0 {
            self.forget_empty();
        }
        dropped as u64
    }

    fn forget_empty(&mut self) {
        self.held.retain(|_, held| !held.is_empty());
        self.leaves.retain(|Reverse((_, user))| self.held.contains_key(user));
    }

    fn pop(&mut self) -> Option<Outgoing> {
        let event = self.waiting.pop_front()?;
        self.bytes = self.bytes.saturating_sub(event.frame.len());
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(number: u8, bytes: usize, made: Instant) -> Outgoing {
        let id = EventId::from_byte_array([number; 32]);
        Outgoing { id, user: None, frame: "x".repeat(bytes).into(), made, attempts: 0 }
    }

    fn to(user: u8, number: u8, made: Instant) -> Outgoing {
        Outgoing { user: Some(PublicKey::from_byte_array([user; 32])), ..event(number, 10, made) }
    }

    /// The events in the order in which they leave, with the time in milliseconds, if ready events are always taken at once.
    fn leaving(queue: &SendQueue, start: Instant) -> Vec<(u8, u128)> {
        let (mut now, mut left) = (start, Vec::new());
        loop {
            left.extend(numbers(queue, now).into_iter().map(|number| (number, (now - start).as_millis())));
            match queue.held_until() {
                Some(at) => now = at,
                None => return left,
            }
        }
    }

    #[test]
    fn of_copies_the_latest_is_kept() {
        let now = Instant::now();
        let queue = SendQueue::new(100, 10_000, Duration::from_secs(60));
        for (number, age) in [(1, 50), (2, 40), (1, 20), (3, 10), (1, 0)] {
            queue.push(event(number, 10, now + Duration::from_secs(100 - age)));
        }
        queue.drop_copies();
        assert_eq!((queue.len(), queue.inner.lock().bytes), (3, 30));
        // The first copy would be too old.
        assert_eq!(numbers(&queue, now + Duration::from_secs(115)), [2, 3, 1]);
    }

    #[test]
    fn events_for_one_user_are_spaced_without_delaying_others() {
        let now = Instant::now();
        let queue = SendQueue::new(100, 10_000, Duration::from_secs(60));
        for event in [to(1, 10, now), to(1, 11, now), to(2, 20, now), to(1, 12, now), event(0, 10, now), to(2, 21, now)]
        {
            queue.push(event);
        }
        assert!(queue.has_ready(now));
        assert_eq!(leaving(&queue, now), [(10, 0), (20, 0), (0, 0), (11, 30), (21, 30), (12, 60)]);
        assert!(queue.is_empty() && !queue.has_ready(now));
        assert_eq!(queue.inner.lock().bytes, 0);
        // Taken late, because the relay was slow, they are no closer together.
        (0..3).for_each(|number| _ = queue.push(to(3, number, now)));
        let late = now + Duration::from_millis(500);
        assert_eq!((numbers(&queue, now), numbers(&queue, late)), (vec![0], vec![1]));
        assert_eq!(queue.held_until(), Some(late + APART));
        assert_eq!(numbers(&queue, late + APART), [2]);
        // A moment later nothing has to be waited for.
        queue.push(to(3, 9, now));
        assert_eq!(numbers(&queue, late + 2 * APART), [9]);
    }

    #[test]
    fn held_back_events_are_bounded_and_expire() {
        let now = Instant::now();
        let queue = SendQueue::new(200, 10_000, Duration::from_secs(60));
        (0..100).for_each(|number| _ = queue.push(to(1, number, now)));
        assert_eq!(numbers(&queue, now).len(), 100 - MAX_HELD);
        assert_eq!(queue.len(), MAX_HELD);
        let dropped: u64 = (0..200).map(|number| queue.push(event(number, 10, now))).sum();
        assert_eq!((dropped, queue.len()), (MAX_HELD as u64, 200));
        queue.clear();
        let later = now + Duration::from_secs(1);
        (0..3).for_each(|number| _ = queue.push(to(2, number, later)));
        assert_eq!(numbers(&queue, later), [0]);
        assert_eq!(queue.drop_stale(later + Duration::from_secs(61)), 2);
        assert_eq!((queue.len(), queue.held_until(), queue.inner.lock().bytes), (0, None, 0));
        // A queue of held events alone gives way to new ones.
        let small = SendQueue::new(2, 10_000, Duration::from_secs(60));
        (0..2).for_each(|number| _ = small.push(to(2, number, later)));
        assert_eq!(numbers(&small, later), [0]);
        assert_eq!((2..5).map(|number| small.push(event(number, 10, later))).sum::<u64>(), 2);
        assert_eq!(small.len(), 2);
    }

    #[test]
    fn number_of_remembered_users_is_limited() {
        let (queue, start) = (SendQueue::new(10, 10_000, Duration::from_secs(60)), Instant::now());
        for n in 0..100_000_u32 {
            let now = start + Duration::from_millis(u64::from(n));
            let mut key = [0; 32];
            key[..4].copy_from_slice(&n.to_be_bytes());
            queue.push(Outgoing { user: Some(PublicKey::from_byte_array(key)), ..event(1, 10, now) });
            assert!(queue.pop(now).0.is_some());
        }
        assert!(queue.inner.lock().sent.len() <= FORGET_AFTER + 1);
    }

    fn numbers(queue: &SendQueue, now: Instant) -> Vec<u8> {
        std::iter::from_fn(|| queue.pop(now).0).map(|event| event.id.as_bytes()[0]).collect()
    }

    #[test]
    fn a_full_queue_drops_the_oldest() {
        let now = Instant::now();
        let queue = SendQueue::new(3, 1000, Duration::from_secs(60));
        assert_eq!((0..5).map(|number| queue.push(event(number, 10, now))).sum::<u64>(), 2);
        assert_eq!((numbers(&queue, now), queue.is_empty()), (vec![2, 3, 4], true));
        // Bytes are bounded, too.
        assert_eq!([0, 1].map(|number| queue.push(event(number, 600, now))), [0, 1]);
        assert_eq!(queue.push(event(2, 5000, now)), 2, "one that is larger than the queue is not kept either");
        assert!(queue.is_empty());
        assert_eq!(queue.push(event(3, 1000, now)), 0, "the count of bytes went back to nothing");
    }

    #[test]
    fn old_events_are_dropped() {
        let start = Instant::now();
        let queue = SendQueue::new(100, 1000, Duration::from_secs(60));
        queue.push(event(0, 10, start));
        queue.push(event(1, 10, start + Duration::from_secs(30)));
        let (taken, dropped) = queue.pop(start + Duration::from_secs(61));
        assert_eq!((taken.unwrap().id.as_bytes()[0], dropped), (1, 1));
        queue.push(event(2, 10, start));
        assert_eq!(queue.drop_stale(start + Duration::from_secs(61)), 1);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn events_put_back_come_first_and_in_order() {
        let now = Instant::now();
        let queue = SendQueue::new(4, 1000, Duration::from_secs(60));
        queue.push(event(8, 10, now));
        queue.push(event(9, 10, now));
        let dropped = queue.put_back((0..3).map(|number| event(number, 10, now)).collect());
        assert_eq!(dropped, 1, "the oldest of those put back has no room");
        assert_eq!(numbers(&queue, now), [1, 2, 8, 9]);
    }
}
