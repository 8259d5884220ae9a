//! Running and waiting requests, by mint, so that an unresponsive mint delays only its own.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;

use crate::StreamId;
use crate::machine::TicketCall;

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) of_one_mint: usize,
    pub(super) running: usize,
    pub(super) waiting: usize,
}

pub(super) enum Entry {
    Run(TicketCall),
    Waiting,
    Full(TicketCall),
}

pub(super) struct Lanes {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    lanes: HashMap<String, Lane>,
    running: usize,
    waiting: usize,
}

#[derive(Default)]
struct Lane {
    running: usize,
    waiting: VecDeque<(StreamId, TicketCall)>,
}

impl Lanes {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, state: Mutex::default() }
    }

    pub(super) fn enter(&self, id: StreamId, call: TicketCall) -> Entry {
        let Limits { of_one_mint, running, waiting } = self.limits;
        let state = &mut *self.state.lock();
        let busy = state.lanes.get(call.mint_url()).map_or(0, |lane| lane.running);
        if busy < of_one_mint && state.running < running {
            state.lanes.entry(call.mint_url().to_owned()).or_default().running += 1;
            state.running += 1;
            return Entry::Run(call);
        }
        if state.waiting >= waiting {
            return Entry::Full(call);
        }
        state.waiting += 1;
        let lane = state.lanes.entry(call.mint_url().to_owned()).or_default();
        lane.waiting.push_back((id, call));
        Entry::Waiting
    }

    /// Ends a request to this mint; returns the next one, of the mint with the fewest running requests.
    pub(super) fn leave(&self, mint_url: &str) -> Option<(StreamId, TicketCall)> {
        let state = &mut *self.state.lock();
        state.running = state.running.saturating_sub(1);
        if let Some(lane) = state.lanes.get_mut(mint_url) {
            lane.running = lane.running.saturating_sub(1);
            if lane.running == 0 && lane.waiting.is_empty() {
                state.lanes.remove(mint_url);
            }
        }
        let free = |lane: &&mut Lane| !lane.waiting.is_empty() && lane.running < self.limits.of_one_mint;
        let lane = state.lanes.values_mut().filter(free).min_by_key(|lane| lane.running)?;
        let next = lane.waiting.pop_front()?;
        lane.running += 1;
        state.running += 1;
        state.waiting = state.waiting.saturating_sub(1);
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::Token;

    fn check(mint: usize) -> TicketCall {
        TicketCall::CheckState { token: Token("cashuB".to_owned()), mint_url: format!("https://{mint}.example") }
    }

    fn stream(n: usize) -> StreamId {
        StreamId::from_parts(n as u64, [0; 10])
    }

    fn enters(lanes: &Lanes, n: usize, mint: usize) -> &'static str {
        match lanes.enter(stream(n), check(mint)) {
            Entry::Run(_) => "runs",
            Entry::Waiting => "waits",
            Entry::Full(_) => "full",
        }
    }

    #[test]
    fn calls_to_one_mint_wait_for_each_other_and_for_nobody_else() {
        let lanes = Lanes::new(Limits { of_one_mint: 2, running: 10, waiting: 3 });
        let entered = [(1, 1), (2, 1), (3, 1), (4, 1), (5, 2)].map(|(n, mint)| enters(&lanes, n, mint));
        assert_eq!(entered, ["runs", "runs", "waits", "waits", "runs"]);
        assert!(lanes.leave("https://2.example").is_none(), "the first mint is busy");
        assert_eq!(lanes.leave("https://1.example").unwrap().0, stream(3), "in their order");
        assert_eq!(["waits", "waits", "full"], [6, 7, 8].map(|n| enters(&lanes, n, 1)));
    }

    #[test]
    fn when_all_places_are_taken_the_mint_with_the_fewest_is_next() {
        let lanes = Lanes::new(Limits { of_one_mint: 3, running: 4, waiting: 10 });
        let entered = [(1, 1), (2, 1), (3, 1), (4, 2), (5, 1), (6, 2), (7, 3)].map(|(n, mint)| enters(&lanes, n, mint));
        assert_eq!(entered, ["runs", "runs", "runs", "runs", "waits", "waits", "waits"]);
        assert_eq!(lanes.leave("https://1.example").unwrap().0, stream(7));
        assert_eq!(lanes.leave("https://3.example").unwrap().0, stream(6));
        assert_eq!(lanes.leave("https://1.example").unwrap().0, stream(5));
        for left in ["https://1.example", "https://1.example", "https://2.example", "https://2.example"] {
            assert!(lanes.leave(left).is_none());
        }
        assert!(lanes.state.lock().lanes.is_empty(), "nothing is left of mints that nobody asks");
    }
}
