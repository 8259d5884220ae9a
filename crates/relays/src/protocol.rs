//! The protocol on one connection (NIP-01, NIP-42), without the connection: a state machine that takes the relay's
//! messages and returns ours.
//!
//! States of the relay subscription:
//!
//! | state | left when |
//! | --- | --- |
//! | `Open`: requested | the relay closes it |
//! | `AwaitAuth`: the relay requires authentication | it accepts ours, or does not in time: requested again |
//! | `Closed`: the relay closed it | the pause is over: requested again |
//!
//! No state waits for an `OK`: an acknowledgement can only make us send an event again.

mod authentication;
mod open_queries;
mod refusals;
mod unacknowledged_events;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use nostr::{Filter, Kind, SubscriptionId, Timestamp};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use usher_engine::UnixMillis;
use usher_engine::ports::Clock;
use usher_nostr_connection::{Backoff, printable};
use usher_protocol::{EventId, kind};

use crate::identity::Identity;
use crate::metrics::{Metrics, add};
use crate::options::RelayOptions;
use crate::publications::Publication;
use crate::relay_handle::RelayHandle;
use crate::relay_message::{Prefix, RelayMessage};
use crate::send_queue::Outgoing;
use crate::send_rate::SendRate;
use authentication::Authentication;
use open_queries::OpenQueries;
use refusals::Refusals;
use unacknowledged_events::UnacknowledgedEvents;

/// The id of our long-lived subscription. Ids are per connection, so it need not be unique.
const SUBSCRIPTION: &str = "usher";

/// The machine's clock was set back when it shows a time this much before that of our subscription.
const SET_BACK: Duration = Duration::from_secs(60);

/// How long a relay that limited our rate for a low-priority event gets none.
const NO_LOW_PRIORITY_FOR: Duration = Duration::from_secs(60);

/// How often an event is sent to one relay at most.
const MAX_ATTEMPTS: u8 = 4;

/// The state of the protocol on one connection.
pub(crate) struct Protocol<'a> {
    handle: &'a RelayHandle,
    options: &'a RelayOptions,
    metrics: &'a Metrics,
    clock: Arc<dyn Clock>,
    subscription: Subscription,
    resubscribe: Backoff,
    subscribed_at: Instant,
    /// What the machine's clock showed then.
    subscribed_on: UnixMillis,
    authentication: Authentication,
    open_queries: OpenQueries,
    unacknowledged: UnacknowledgedEvents,
    refusals: Refusals,
    send_rate: SendRate,
    /// Events are held back until then, or until the relay has accepted our authentication.
    hold_until: Option<Instant>,
    /// Messages that go before any event: `REQ`, `AUTH`.
    first: VecDeque<Utf8Bytes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subscription {
    Open,
    AwaitAuth { until: Instant },
    Closed { until: Instant },
}

/// What a message means for the caller.
#[derive(Debug)]
pub(crate) enum Received<'a> {
    /// An event of our subscription.
    Event(&'a RawValue),
    /// A protocol message, handled here.
    Protocol,
    /// Not a valid message.
    Invalid,
    /// An event or message that was not requested.
    NotAsked,
}

impl<'a> Protocol<'a> {
    /// Starts with the subscription.
    pub(crate) fn begin(
        handle: &'a RelayHandle,
        options: &'a RelayOptions,
        metrics: &'a Metrics,
        clock: Arc<dyn Clock>,
        now: Instant,
    ) -> Self {
        let timing = &options.timing;
        let mut protocol = Self {
            handle,
            options,
            metrics,
            subscribed_on: clock.now(),
            clock,
            subscription: Subscription::Open,
            resubscribe: Backoff::new(timing.resubscribe_first, options.connection.reconnect_longest),
            subscribed_at: now,
            authentication: Authentication::new(now),
            open_queries: OpenQueries::new(),
            unacknowledged: UnacknowledgedEvents::default(),
            refusals: Refusals::default(),
            send_rate: SendRate::new(timing.rate_limit_pause, options.connection.reconnect_longest, now),
            hold_until: None,
            first: VecDeque::new(),
        };
        protocol.subscribe(now);
        handle.publications.begin();
        handle.queue.drop_copies();
        protocol
    }

