//! The protocol on one connection (NIP-01, NIP-42), without I/O: a state machine that takes the relay's messages and
//! returns ours.
//!
//! States of the relay subscription:
//!
//! | state | left when |
//! | --- | --- |
//! | `Requested` | the relay confirms it (`EOSE`) or closes it; after a time-out it is assumed to be open |
//! | `Open` | the relay closes it, or another replaces it |
//! | `AwaitAuth`: the relay requires authentication | it accepts ours, or a time-out: requested again |
//! | `Closed`: the relay closed it | the pause is over: requested again |
//!
//! Each request has its own id, so that late messages about an earlier one have no effect. An open one is closed only
//! after its replacement is open, so nothing is missed.
//!
//! No state waits for an `OK`: a refusal can only make the owner send an event again.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::Duration;

use nostr::EventId;
use serde_json::json;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::authentication::Authentication;
use super::options::{OnRefusal, SessionOptions};
use super::received::{Received, Verdict};
use super::unacknowledged_events::UnacknowledgedEvents;
use crate::backoff::Backoff;
use crate::relay_message::{Prefix, RelayMessage};

/// The wall clock was set back if it shows a time this many seconds before that of our subscription.
const SET_BACK_SECS: u64 = 60;

/// A relay subscription that was open for this long is soon requested again when the relay closes it.
const LASTED: Duration = Duration::from_secs(30);

/// Most refusals, and most challenges, on a connection with [`OnRefusal::End`].
const MAX_REFUSALS: u32 = 10;

/// The state of the protocol on one connection.
pub struct Protocol<E> {
    options: SessionOptions,
    subscription: Subscription,
    requested: u64,
    requested_at: Instant,
    /// The wall clock at that time, in Unix seconds.
    requested_on: u64,
    /// An open relay subscription that the last request replaces.
    replaced: Option<u64>,
    outdated: bool,
    resubscribe: Backoff,
    authentication: Authentication,
    unacknowledged: UnacknowledgedEvents<E>,
    /// Events are held back until this time, or until the result of our authentication.
    hold_until: Option<Instant>,
    refusals: u32,
    /// Messages sent before any event: `REQ`, `CLOSE`, `AUTH`.
    first: VecDeque<Utf8Bytes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subscription {
    Requested,
    Open,
    AwaitAuth {
        until: Instant,
    },
    Closed {
        until: Instant,
    },
    /// The connection must end.
    Refused,
}

impl<E> Protocol<E> {
    /// Starts with the relay subscription.
    pub fn new(options: SessionOptions, now: Instant) -> Self {
        let mut protocol = Self {
            resubscribe: Backoff::new(options.timing.resubscribe_first, options.timing.resubscribe_longest),
            unacknowledged: UnacknowledgedEvents::new(options.timing.acknowledge_within),
            options,
            subscription: Subscription::Closed { until: now },
            requested: 0,
            requested_at: now,
            requested_on: 0,
            replaced: None,
            outdated: false,
            authentication: Authentication::new(now),
            hold_until: None,
            refusals: 0,
            first: VecDeque::new(),
        };
        protocol.request(now);
        protocol
    }

