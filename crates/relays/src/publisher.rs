//! Decides what to send over one connection: events of the queues at the rate that the relay accepts, and queries.
//! Tracks the refusals that the status shows. Performs no I/O, so tests call it directly.
//!
//! Nothing waits for an `OK`: a refusal can only make us send an event again.

use std::sync::Arc;
use std::time::Duration;

use nostr::{Filter, Kind, Timestamp};
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use usher_engine::ports::Clock;
use usher_nostr_connection::{Prefix, Protocol, Received, RelayMessage, SessionOptions, Verdict, printable};
use usher_protocol::{EventId, kind};

use crate::identity::Identity;
use crate::metrics::{Metrics, Refusal};
use crate::open_queries::OpenQueries;
use crate::options::{CREATED_AT_TOLERANCE, RelayOptions};
use crate::publications::Publication;
use crate::relay_handle::RelayHandle;
use crate::send_queue::Outgoing;
use crate::send_rate::SendRate;

/// The id of our long-lived subscription; ids are per connection.
const SUBSCRIPTION: &str = "usher";

/// How long a relay gets no low-priority events after it limited our rate for one.
const NO_LOW_PRIORITY_FOR: Duration = Duration::from_secs(60);

/// Most attempts to send an event to one relay.
const MAX_ATTEMPTS: u8 = 4;

/// Options of the session with this relay. Requests events back to the accepted age: a wallet's clock may be slow, and
/// a relay may have kept what we missed.
pub(crate) fn session_options(handle: &RelayHandle, options: &RelayOptions, clock: Arc<dyn Clock>) -> SessionOptions {
    let addressed_by = Identity::addressed_by(&options.identity);
    SessionOptions {
        relay: handle.address.as_str().to_owned(),
        keys: options.identity.keys.clone(),
        unix_time: Box::new(move || clock.now().secs()),
        filters: Box::new(move |now| {
            let since = Timestamp::from_secs(now.saturating_sub(CREATED_AT_TOLERANCE.as_secs()));
            let kinds = kind::FROM_WALLET.map(Kind::from_u16);
            vec![Filter::new().kinds(kinds).pubkeys(addressed_by.iter().copied()).since(since)]
        }),
        subscription: SUBSCRIPTION,
        timing: options.timing.session.clone(),
    }
}

pub(crate) struct Publisher<'a> {
    handle: &'a RelayHandle,
    metrics: &'a Metrics,
    open_queries: OpenQueries,
    send_rate: SendRate,
}

impl<'a> Publisher<'a> {
    pub(crate) fn new(handle: &'a RelayHandle, options: &RelayOptions, metrics: &'a Metrics, now: Instant) -> Self {
        handle.publications.begin();
        handle.queue.drop_copies();
        Self {
            handle,
            metrics,
            open_queries: OpenQueries::new(),
            send_rate: SendRate::new(options.timing.rate_limit_pause, options.connection.reconnect_longest, now),
        }
    }

