//! Look-ups waiting for their turn, one queue per class, so that neither old nor new invoices delay the others.

use std::collections::VecDeque;
use std::time::Duration;

use crate::StreamId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LookupClass {
    /// A user is about to pay it.
    Awaited,
    Open,
    /// The end of the payment was reported to the app.
    Ended,
}

/// The class of each of ten look-ups; a class with an empty queue passes its turn to the first non-empty one.
const TURNS: [LookupClass; 10] = {
    use LookupClass::{Awaited, Ended, Open};
    [Awaited, Awaited, Open, Awaited, Awaited, Open, Awaited, Awaited, Ended, Awaited]
};

/// How much delay of a busy machine look-ups may catch up on.
const LAG: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct LookupTurns {
    waiting: [VecDeque<StreamId>; 3],
    turn: usize,
    next: Duration,
    busy: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Of(StreamId),
    Wait(Duration),
    Nobody,
}

impl LookupTurns {
    pub(super) fn put(&mut self, class: LookupClass, id: StreamId) {
        self.waiting[class as usize].push_back(id);
    }

    /// The turn at `now` on the monotonic clock, `gap` after the last one. Invoices that are not `wanted` are skipped.
    pub(super) fn take(&mut self, now: Duration, gap: Duration, wanted: impl Fn(StreamId) -> bool) -> Turn {
        for queue in &mut self.waiting {
            while queue.front().is_some_and(|id| !wanted(*id)) {
                queue.pop_front();
            }
        }
        if self.waiting.iter().all(VecDeque::is_empty) {
            self.busy = false;
            return Turn::Nobody;
        }
        if now < self.next {
            return Turn::Wait(self.next - now);
        }
        let preferred = TURNS.get(self.turn).map_or(0, |class| *class as usize);
        self.turn = (self.turn + 1) % TURNS.len();
        let mut classes = [preferred, 0, 1, 2].into_iter();
        let Some(id) = classes.find_map(|class| self.waiting.get_mut(class).and_then(VecDeque::pop_front)) else {
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

    fn id(class: u8, n: u64) -> StreamId {
        StreamId::from_parts(n, [class; 10])
    }

    fn taken(turns: &mut LookupTurns, now: Duration) -> Vec<StreamId> {
        std::iter::from_fn(|| match turns.take(now, GAP, |_| true) {
            Turn::Of(id) => Some(id),
            Turn::Wait(_) | Turn::Nobody => None,
        })
        .collect()
    }

    #[test]
    fn rate_is_kept_and_classes_do_not_delay_each_other() {
        let mut turns = LookupTurns::default();
        let second = Duration::from_secs(1);
        for n in 0..100 {
            for (number, class) in [LookupClass::Awaited, LookupClass::Open, LookupClass::Ended].into_iter().enumerate()
            {
                turns.put(class, id(u8::try_from(number).unwrap(), n));
            }
        }
        let mut now = 50 * second;
        assert_eq!(taken(&mut turns, now), [id(0, 0)], "unused turns do not add up");
        let mut of = [0; 3];
        for _ in 0..100 {
            now += GAP;
            let one = taken(&mut turns, now);
            assert_eq!(one.len(), 1);
            for (class, of) in (0..).zip(&mut of) {
                *of += usize::from(one[0].as_bytes()[15] == class);
            }
        }
        assert_eq!(of, [70, 20, 10]);
        // After a delay, at most one second is caught up.
        assert_eq!(taken(&mut turns, now + second).len(), 10);
        assert_eq!(taken(&mut turns, now + 60 * second).len(), 11);
        assert_eq!(turns.take(now + 60 * second, GAP, |_| false), Turn::Nobody);
        turns.put(LookupClass::Ended, id(2, 1));
        assert_eq!(taken(&mut turns, now + 90 * second), [id(2, 1)], "one class alone has every turn");
    }
}
