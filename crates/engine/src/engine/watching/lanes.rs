//! Look-ups that wait for their turn: in lanes, so that old invoices do not hold up new ones, nor the other way round.

use std::collections::VecDeque;
use std::time::Duration;

use crate::StreamId;

/// Why an invoice is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// A person waits for its payment.
    Awaited,
    /// It is open.
    Open,
    /// The app has been told that it is over.
    Over,
}

/// Whose turn each of ten look-ups is; a lane that is empty leaves its turn to the first that is not.
const TURNS: [Lane; 10] = {
    use Lane::{Awaited, Open, Over};
    [Awaited, Awaited, Open, Awaited, Awaited, Open, Awaited, Awaited, Over, Awaited]
};

/// How far the pace may lag behind when the machine is busy and be made up for afterwards.
const LAG: Duration = Duration::from_secs(1);

/// Invoices whose time to be looked up has come, each lane in the order in which they came.
#[derive(Default)]
pub(super) struct Lanes {
    waiting: [VecDeque<StreamId>; 3],
    turn: usize,
    /// When the next one may be looked up, on the monotonic clock.
    next: Duration,
    /// Something has waited since the one before was looked up.
    busy: bool,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Look this one up.
    Of(StreamId),
    /// Wait for so long.
    Wait(Duration),
    /// Wait until there is something to look up.
    Nobody,
}

impl Lanes {
    pub(super) fn put(&mut self, lane: Lane, id: StreamId) {
        self.waiting[lane as usize].push_back(id);
    }

    /// At `now` on the monotonic clock, with `gap` from one look-up to the next. Those that are not `wanted` any more take
    /// no turn.
    pub(super) fn take(&mut self, now: Duration, gap: Duration, wanted: impl Fn(StreamId) -> bool) -> Turn {
        for lane in &mut self.waiting {
            while lane.front().is_some_and(|id| !wanted(*id)) {
                lane.pop_front();
            }
        }
        if self.waiting.iter().all(VecDeque::is_empty) {
            self.busy = false;
            return Turn::Nobody;
        }
        if now < self.next {
            return Turn::Wait(self.next - now);
        }
        let preferred = TURNS.get(self.turn).map_or(0, |lane| *lane as usize);
        self.turn = (self.turn + 1) % TURNS.len();
        let mut lanes = [preferred, 0, 1, 2].into_iter();
        let Some(id) = lanes.find_map(|lane| self.waiting.get_mut(lane).and_then(VecDeque::pop_front)) else {
            return Turn::Nobody;
        };
        let earliest = if std::mem::replace(&mut self.busy, true) { now.saturating_sub(LAG) } else { now };
        self.next = self.next.max(earliest).saturating_add(gap);
        Turn::Of(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Duration = Duration::from_millis(100);

    fn id(lane: u8, n: u64) -> StreamId {
        StreamId::from_parts(n, [lane; 10])
    }

    fn taken(lanes: &mut Lanes, now: Duration) -> Vec<StreamId> {
        std::iter::from_fn(|| match lanes.take(now, GAP, |_| true) {
            Turn::Of(id) => Some(id),
            Turn::Wait(_) | Turn::Nobody => None,
        })
        .collect()
    }

    #[test]
    fn never_more_than_the_pace_allows_and_no_lane_waits_for_another() {
        let mut lanes = Lanes::default();
        let second = Duration::from_secs(1);
        for n in 0..100 {
            for (number, lane) in [Lane::Awaited, Lane::Open, Lane::Over].into_iter().enumerate() {
                lanes.put(lane, id(u8::try_from(number).unwrap(), n));
            }
        }
        let mut now = 50 * second;
        assert_eq!(taken(&mut lanes, now), [id(0, 0)], "not what was left unused before");
        let mut of = [0; 3];
        for _ in 0..100 {
            now += GAP;
            let one = taken(&mut lanes, now);
            assert_eq!(one.len(), 1);
            for (lane, of) in (0..).zip(&mut of) {
                *of += usize::from(one[0].as_bytes()[15] == lane);
            }
        }
        assert_eq!(of, [70, 20, 10]);
        // A machine that was busy catches up, with what it missed within a second.
        assert_eq!(taken(&mut lanes, now + second).len(), 10);
        assert_eq!(taken(&mut lanes, now + 60 * second).len(), 11);
        assert_eq!(lanes.take(now + 60 * second, GAP, |_| false), Turn::Nobody);
        lanes.put(Lane::Over, id(2, 1));
        assert_eq!(taken(&mut lanes, now + 90 * second), [id(2, 1)], "a lane alone has every turn");
    }
}
