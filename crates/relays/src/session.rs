//! The session on one connection: reads messages for the engine, sends what is queued, and limits what a relay may
//! cost.

mod end_reason;

use std::future::{self, poll_fn};
use std::ops::ControlFlow;

use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::PollSender;
use usher_engine::ports::Inbound;
use usher_nostr_connection::{Activity, Connection, ConnectionError, Health, Interest, Quality};
use usher_token_bucket::{Rate, TokenBucket};

pub(crate) use end_reason::EndReason;

use crate::event_verifier::Verdict;
use crate::metrics::{Refusal, add};
use crate::protocol::{Protocol, Received};
use crate::relay_handle::RelayHandle;
use crate::relay_status::Origin;
use crate::shared_state::SharedState;

/// After this many messages other tasks get a turn: at 75 µs each, that is about a millisecond.
const YIELD_AFTER: u32 = 16;

/// The cost of a copy of a known event, in useless messages: it is recognised by its id.
const KNOWN_COST: f64 = 0.05;

/// The cost of an `OK`, a `NOTICE` or the like, in useless messages.
const PROTOCOL_COST: f64 = 0.05;

/// The cost of a ping, which has to be answered, in useless messages.
const CONTROL_COST: f64 = 1.0;

/// Reading this many bytes costs as much as a useless message.
const BYTES_PER_COST: f64 = 32_768.0;

/// What a good message counts, in useless messages. It costs as much as one but may be useful. Only the engine knows:
/// anybody with a key can make one.
const MESSAGE_COST: f64 = 0.2;

/// A connection and everything known about it.
pub(crate) struct Session<'a> {
    shared: &'a SharedState,
    handle: &'a RelayHandle,
    protocol: Protocol<'a>,
    connection: Connection,
    health: Health,
    /// A message for which the engine had no room. While it waits, nothing is read, and the relay feels the
    /// back-pressure.
    undelivered: Option<Inbound>,
    inbox: PollSender<Inbound>,
    /// What a user's relay may still cost.
    allowance: Option<TokenBucket<Instant>>,
    /// Until then other users' relays are read.
    paused_until: Option<Instant>,
    since_yield: u32,
}

impl<'a> Session<'a> {
    pub(crate) fn new(shared: &'a SharedState, handle: &'a RelayHandle, connection: Connection) -> Self {
        let now = Instant::now();
        let limits = &shared.options.limits;
        let rate = Rate::per_second(limits.user_relay_useless, f64::from(limits.user_relay_useless_per_second));
        Self {
            shared,
            handle,
            protocol: Protocol::begin(handle, &shared.options, &shared.metrics, shared.clock.clone(), now),
            connection,
            health: Health::new(now),
            undelivered: None,
            inbox: PollSender::new(shared.inbox.clone()),
            allowance: (handle.origin == Origin::User).then(|| TokenBucket::new(rate, now)),
            paused_until: None,
            since_yield: 0,
        }
    }

    /// Runs until the connection ends or the relay is no longer wanted. Returns why, and how good a connection it was.
    pub(crate) async fn run(mut self) -> (EndReason, Quality) {
        let ended = match self.serve().await {
            ControlFlow::Break(ended) => ended,
            ControlFlow::Continue(()) => EndReason::ByUs,
        };
        let quality = match ended {
            EndReason::Flood | EndReason::Lost(ConnectionError::Abuse(_)) => Quality::Abusive,
            _ => self.health.quality(&self.shared.options.connection, Instant::now()),
        };
        if let EndReason::ByUs = ended {
            self.close().await;
        }
        // The event's id is remembered already: if the message were dropped, copies from other relays would be
        // ignored.
        if let Some(message) = self.undelivered.take() {
            tokio::select! {
                biased;
                room = poll_fn(|cx| self.inbox.poll_reserve(cx)) => if room.is_ok() { self.hand_over(message) },
                () = self.shared.stop.cancelled() => {}
            }
        }
        self.protocol.end(Instant::now());
        (ended, quality)
    }

    async fn serve(&mut self) -> ControlFlow<EndReason> {
        loop {
            let now = Instant::now();
            let due = self.tick(now);
            let interest = Interest { read: self.is_reading(), write: self.protocol.has_message(now) };
            let handle = self.handle;
            tokio::select! {
                () = handle.close.cancelled() => return ControlFlow::Break(EndReason::ByUs),
                activity = self.connection.next(interest) => match activity {
                    Ok(Activity::Writable) => self.write()?,
                    Ok(activity) => self.read(activity).await?,
                    Err(error) => return ControlFlow::Break(EndReason::Lost(error)),
                },
                room = poll_fn(|cx| self.inbox.poll_reserve(cx)), if self.undelivered.is_some() => {
                    // The engine is gone: the service stops.
                    if room.is_err() {
                        return ControlFlow::Break(EndReason::ByUs);
                    }
                    if let Some(message) = self.undelivered.take() {
                        self.hand_over(message);
                    }
                }
                () = handle.queue.filled(), if !interest.write => {}
                () = at(due) => {}
            }
        }
    }

    /// Does what is due, and returns when something is due next.
    fn tick(&mut self, now: Instant) -> Option<Instant> {
        self.paused_until = self.paused_until.filter(|until| *until > now);
        let timing = &self.shared.options.connection;
        if self.health.became_healthy(timing, now) {
            self.handle.healthy();
        }
        let due = [self.health.due(timing, now), self.paused_until, self.protocol.tick(now)];
        due.into_iter().flatten().min()
    }