    /// Handles a received message. Returns the event if it belongs to our subscription.
    ///
    /// # Errors
    /// Why the message is useless.
    pub(crate) fn handle<'t>(
        &mut self,
        received: Received<'t, Outgoing>,
        protocol: &mut Protocol<Outgoing>,
        now: Instant,
    ) -> Result<Option<&'t RawValue>, Refusal> {
        match received {
            Received::Event(event) => {
                if protocol.is_served() {
                    self.handle.subscription_refused(None);
                }
                return Ok(Some(event));
            }
            Received::Subscribed => self.handle.subscription_refused(None),
            Received::Closed(text) => {
                let reason = printable(&text);
                tracing::debug!(relay = %self.handle.address, reason, "the relay closed our subscription");
                self.handle.subscription_refused(Some(reason));
            }
            Received::Authenticated { accepted, text } => {
                self.open_queries.authenticated(accepted, protocol.first());
                if !accepted {
                    let reason = printable(&text);
                    tracing::debug!(relay = %self.handle.address, reason, "the relay refuses our authentication");
                }
            }
            Received::Acknowledged { id, verdict, text, sent } => self.acknowledged(id, verdict, &text, sent, now),
            Received::Notice(text) => self.notice(&text, now),
            Received::Other(message) => return self.other(message, protocol).map(|()| None),
            Received::Handled => {}
            Received::Invalid => return Err(Refusal::Malformed),
        }
        Ok(None)
    }

    /// Does what is due, and returns when something is due next, apart from new events.
    pub(crate) fn tick(&mut self, protocol: &mut Protocol<Outgoing>, now: Instant) -> Option<Instant> {
        for Publication { id, frame } in self.handle.publications.take_due() {
            self.count_dropped(self.handle.queue.push(Outgoing { id, user: None, frame, made: now, attempts: 0 }));
        }
        let open_queries = self.open_queries.tick(&self.handle.queries, now, protocol.first());
        let nothing = self.handle.queue.is_empty() && self.handle.low_priority.is_empty();
        let paced = if nothing { None } else { self.send_rate.wait_until(now) };
        [paced, self.held_until(now), open_queries].into_iter().flatten().min()
    }

    pub(crate) fn has_next(&mut self, now: Instant) -> bool {
        self.send_rate.wait_until(now).is_none()
            && (self.handle.queue.has_ready(now) || !self.handle.low_priority.is_empty())
    }

    /// When the next held-back event is due, if nothing new is queued.
    pub(crate) fn held_until(&self, now: Instant) -> Option<Instant> {
        self.handle.queue.held_until().filter(|at| *at > now)
    }

    /// Takes the message of the next event to send.
    pub(crate) fn next(&mut self, protocol: &mut Protocol<Outgoing>, now: Instant) -> Option<Utf8Bytes> {
        if self.send_rate.wait_until(now).is_some() || !protocol.may_publish(now) {
            return None;
        }
        let (event, dropped) = self.handle.queue.pop(now);
        self.count_dropped(dropped);
        let message = match event {
            Some(mut event) => {
                event.attempts = event.attempts.saturating_add(1);
                let message = event.frame.clone();
                protocol.sent(event.id, message.len(), event, now);
                message
            }
            None => self.handle.low_priority.pop()?,
        };
        self.send_rate.sent(now);
        self.metrics.sent.add(1);
        Some(message)
    }

    /// Handles a broken connection: what may have been lost is sent once more on the next one.
    pub(crate) fn end(self, lost: Vec<Outgoing>) {
        self.put_back(lost.into_iter().filter(|event| event.attempts < 2).collect());
    }

    fn other(&mut self, message: RelayMessage<'_>, protocol: &mut Protocol<Outgoing>) -> Result<(), Refusal> {
        let is_settled = protocol.is_authentication_settled();
        let first = protocol.first();
        match message {
            RelayMessage::Event { subscription, event } if self.open_queries.event(&subscription, event, first) => {}
            RelayMessage::EndOfStored { subscription } if self.open_queries.has(&subscription) => {
                self.open_queries.end_of_stored(&subscription, first);
            }
            RelayMessage::Closed { subscription, text } if self.open_queries.has(&subscription) => {
                let later = Prefix::of(&text) == Prefix::AuthRequired && !is_settled;
                self.open_queries.closed(&subscription, later);
            }
            _ => return Err(Refusal::NotAsked),
        }
        Ok(())
    }

    fn acknowledged(
        &mut self,
        id: EventId,
        verdict: Verdict,
        text: &str,
        sent: Option<(Outgoing, Instant)>,
        now: Instant,
    ) {
        match verdict {
            Verdict::Accepted => self.handle.publications.settle(id, true),
            Verdict::RateLimited | Verdict::AuthRequired => {}
            Verdict::Refused => self.handle.publications.settle(id, false),
        }
        if self.handle.low_priority.settle(&id) {
            if verdict == Verdict::RateLimited {
                // Events that anybody can trigger must not reduce our rate.
                self.metrics.rate_limited.add(1);
                self.send_rate.limited(now, now);
                self.count_dropped(self.handle.low_priority.refuse(now + NO_LOW_PRIORITY_FOR));
            }
            return;
        }
        // Sent long ago, or acknowledged already.
        let Some((mut event, sent_at)) = sent else { return };
        match verdict {
            Verdict::Accepted => self.handle.events_refused(None),
            Verdict::RateLimited => {
                self.metrics.rate_limited.add(1);
                self.send_rate.limited(sent_at, now);
                // The relay did not refuse the event itself, so this is no attempt; only its age limits it.
                event.attempts = event.attempts.saturating_sub(1);
                self.put_back(vec![event]);
            }
            Verdict::AuthRequired => self.put_back(vec![event]),
            Verdict::Refused => {
                self.metrics.rejected.add(1);
                let reason = printable(text);
                tracing::debug!(relay = %self.handle.address, reason, "the relay refuses an event");
                self.handle.events_refused(Some(reason));
            }
        }
    }

    fn notice(&mut self, text: &str, now: Instant) {
        tracing::debug!(relay = %self.handle.address, notice = printable(text), "notice from the relay");
        let text = text.to_ascii_lowercase();
        if text.contains("rate-limit") || text.contains("rate limit") {
            self.metrics.rate_limited.add(1);
            self.send_rate.limited(now, now);
        }
    }

    fn put_back(&self, events: Vec<Outgoing>) {
        let all = events.len();
        let again: Vec<_> = events.into_iter().filter(|event| event.attempts < MAX_ATTEMPTS).collect();
        let given_up = u64::try_from(all - again.len()).unwrap_or(0);
        self.count_dropped(given_up + self.handle.queue.put_back(again));
    }

    fn count_dropped(&self, dropped: u64) {
        self.metrics.dropped.add(dropped);
    }
}

#[cfg(test)]
mod tests;