    /// Handles a message of the relay.
    pub fn receive<'t>(&mut self, text: &'t str, now: Instant) -> Received<'t, E> {
        let Some(message) = RelayMessage::parse(text) else { return Received::Invalid };
        match message {
            RelayMessage::Event { ref subscription, event } if self.number(subscription).is_some() => {
                return Received::Event(event);
            }
            RelayMessage::EndOfStored { ref subscription } if let Some(number) = self.number(subscription) => {
                if number == self.requested && self.subscription == Subscription::Requested {
                    self.open();
                    return Received::Subscribed;
                }
            }
            RelayMessage::Closed { ref subscription, ref text } if let Some(number) = self.number(subscription) => {
                if self.closed(number, text, now) {
                    return Received::Closed(text.clone());
                }
            }
            RelayMessage::Ok { event_id, accepted, text } => {
                let Ok(id) = EventId::from_hex(&event_id) else { return Received::Invalid };
                return self.acknowledged(id, accepted, text, now);
            }
            RelayMessage::Auth { challenge } => self.challenged(&challenge, now),
            RelayMessage::Notice { text } => return Received::Notice(text),
            other => return Received::Other(other),
        }
        Received::Handled
    }

    /// Does what is due. Returns when something is due next, and whether the relay subscription was assumed to be open.
    pub fn tick(&mut self, now: Instant) -> (Option<Instant>, bool) {
        let confirm_at = self.options.timing.confirm_within.map(|within| self.requested_at + within);
        match self.subscription {
            Subscription::Requested if confirm_at.is_some_and(|at| at <= now) => {
                self.open();
                return (Some(now), true);
            }
            Subscription::AwaitAuth { until } if until <= now => match self.options.timing.on_refusal {
                OnRefusal::End if !self.authentication.is_pending() => self.subscription = Subscription::Refused,
                // A relay that did not reply to our authentication may have accepted it.
                OnRefusal::End | OnRefusal::RetryAfter(_) => self.request(now),
            },
            Subscription::Closed { until } if until <= now => self.request(now),
            Subscription::Open if std::mem::take(&mut self.outdated) => self.request(now),
            // Otherwise the relay would withhold events dated before our subscription.
            Subscription::Requested | Subscription::Open
                if (self.options.unix_time)().saturating_add(SET_BACK_SECS) < self.requested_on =>
            {
                self.request(now);
            }
            _ => {}
        }
        if self.is_served() && now.saturating_duration_since(self.requested_at) > LASTED {
            self.resubscribe.reset();
        }
        self.hold_until = self.hold_until.filter(|until| *until > now);
        let waiting = match self.subscription {
            Subscription::Requested => self.options.timing.confirm_within.map(|within| self.requested_at + within),
            Subscription::AwaitAuth { until } | Subscription::Closed { until } => Some(until),
            Subscription::Open | Subscription::Refused => None,
        };
        (waiting.into_iter().chain(self.hold_until).min(), false)
    }

    /// Requests a new relay subscription after a change of the filters, once the current request is open.
    pub fn renew(&mut self) {
        self.outdated = true;
    }

    /// Whether a relay subscription is open, as far as is known.
    pub fn is_open(&self) -> bool {
        self.subscription == Subscription::Open || self.replaced.is_some()
    }

    /// Whether a relay subscription is requested or open.
    pub const fn is_served(&self) -> bool {
        matches!(self.subscription, Subscription::Requested | Subscription::Open)
    }

    /// Whether the relay refuses us and the connection must end ([`OnRefusal::End`]).
    pub fn is_refused(&self) -> bool {
        self.subscription == Subscription::Refused
    }

    /// Whether the relay has replied to our last authentication.
    pub const fn is_authentication_settled(&self) -> bool {
        self.authentication.is_settled()
    }

    /// Messages sent before any event, for the owner's other relay subscriptions.
    pub const fn first(&mut self) -> &mut VecDeque<Utf8Bytes> {
        &mut self.first
    }

    /// Whether events may be sent: not while the relay waits for our authentication.
    pub fn may_publish(&self, now: Instant) -> bool {
        self.hold_until.is_none_or(|until| until <= now)
    }

    /// Records that an event is being sent, in a message of this many bytes.
    pub fn sent(&mut self, id: EventId, bytes: usize, event: E, now: Instant) {
        self.unacknowledged.sent(id, bytes, event, now);
    }

    /// After a broken connection: the events that may have been lost, oldest first.
    pub fn lost(self, now: Instant) -> Vec<E> {
        self.unacknowledged.lost(now)
    }

    fn request(&mut self, now: Instant) {
        match self.subscription {
            Subscription::Requested => self.close(self.requested),
            Subscription::Open => self.replaced = Some(self.requested),
            Subscription::AwaitAuth { .. } | Subscription::Closed { .. } | Subscription::Refused => {}
        }
        self.requested += 1;
        self.requested_at = now;
        self.requested_on = (self.options.unix_time)();
        self.outdated = false;
        let mut request = vec![json!("REQ"), json!(self.id(self.requested))];
        request.extend((self.options.filters)(self.requested_on).iter().map(|filter| json!(filter)));
        self.first.push_back(json!(request).to_string().into());
        self.subscription = Subscription::Requested;
    }

    fn open(&mut self) {
        self.subscription = Subscription::Open;
        if let Some(replaced) = self.replaced.take() {
            self.close(replaced);
        }
    }

    fn close(&mut self, number: u64) {
        self.first.push_back(json!(["CLOSE", self.id(number)]).to_string().into());
    }

    fn id(&self, number: u64) -> String {
        if number == 1 {
            self.options.subscription.to_owned()
        } else {
            format!("{}{number}", self.options.subscription)
        }
    }

    fn number(&self, id: &str) -> Option<u64> {
        let number = match id.strip_prefix(self.options.subscription)? {
            "" => 1,
            number => number.parse().ok()?,
        };
        (number <= self.requested).then_some(number)
    }

    /// Handles a closed relay subscription; false if it is not the current one.
    fn closed(&mut self, number: u64, text: &str, now: Instant) -> bool {
        self.replaced = self.replaced.filter(|replaced| *replaced != number);
        if number != self.requested || !self.is_served() {
            return false;
        }
        let pause = self.resubscribe.next_pause();
        match Prefix::of(text) {
            Prefix::AuthRequired if !self.authentication.is_settled() => {
                self.subscription = Subscription::AwaitAuth { until: now + self.options.timing.auth_within.max(pause) };
            }
            // Permanent, but the rules of relays can change.
            Prefix::AuthRequired | Prefix::NotForUs => self.refused(now),
            Prefix::RateLimited | Prefix::Duplicate | Prefix::Other => {
                self.subscription = Subscription::Closed { until: now + pause };
            }
        }
        self.count_refusal();
        true
    }

    /// Handles a relay that refuses to serve us.
    fn refused(&mut self, now: Instant) {
        self.subscription = match self.options.timing.on_refusal {
            OnRefusal::End => Subscription::Refused,
            OnRefusal::RetryAfter(pause) => Subscription::Closed { until: now + pause },
        };
    }

    fn count_refusal(&mut self) {
        self.refusals = self.refusals.saturating_add(1);
        if self.refusals > MAX_REFUSALS && matches!(self.options.timing.on_refusal, OnRefusal::End) {
            self.subscription = Subscription::Refused;
        }
    }

    fn challenged(&mut self, challenge: &str, now: Instant) {
        let SessionOptions { keys, relay, unix_time, .. } = &self.options;
        if let Some(message) = self.authentication.respond(keys, relay, challenge, unix_time(), now) {
            self.first.push_back(message);
        }
        self.count_refusal();
    }

    fn acknowledged<'t>(&mut self, id: EventId, accepted: bool, text: Cow<'t, str>, now: Instant) -> Received<'t, E> {
        if self.authentication.settle(id) {
            self.hold_until = None;
            if accepted {
                // Even if it is open: some relays show some events only to authenticated clients.
                self.request(now);
            } else if matches!(self.subscription, Subscription::AwaitAuth { .. }) {
                self.refused(now);
            }
            return Received::Authenticated { accepted, text };
        }
        let verdict = match Prefix::of(&text) {
            Prefix::Duplicate => Verdict::Accepted,
            _ if accepted => Verdict::Accepted,
            Prefix::RateLimited => Verdict::RateLimited,
            Prefix::AuthRequired if !self.authentication.is_settled() => Verdict::AuthRequired,
            Prefix::AuthRequired | Prefix::NotForUs | Prefix::Other => Verdict::Refused,
        };
        let sent = self.unacknowledged.take(id);
        if verdict == Verdict::AuthRequired && sent.is_some() {
            self.hold_until = Some(now + self.options.timing.auth_within);
        }
        Received::Acknowledged { id, verdict, text, sent }
    }
}

#[cfg(test)]
mod tests;
