//! The queries open on one connection.

use std::collections::{BTreeMap, VecDeque};

use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::query::{Query, QueryQueue};

/// Most queries open at a time. With the long-lived subscription these are 9; most relays allow 20, some 10.
const MAX_OPEN: usize = 8;

/// The ids of query subscriptions: this prefix and a number.
const PREFIX: &str = "q";

/// Open queries, keyed by the number in the subscription id.
#[derive(Debug)]
pub(crate) struct OpenQueries {
    open: BTreeMap<u64, Query>,
    /// Waiting for authentication.
    parked: Vec<Query>,
    /// Refused while others were open; sent again when fewer are open.
    again: VecDeque<Query>,
    /// How many concurrent queries this relay seems to allow.
    most: usize,
    asked: u64,
}

impl OpenQueries {
    pub(crate) fn new() -> Self {
        Self { open: BTreeMap::new(), parked: Vec::new(), again: VecDeque::new(), most: MAX_OPEN, asked: 0 }
    }

    /// Sends waiting queries while there is room, and drops those without a waiting caller. Returns when to call again.
    pub(crate) fn tick(
        &mut self,
        waiting: &QueryQueue,
        now: Instant,
        frames: &mut VecDeque<Utf8Bytes>,
    ) -> Option<Instant> {
        let over: Vec<_> = self.open.iter().filter(|(_, q)| q.is_over(now)).map(|(number, _)| *number).collect();
        for number in over {
            self.open.remove(&number);
            frames.push_back(close(number));
        }
        self.parked.retain(|query| !query.is_over(now));
        self.again.retain(|query| !query.is_over(now));
        while self.open.len() + self.parked.len() < self.most {
            let Some(query) = self.again.pop_front().or_else(|| waiting.pop(now)) else { break };
            self.ask(query, frames);
        }
        self.open.values().chain(&self.parked).chain(&self.again).map(Query::until).min()
    }

    /// Whether `subscription` is a query's, open or closed.
    pub(crate) fn has(&self, subscription: &str) -> bool {
        number(subscription).is_some_and(|number| number < self.asked)
    }

    /// Handles an event; false when no open query requested it.
    pub(crate) fn event(&mut self, subscription: &str, event: &RawValue, frames: &mut VecDeque<Utf8Bytes>) -> bool {
        let Some(number) = number(subscription) else { return false };
        let Some(query) = self.open.get_mut(&number) else { return false };
        if !query.take(event) {
            self.end(number, frames);
        }
        true
    }

    /// Handles `EOSE`.
    pub(crate) fn end_of_stored(&mut self, subscription: &str, frames: &mut VecDeque<Utf8Bytes>) {
        let Some(number) = number(subscription) else { return };
        self.end(number, frames);
    }

    /// Handles `CLOSED`; `later` when the relay may serve the query after authentication. A relay that closes one of
    /// several may allow fewer at a time, for which there is no standard text: the limit is lowered and the query sent
    /// again.
    pub(crate) fn closed(&mut self, subscription: &str, later: bool) {
        let Some(query) = number(subscription).and_then(|number| self.open.remove(&number)) else { return };
        if later {
            self.parked.push(query);
        } else if !self.open.is_empty() {
            self.most = self.open.len();
            self.again.push_back(query);
        }
    }

    /// Handles the result of our authentication.
    pub(crate) fn authenticated(&mut self, accepted: bool, frames: &mut VecDeque<Utf8Bytes>) {
        for query in std::mem::take(&mut self.parked) {
            if accepted {
                self.ask(query, frames);
            }
        }
    }

    fn ask(&mut self, query: Query, frames: &mut VecDeque<Utf8Bytes>) {
        frames.push_back(query.request(&format!("{PREFIX}{}", self.asked)));
        self.open.insert(self.asked, query);
        self.asked += 1;
    }

    fn end(&mut self, number: u64, frames: &mut VecDeque<Utf8Bytes>) {
        if let Some(query) = self.open.remove(&number) {
            query.answered();
            frames.push_back(close(number));
        }
    }
}

fn number(subscription: &str) -> Option<u64> {
    subscription.strip_prefix(PREFIX)?.parse().ok()
}

