//! A relay's handle, shared by the pool and the relay's own task.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use usher_engine::UnixMillis;

use crate::options::RelayOptions;
use crate::proof_queue::ProofQueue;
use crate::publications::Publications;
use crate::query::{Query, QueryQueue};
use crate::relay_address::RelayAddress;
use crate::relay_status::{Origin, RelayState, RelayStatus};
use crate::send_queue::SendQueue;
use usher_nostr_connection::EndReason;
use usher_nostr_connection::address_guard::AddressSource;

/// One relay in use: its queues, its state, and the means to end its task.
#[derive(Debug)]
pub(crate) struct RelayHandle {
    pub(crate) address: RelayAddress,
    /// The engine's name for one of our relays; `None` for a user's.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) origin: Origin,
    pub(crate) source: AddressSource,
    pub(crate) queue: SendQueue,
    pub(crate) low_priority: ProofQueue,
    pub(crate) queries: QueryQueue,
    pub(crate) publications: Publications,
    /// Cancelled when the relay is no longer wanted; queued events are still sent briefly.
    pub(crate) close: CancellationToken,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    connection: RelayState,
    subscribed: bool,
    subscription_refusal: Option<String>,
    event_refusal: Option<String>,
    /// Whether the log has the relay as down.
    reported_down: bool,
    /// Connections that broke since the last healthy one.
    broken: u32,
}

/// Broken connections without a healthy one before a warning is logged.
const WARN_AFTER: u32 = 3;

/// Most bytes waiting for one relay. Copies for several relays share their memory.
const QUEUE_BYTES: usize = 8 * 1024 * 1024;

impl RelayHandle {
    pub(crate) fn new(address: RelayAddress, origin: Origin, options: &RelayOptions, stop: &CancellationToken) -> Self {
        let source = if origin == Origin::Configured || options.allow_private {
            AddressSource::Operator
        } else {
            AddressSource::User
        };
        let limits = &options.limits;
        let state = State {
            connection: RelayState::Connecting,
            subscribed: false,
            subscription_refusal: None,
            event_refusal: None,
            reported_down: false,
            broken: 0,
        };
        // A user's relay gets only the events for that user.
        let part = if origin == Origin::Configured { 1 } else { 8 };
        Self {
            name: (origin == Origin::Configured).then(|| address.as_str().into()),
            address,
            origin,
            source,
            queue: SendQueue::new(limits.queue_events / part, QUEUE_BYTES / part, options.timing.fresh_for),
            low_priority: ProofQueue::default(),
            queries: QueryQueue::default(),
            publications: Publications::default(),
            close: stop.child_token(),
            state: Mutex::new(state),
        }
    }

    pub(crate) fn status(&self) -> RelayStatus {
        let queued = self.queue.len() + self.low_priority.len();
        let state = self.state.lock();
        let refused = |what, reason: &Option<String>| reason.as_ref().map(|reason| format!("{what}: {reason}"));
        let refusals = [refused("subscription", &state.subscription_refusal), refused("events", &state.event_refusal)];
        RelayStatus {
            url: self.address.clone(),
            origin: self.origin,
            state: state.connection.clone(),
            subscribed: state.subscribed,
            refusal: refusals.into_iter().flatten().reduce(|one, other| format!("{one}; {other}")),
            queued,
        }
    }

    /// Sends the relay a query; it ends at once without a result if the relay is down.
    pub(crate) fn send_query(&self, query: Query) {
        self.queries.push(query);
        // Checked after the push: the end of a connection marks the relay as down before it clears the queries.
        if self.is_down() || self.close.is_cancelled() {
            self.queries.clear();
        }
        self.queue.wake();
    }

    /// Whether the relay is not connected and waits for the next attempt.
    pub(crate) fn is_down(&self) -> bool {
        matches!(self.state.lock().connection, RelayState::Disconnected { .. })
    }

    pub(crate) fn connected(&self, since: UnixMillis) {
        let mut state = self.state.lock();
        state.connection = RelayState::Connected { since };
        (state.subscription_refusal, state.event_refusal) = (None, None);
    }

    /// Records that there is no connection; `since` stays that of the first failure. Logs one warning.
    pub(crate) fn disconnected(&self, now: UnixMillis, reason: String) {
        let mut state = self.state.lock();
        let since = match state.connection {
            RelayState::Disconnected { since, .. } => since,
            _ => now,
        };
        let warn = !state.reported_down && self.origin == Origin::Configured;
        if warn {
            tracing::warn!(relay = %self.address, reason, "relay is down; trying again until it is back");
            state.reported_down = true;
        } else {
            tracing::debug!(relay = %self.address, reason, "relay is down");
        }
        state.connection = RelayState::Disconnected { since, reason };
        state.subscribed = false;
    }

    /// Records that a working connection broke and is renewed at once. Logs a warning only after repeated breaks.
    pub(crate) fn reconnecting(&self, reason: &EndReason) {
        let mut state = self.state.lock();
        state.connection = RelayState::Connecting;
        state.subscribed = false;
        state.broken = state.broken.saturating_add(1);
        if state.broken >= WARN_AFTER && !state.reported_down && self.origin == Origin::Configured {
            tracing::warn!(
                relay = %self.address,
                %reason,
                "connections to the relay keep breaking; each is renewed at once, but messages that wallets send in \
                 between may be lost: configure another relay beside it"
            );
            state.reported_down = true;
        } else {
            tracing::debug!(relay = %self.address, %reason, "the connection broke; connecting again at once");
        }
    }

    pub(crate) fn healthy(&self) {
        let mut state = self.state.lock();
        state.broken = 0;
        if std::mem::take(&mut state.reported_down) {
            tracing::warn!(relay = %self.address, "relay is back");
        }
    }

    /// Records that the relay serves our subscription, or why it refuses.
    pub(crate) fn subscription_refused(&self, refusal: Option<String>) {
        let mut state = self.state.lock();
        (state.subscribed, state.subscription_refusal) = (refusal.is_none(), refusal);
    }

    /// Records that the relay accepts our events, or why it refuses.
    pub(crate) fn events_refused(&self, refusal: Option<String>) {
        self.state.lock().event_refusal = refusal;
    }
}