    /// Handles a message of the relay.
    pub(crate) fn receive<'t>(&mut self, text: &'t str, now: Instant) -> Received<'t> {
        let Some(frame) = RelayMessage::parse(text) else { return Received::Invalid };
        match frame {
            RelayMessage::Event { subscription, event } if subscription == SUBSCRIPTION => {
                return Received::Event(event);
            }
            RelayMessage::Event { subscription, event } if self.open_queries.has(&subscription) => {
                if !self.open_queries.event(&subscription, event, &mut self.first) {
                    return Received::NotAsked;
                }
            }
            RelayMessage::Event { .. } => return Received::NotAsked,
            RelayMessage::Ok { event_id, accepted, text } => {
                let Ok(id) = EventId::from_hex(&event_id) else { return Received::Invalid };
                return self.on_ok(id, accepted, &text, now);
            }
            RelayMessage::EndOfStored { subscription } if subscription == SUBSCRIPTION => self.confirmed(),
            RelayMessage::Closed { subscription, text } if subscription == SUBSCRIPTION => self.on_closed(&text, now),
            RelayMessage::EndOfStored { subscription } if self.open_queries.has(&subscription) => {
                self.open_queries.end_of_stored(&subscription, &mut self.first);
            }
            RelayMessage::Closed { subscription, text } if self.open_queries.has(&subscription) => {
                let later = Prefix::of(&text) == Prefix::AuthRequired && !self.authentication.is_settled();
                self.open_queries.closed(&subscription, later);
            }
            RelayMessage::Notice { text } => self.on_notice(&text, now),
            RelayMessage::Auth { challenge } => self.on_challenge(&challenge, now),
            RelayMessage::EndOfStored { .. } | RelayMessage::Closed { .. } | RelayMessage::Other => {
                return Received::NotAsked;
            }
        }
        Received::Protocol
    }

    /// The relay serves our subscription.
    pub(crate) fn confirmed(&mut self) {
        if self.subscription == Subscription::Open {
            self.refusals.subscription(self.handle, None);
        }
    }

    /// Does what is due, and returns when something is due next, besides new events.
    pub(crate) fn tick(&mut self, now: Instant) -> Option<Instant> {
        if let Subscription::AwaitAuth { until } | Subscription::Closed { until } = self.subscription
            && until <= now
        {
            self.subscribe(now);
        }
        // Otherwise the relay would withhold events that wallets make before the time of our subscription.
        if self.subscription == Subscription::Open && self.clock.now().plus(SET_BACK) < self.subscribed_on {
            self.subscribe(now);
        }
        if self.subscription == Subscription::Open
            && now.saturating_duration_since(self.subscribed_at) > self.options.connection.healthy_after
        {
            self.resubscribe.reset();
        }
        self.hold_until = self.hold_until.filter(|until| *until > now);
        for Publication { id, frame } in self.handle.publications.take_due() {
            let dropped = self.handle.queue.push(Outgoing { id, user: None, frame, made: now, attempts: 0 });
            self.metrics.dropped.fetch_add(dropped, std::sync::atomic::Ordering::Relaxed);
        }
        let open_queries = self.open_queries.tick(&self.handle.queries, now, &mut self.first);
        let waiting = match self.subscription {
            Subscription::AwaitAuth { until } | Subscription::Closed { until } => Some(until),
            Subscription::Open => None,
        };
        let nothing = self.handle.queue.is_empty() && self.handle.low_priority.is_empty();
        let paced = if nothing { None } else { self.send_rate.wait_until(now) };
        [waiting, self.hold_until, paced, self.held_until(now), open_queries].into_iter().flatten().min()
    }

    /// Whether there is a message to send now.
    pub(crate) fn has_message(&mut self, now: Instant) -> bool {
        !self.first.is_empty()
            || (self.may_send(now) && (self.handle.queue.has_ready(now) || !self.handle.low_priority.is_empty()))
    }

    /// When the next message is due if nothing new is queued: events may be held back for a moment.
    pub(crate) fn held_until(&self, now: Instant) -> Option<Instant> {
        self.handle.queue.held_until().filter(|at| *at > now)
    }

    /// The next message to send.
    pub(crate) fn next_message(&mut self, now: Instant) -> Option<Utf8Bytes> {
        if let Some(frame) = self.first.pop_front() {
            return Some(frame);
        }
        if !self.may_send(now) {
            return None;
        }
        let (event, dropped) = self.handle.queue.pop(now);
        self.count_dropped(dropped);
        let Some(mut event) = event else {
            let frame = self.handle.low_priority.pop()?;
            self.send_rate.sent(now);
            add(&self.metrics.sent);
            return Some(frame);
        };
        event.attempts = event.attempts.saturating_add(1);
        self.send_rate.sent(now);
        add(&self.metrics.sent);
        let frame = event.frame.clone();
        self.unacknowledged.sent(event, now, self.options.timing.resend_within);
        Some(frame)
    }

    /// The connection broke: what may have been lost is sent once more on the next one.
    pub(crate) fn end(mut self, now: Instant) {
        let lost = self.unacknowledged.lost(now, self.options.timing.resend_within);
        self.put_back(lost.into_iter().filter(|event| event.attempts < 2).collect());
    }

    fn may_send(&mut self, now: Instant) -> bool {
        self.hold_until.is_none_or(|until| until <= now) && self.send_rate.wait_until(now).is_none()
    }

    /// Requests everything that we would accept; older events would be refused anyway. A wallet's clock may be slow,
    /// and a relay may have kept what we missed.
    fn subscribe(&mut self, now: Instant) {
        self.subscribed_on = self.clock.now();
        let since = self.subscribed_on.minus(self.options.created_at_tolerance).secs();
        let filter = Filter::new()
            .kinds(kind::FROM_WALLET.map(Kind::from_u16))
            .pubkeys(Identity::addressed_by(&self.options.identity))
            .since(Timestamp::from_secs(since));
        let request = json!(["REQ", SubscriptionId::new(SUBSCRIPTION), filter]);
        self.first.push_back(request.to_string().into());
        self.subscription = Subscription::Open;
        self.subscribed_at = now;
    }

    fn on_ok(&mut self, id: EventId, accepted: bool, text: &str, now: Instant) -> Received<'static> {
        if self.authentication.settle(id) {
            self.on_authenticated(accepted, text, now);
            return Received::Protocol;
        }
        match Prefix::of(text) {
            Prefix::Duplicate => self.handle.publications.settle(id, true),
            _ if accepted => self.handle.publications.settle(id, true),
            Prefix::RateLimited => {}
            Prefix::AuthRequired if !self.authentication.is_settled() => {}
            Prefix::AuthRequired | Prefix::NotForUs | Prefix::Other => self.handle.publications.settle(id, false),
        }
        if self.handle.low_priority.settle(&id) {
            if Prefix::of(text) == Prefix::RateLimited {
                // What anybody can make us send must not make the relay slow us down.
                add(&self.metrics.rate_limited);
                self.send_rate.limited(now, now);
                self.count_dropped(self.handle.low_priority.refuse(now + NO_LOW_PRIORITY_FOR));
            }
            return Received::Protocol;
        }
        // An event sent long ago, or acknowledged already: nothing follows.
        let Some((mut event, sent_at)) = self.unacknowledged.take(id) else { return Received::Protocol };
        match Prefix::of(text) {
            Prefix::Duplicate => self.refusals.events(self.handle, None),
            _ if accepted => self.refusals.events(self.handle, None),
            Prefix::RateLimited => {
                add(&self.metrics.rate_limited);
                self.send_rate.limited(sent_at, now);
                // The relay did not dislike the event, so only its age counts.
                event.attempts = event.attempts.saturating_sub(1);
                self.put_back(vec![event]);
            }
            Prefix::AuthRequired if !self.authentication.is_settled() => {
                self.hold_until = Some(now + self.options.timing.auth_within);
                self.put_back(vec![event]);
            }
            Prefix::AuthRequired | Prefix::NotForUs | Prefix::Other => {
                add(&self.metrics.rejected);
                let reason = printable(text);
                tracing::debug!(relay = %self.handle.address, reason, "the relay refuses an event");
                self.refusals.events(self.handle, Some(reason));
            }
        }
        Received::Protocol
    }

    fn on_closed(&mut self, text: &str, now: Instant) {
        if self.subscription != Subscription::Open {
            return;
        }
        let timing = &self.options.timing;
        let reason = printable(text);
        tracing::debug!(relay = %self.handle.address, reason, "the relay closed our subscription");
        self.refusals.subscription(self.handle, Some(reason));
        self.subscription = match Prefix::of(text) {
            Prefix::AuthRequired if !self.authentication.is_settled() => {
                Subscription::AwaitAuth { until: now + timing.auth_within.max(self.resubscribe.next_pause()) }
            }
            // Whatever we do. But the rules of relays change.
            Prefix::AuthRequired | Prefix::NotForUs => Subscription::Closed { until: now + timing.restricted_retry },
            Prefix::RateLimited | Prefix::Duplicate | Prefix::Other => {
                Subscription::Closed { until: now + self.resubscribe.next_pause() }
            }
        };
    }

    fn on_notice(&mut self, text: &str, now: Instant) {
        tracing::debug!(relay = %self.handle.address, notice = printable(text), "notice from the relay");
        let text = text.to_ascii_lowercase();
        if text.contains("rate-limit") || text.contains("rate limit") {
            add(&self.metrics.rate_limited);
            self.send_rate.limited(now, now);
        }
    }

    fn on_challenge(&mut self, challenge: &str, now: Instant) {
        let created_at = self.clock.now().secs();
        let address = self.handle.address.as_str();
        if let Some(frame) =
            self.authentication.respond(&self.options.identity.keys, address, challenge, created_at, now)
        {
            self.first.push_back(frame);
        }
    }

    fn on_authenticated(&mut self, accepted: bool, text: &str, now: Instant) {
        self.hold_until = None;
        self.open_queries.authenticated(accepted, &mut self.first);
        if accepted {
            // Even when it is open: some relays show some events to authenticated clients only.
            self.subscribe(now);
        } else {
            let reason = printable(text);
            tracing::debug!(relay = %self.handle.address, reason, "the relay refuses our authentication");
            if let Subscription::AwaitAuth { .. } = self.subscription {
                self.subscription = Subscription::Closed { until: now + self.options.timing.restricted_retry };
            }
        }
    }

    fn put_back(&self, events: Vec<Outgoing>) {
        let all = events.len();
        let again: Vec<_> = events.into_iter().filter(|event| event.attempts < MAX_ATTEMPTS).collect();
        let given_up = u64::try_from(all - again.len()).unwrap_or(0);
        self.count_dropped(given_up + self.handle.queue.put_back(again));
    }

    fn count_dropped(&self, dropped: u64) {
        self.metrics.dropped.fetch_add(dropped, std::sync::atomic::Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