fn close(number: u64) -> Utf8Bytes {
    json!(["CLOSE", format!("{PREFIX}{number}")]).to_string().into()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nostr::Keys;
    use tokio::sync::mpsc::{self, UnboundedReceiver};

    use super::*;
    use crate::query::QueryReply;

    struct Relay {
        open_queries: OpenQueries,
        waiting: QueryQueue,
        replies: UnboundedReceiver<QueryReply>,
        frames: VecDeque<Utf8Bytes>,
        now: Instant,
    }

    fn with(queries: usize) -> Relay {
        let (sender, replies) = mpsc::unbounded_channel();
        let (waiting, now) = (QueryQueue::default(), Instant::now());
        let author = Keys::generate().public_key();
        for number in 0..queries {
            waiting.push(Query::new(number, author, &[0], now + Duration::from_secs(5), sender.clone()));
        }
        Relay { open_queries: OpenQueries::new(), waiting, replies, frames: VecDeque::new(), now }
    }

    impl Relay {
        fn tick(&mut self) -> Vec<String> {
            self.open_queries.tick(&self.waiting, self.now, &mut self.frames);
            let frames = self.frames.drain(..);
            frames.map(|frame| frame.split('"').take(4).collect::<Vec<_>>().join("").replace(['[', ','], "")).collect()
        }

        fn ended(&mut self) -> Vec<(usize, bool)> {
            std::iter::from_fn(|| self.replies.try_recv().ok())
                .filter_map(|reply| match reply {
                    QueryReply::End { relay, answered } => Some((relay, answered)),
                    QueryReply::Event(_) => None,
                })
                .collect()
        }
    }

    #[test]
    fn concurrent_queries_are_limited_and_closed_when_complete() {
        let mut relay = with(MAX_OPEN + 2);
        assert_eq!(relay.tick().len(), MAX_OPEN);
        assert!(relay.tick().is_empty());
        relay.open_queries.end_of_stored("q3", &mut relay.frames);
        assert_eq!(relay.tick(), ["CLOSEq3", "REQq8"]);
        assert_eq!(relay.ended(), [(3, true)]);
        relay.open_queries.end_of_stored("q3", &mut relay.frames);
        relay.open_queries.end_of_stored("q77", &mut relay.frames);
        relay.open_queries.end_of_stored("usher", &mut relay.frames);
        assert!(relay.tick().is_empty());
        assert!(relay.open_queries.has("q3") && !relay.open_queries.has("q9") && !relay.open_queries.has("usher"));
        drop(relay.open_queries);
        relay.waiting.clear();
        assert_eq!(std::iter::from_fn(|| relay.replies.try_recv().ok()).count(), MAX_OPEN + 1, "all of them end");
    }

    #[test]
    fn a_query_ends_at_its_deadline() {
        let mut relay = with(2);
        assert_eq!(relay.tick().len(), 2);
        relay.now += Duration::from_secs(5);
        assert_eq!(relay.tick(), ["CLOSEq0", "CLOSEq1"]);
        assert_eq!(relay.ended(), [(0, false), (1, false)]);
        let raw = RawValue::from_string("{}".to_owned()).unwrap();
        assert!(!relay.open_queries.event("q0", &raw, &mut relay.frames), "too late");
    }

    #[test]
    fn concurrency_adapts_to_the_relays_limit() {
        let mut relay = with(5);
        assert_eq!(relay.tick().len(), 5);
        for refused in ["q3", "q4"] {
            relay.open_queries.closed(refused, false);
        }
        assert!(relay.tick().is_empty(), "three are open");
        relay.open_queries.end_of_stored("q0", &mut relay.frames);
        assert_eq!(relay.tick(), ["CLOSEq0", "REQq5"]);
        for number in [1, 2, 5] {
            relay.open_queries.end_of_stored(&format!("q{number}"), &mut relay.frames);
        }
        assert_eq!(relay.tick().last().unwrap(), "REQq6");
        relay.open_queries.closed("q6", false);
        assert_eq!(relay.ended(), [(0, true), (1, true), (2, true), (3, true), (4, false)], "refused alone is refused");
    }

    #[test]
    fn queries_are_resent_after_authentication_or_end() {
        for (accepted, frames) in [(true, vec!["REQq2", "REQq3"]), (false, vec![])] {
            let mut relay = with(2);
            relay.tick();
            relay.open_queries.closed("q0", true);
            relay.open_queries.closed("q1", true);
            assert!(relay.tick().is_empty());
            relay.open_queries.authenticated(accepted, &mut relay.frames);
            assert_eq!(relay.tick(), frames);
            assert_eq!(relay.ended().len(), if accepted { 0 } else { 2 });
        }
    }

    #[test]
    fn query_ends_after_too_many_events() {
        let mut relay = with(1);
        relay.tick();
        let raw = RawValue::from_string("{}".to_owned()).unwrap();
        let taken = (0..100).filter(|_| relay.open_queries.event("q0", &raw, &mut relay.frames)).count();
        assert!(taken < 10, "{taken}");
        assert_eq!(relay.tick(), ["CLOSEq0"]);
    }
}
