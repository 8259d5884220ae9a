//! The questions that are open on this connection.

use std::collections::{BTreeMap, VecDeque};

use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::question::{Question, Questions};

/// Most questions open at a time. With the subscription that lasts these are 9; relays allow 20, some 10.
const MOST_OPEN: usize = 8;

/// The beginning of the ids of questions; a number follows.
const PREFIX: &str = "q";

/// Open questions, by the number in their subscription's id.
#[derive(Debug, Default)]
pub(super) struct Asking {
    open: BTreeMap<u64, Question>,
    /// The relay wants to know who we are first.
    parked: Vec<Question>,
    asked: u64,
}

impl Asking {
    /// Asks what waits, as far as there is room, and gives up what nobody waits for any more. Says when to look again.
    pub(super) fn tick(
        &mut self,
        waiting: &Questions,
        now: Instant,
        frames: &mut VecDeque<Utf8Bytes>,
    ) -> Option<Instant> {
        let over: Vec<_> = self.open.iter().filter(|(_, q)| q.is_over(now)).map(|(number, _)| *number).collect();
        for number in over {
            self.open.remove(&number);
            frames.push_back(close(number));
        }
        self.parked.retain(|question| !question.is_over(now));
        while self.open.len() + self.parked.len() < MOST_OPEN {
            let Some(question) = waiting.pop(now) else { break };
            self.ask(question, frames);
        }
        self.open.values().chain(&self.parked).map(Question::until).min()
    }

    /// Whether `subscription` is one of these, open or not any more.
    pub(super) fn owns(&self, subscription: &str) -> bool {
        number(subscription).is_some_and(|number| number < self.asked)
    }

    /// The relay delivers an event.
    pub(super) fn event(&mut self, subscription: &str, event: &RawValue, frames: &mut VecDeque<Utf8Bytes>) {
        let Some(number) = number(subscription) else { return };
        if self.open.get_mut(&number).is_some_and(|question| !question.take(event)) {
            self.end(number, frames);
        }
    }

    /// The relay has said what it has.
    pub(super) fn end_of_stored(&mut self, subscription: &str, frames: &mut VecDeque<Utf8Bytes>) {
        let Some(number) = number(subscription) else { return };
        self.end(number, frames);
    }

    /// The relay does not answer; `later` when it may after authentication.
    pub(super) fn closed(&mut self, subscription: &str, later: bool) {
        let question = number(subscription).and_then(|number| self.open.remove(&number));
        self.parked.extend(question.filter(|_| later));
    }

    /// The relay knows who we are, or will not.
    pub(super) fn authenticated(&mut self, accepted: bool, frames: &mut VecDeque<Utf8Bytes>) {
        for question in std::mem::take(&mut self.parked) {
            if accepted {
                self.ask(question, frames);
            }
        }
    }

    fn ask(&mut self, question: Question, frames: &mut VecDeque<Utf8Bytes>) {
        frames.push_back(question.request(&format!("{PREFIX}{}", self.asked)));
        self.open.insert(self.asked, question);
        self.asked += 1;
    }

    fn end(&mut self, number: u64, frames: &mut VecDeque<Utf8Bytes>) {
        if let Some(question) = self.open.remove(&number) {
            question.answered();
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
