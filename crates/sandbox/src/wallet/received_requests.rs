use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::time::Duration;

use lru::LruCache;
use parking_lot::Mutex;
use tokio::sync::Notify;
use usher_protocol::PublicKey;
use usher_protocol::message::{PaymentStatus, RecurringStatus, WalletMessage};

use super::outgoing_messages::OutgoingMessage;
use super::{Reaction, ReceivedTicket, Request, RequestContent};

const CAPACITY: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9_999);

type Key = (PublicKey, String);

#[derive(Debug)]
struct Entry {
    request: Request,
    answer: Option<OutgoingMessage>,
    pending: bool,
    /// The wallet acts as if the request had never arrived.
    ignored: bool,
}

#[derive(Debug)]
struct State {
    entries: LruCache<Key, Entry>,
    fresh: VecDeque<Key>,
}

impl State {
    fn announce(&mut self, key: Key) {
        if self.fresh.len() >= CAPACITY.get() {
            self.fresh.pop_front();
        }
        self.fresh.push_back(key);
    }
}

#[derive(Debug)]
pub(super) enum Decision {
    /// The user decides.
    Ask,
    /// It replies after this pause.
    Reply(Reaction, Duration),
    /// It pays after the request has expired, without a reply.
    PayLate,
    Ignore,
}

#[derive(Debug)]
pub(super) enum Due {
    /// It is new, or not answered yet: do this.
    Decided(Decision),
    Repetition(Box<OutgoingMessage>),
    Nothing,
}

/// The requests by author and correlation id: the same id twice is one request. (To a deployed wallet each event is one.)
#[derive(Debug)]
pub(super) struct ReceivedRequests {
    state: Mutex<State>,
    came: Notify,
    by_event: bool,
}

impl ReceivedRequests {
    pub(super) fn new(by_event: bool) -> Self {
        let state = State { entries: LruCache::new(CAPACITY), fresh: VecDeque::new() };
        Self { state: Mutex::new(state), came: Notify::new(), by_event }
    }

    fn key(&self, request: &Request) -> Key {
        let id = if self.by_event { request.event.id.to_hex() } else { request.id.clone() };
        (request.from, id)
    }

    /// Adds a request that arrived, or counts a repetition. `decide`, with whether the request is new, says what to do.
    pub(super) fn take(&self, mut request: Request, decide: impl FnOnce(bool) -> Decision) -> Due {
        let key = self.key(&request);
        let mut state = self.state.lock();
        if let Some(entry) = state.entries.peek_mut(&key) {
            entry.request.times = entry.request.times.saturating_add(1);
            return match &entry.answer {
                Some(answer) => Due::Repetition(Box::new(answer.clone())),
                None if entry.pending || entry.ignored => Due::Nothing,
                None => {
                    let decision = decide(false);
                    entry.pending = !matches!(decision, Decision::Ask);
                    Due::Decided(decision)
                }
            };
        }
        let decision = decide(true);
        let ignored = matches!(decision, Decision::Ignore);
        let pending = !ignored && !matches!(decision, Decision::Ask);
        request.is_automatic = pending;
        if !ignored {
            state.announce(key.clone());
        }
        // `peek` never moves an entry, so the oldest one is evicted.
        state.entries.push(key, Entry { request, answer: None, pending, ignored });
        drop(state);
        self.came.notify_one();
        Due::Decided(decision)
    }

    pub(super) fn answered(&self, request: &Request, answer: OutgoingMessage) {
        let mut state = self.state.lock();
        if let Some(entry) = state.entries.peek_mut(&self.key(request)) {
            entry.request.failed = matches!(&answer.message, WalletMessage::PaymentResponse(response)
                if matches!(response.status, PaymentStatus::Failed { .. }));
            entry.answer = Some(answer);
            entry.pending = false;
            entry.request.answers = entry.request.answers.saturating_add(1);
        }
    }

    /// Records the result of receiving a token. With `announce`, [`Self::next`] returns the request once more.
    pub(super) fn received(&self, request: &Request, outcome: Result<ReceivedTicket, String>, announce: bool) {
        let key = self.key(request);
        let mut state = self.state.lock();
        let entry = match state.entries.peek_mut(&key) {
            Some(entry) => entry,
            None => {
                state.entries.push(
                    key.clone(),
                    Entry { request: request.clone(), answer: None, pending: false, ignored: false },
                );
                match state.entries.peek_mut(&key) {
                    Some(entry) => entry,
                    None => return,
                }
            }
        };
        entry.pending = false;
        entry.request.answers = entry.request.answers.saturating_add(1);
        if let RequestContent::Token(sent) = &mut entry.request.content {
            sent.outcome = Some(outcome);
        }
        if announce {
            state.announce(key);
            drop(state);
            self.came.notify_one();
        }
    }

    pub(super) fn is_received(&self, request: &Request) -> bool {
        let state = self.state.lock();
        state.entries.peek(&self.key(request)).is_some_and(
            |entry| matches!(&entry.request.content, RequestContent::Token(sent) if matches!(sent.outcome, Some(Ok(_)))),
        )
    }

    /// Whether the automatic reply is still due: not if the user replied first.
    pub(super) fn is_pending(&self, request: &Request) -> bool {
        let state = self.state.lock();
        state.entries.peek(&self.key(request)).is_some_and(|entry| entry.pending)
    }

    pub(super) fn is_paid(&self, request: &Request) -> bool {
        let paid = |message: &WalletMessage| match message {
            WalletMessage::PaymentConfirmation(response) => matches!(response.status, PaymentStatus::Success { .. }),
            _ => false,
        };
        self.last_answer(request, |message| paid(message).then_some(())).is_some()
    }

    pub(super) fn agreed(&self, request: &Request) -> Option<String> {
        self.last_answer(request, |message| match message {
            WalletMessage::RecurringResponse(response) => match &response.status {
                RecurringStatus::Confirmed { subscription_id, .. } => Some(subscription_id.clone()),
                RecurringStatus::Rejected { .. } => None,
            },
            _ => None,
        })
    }

    fn last_answer<T>(&self, request: &Request, read: impl Fn(&WalletMessage) -> Option<T>) -> Option<T> {
        let state = self.state.lock();
        read(&state.entries.peek(&self.key(request))?.answer.as_ref()?.message)
    }

    pub(super) fn all(&self) -> Vec<Request> {
        self.state
            .lock()
            .entries
            .iter()
            .rev()
            .filter(|(_, entry)| !entry.ignored)
            .map(|(_, entry)| entry.request.clone())
            .collect()
    }

    /// The next request that was not returned yet. Cancelling loses none.
    pub(super) async fn next(&self) -> Request {
        loop {
            let came = self.came.notified();
            if let Some(request) = self.pop() {
                return request;
            }
            came.await;
        }
    }

    fn pop(&self) -> Option<Request> {
        let mut state = self.state.lock();
        while let Some(key) = state.fresh.pop_front() {
            if let Some(entry) = state.entries.peek(&key) {
                let request = entry.request.clone();
                if !state.fresh.is_empty() {
                    // Another waiter may sleep: a permit is stored once only.
                    self.came.notify_one();
                }
                return Some(request);
            }
        }
        None
    }
}