    /// Whether messages are read now: not while one waits for the engine, nor while other relays have their turn.
    const fn is_reading(&self) -> bool {
        self.undelivered.is_none() && self.paused_until.is_none()
    }

    /// The socket accepts one more message.
    fn write(&mut self) -> ControlFlow<EndReason> {
        let Some(frame) = self.protocol.next_message(Instant::now()) else { return ControlFlow::Continue(()) };
        let written = self.connection.start_send(frame);
        written.map_or_else(|error| ControlFlow::Break(EndReason::Lost(error)), ControlFlow::Continue)
    }

    async fn read(&mut self, activity: Activity) -> ControlFlow<EndReason> {
        match activity {
            Activity::Writable => {}
            Activity::Text(text) => {
                self.charge_bytes(text.len())?;
                self.receive(&text)?;
            }
            Activity::Binary(bytes) => {
                self.charge_bytes(bytes)?;
                self.useless(Refusal::Malformed)?;
            }
            Activity::Control(bytes) => {
                self.charge_bytes(bytes)?;
                self.charge(CONTROL_COST)?;
            }
        }
        self.since_yield += 1;
        if self.since_yield >= YIELD_AFTER {
            self.since_yield = 0;
            tokio::task::yield_now().await;
        }
        ControlFlow::Continue(())
    }

    fn receive(&mut self, text: &str) -> ControlFlow<EndReason> {
        let shared = self.shared;
        if text.len() > shared.options.limits.message_bytes {
            return self.useless(Refusal::TooLong);
        }
        match self.protocol.receive(text, Instant::now()) {
            Received::Invalid => return self.useless(Refusal::Malformed),
            Received::NotAsked => return self.useless(Refusal::NotAsked),
            Received::Protocol => self.charge(PROTOCOL_COST)?,
            Received::Event(event) => {
                add(&shared.metrics.received);
                self.protocol.confirmed();
                match shared.event_verifier.verify(event, self.handle.name.as_ref()) {
                    Verdict::Message(message) => {
                        self.deliver(*message);
                        self.charge_as(MESSAGE_COST, 1.0)?;
                    }
                    Verdict::NotOurs { author, event } => {
                        shared.prove(author, event, self.handle);
                        self.charge(1.0)?;
                    }
                    Verdict::Known => self.charge(KNOWN_COST)?,
                    Verdict::Refused(reason) => {
                        tracing::debug!(relay = %self.handle.address, reason = reason.as_str(), "event refused");
                        self.charge(1.0)?;
                    }
                }
            }
        }
        self.health.note_useful();
        ControlFlow::Continue(())
    }

    fn deliver(&mut self, message: Inbound) {
        match self.shared.inbox.try_reserve() {
            Ok(permit) => {
                permit.send(message);
                add(&self.shared.metrics.delivered);
            }
            Err(_) => self.undelivered = Some(message),
        }
    }

    /// Passes a message to the engine after room was reserved.
    fn hand_over(&mut self, message: Inbound) {
        if self.inbox.send_item(message).is_ok() {
            add(&self.shared.metrics.delivered);
        }
    }

    fn useless(&mut self, reason: Refusal) -> ControlFlow<EndReason> {
        self.shared.metrics.refuse(reason);
        self.charge(1.0)
    }

    /// Limits what a relay that a user chose may cost, and what all of them together may cost.
    fn charge(&mut self, cost: f64) -> ControlFlow<EndReason> {
        self.charge_as(cost, cost)
    }

    /// The same for something that costs more than it counts.
    fn charge_as(&mut self, counts: f64, cost: f64) -> ControlFlow<EndReason> {
        let Some(allowance) = &mut self.allowance else { return ControlFlow::Continue(()) };
        let now = Instant::now();
        if !allowance.take_part(counts, now) {
            return ControlFlow::Break(EndReason::Flood);
        }
        if let Some(until) = self.shared.read_budget.spend(cost, now) {
            self.paused_until = Some(until);
        }
        ControlFlow::Continue(())
    }

    fn charge_bytes(&mut self, bytes: usize) -> ControlFlow<EndReason> {
        self.charge(bytes as f64 / BYTES_PER_COST)
    }

    /// Sends queued events, closes the connection, and reads until the relay has closed it too: if the socket were closed
    /// with unread data in it, the relay might lose the last events. Limited to a moment in all.
    async fn close(&mut self) {
        let deadline = Instant::now() + self.shared.options.timing.drain;
        let closing = async {
            loop {
                let now = Instant::now();
                match (self.protocol.next_message(now), self.protocol.held_until(now)) {
                    (Some(frame), _) => self.connection.send(frame).await?,
                    (None, Some(at)) => sleep_until(at).await,
                    (None, None) => break,
                }
            }
            self.connection.send_close().await?;
            while self.undelivered.is_none() {
                match self.connection.next(Interest::READ).await? {
                    Activity::Text(text) if self.receive(&text).is_break() => break,
                    _ => {}
                }
            }
            Ok::<_, ConnectionError>(())
        };
        // Whatever the result: the connection ends either way.
        let _ = timeout_at(deadline, closing).await;
    }
}

/// Waits until then; forever without a time.
async fn at(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => future::pending().await,
    }
}
