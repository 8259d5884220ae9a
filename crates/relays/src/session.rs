//! One connection from the handshake to its end: reads, writes, and notices when nobody is there any more.

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

/// After so many messages other tasks get their turn: at 75 µs each about a millisecond.
const YIELD_AFTER: u32 = 16;

/// What an event seen before burdens us with, in useless messages: refused at a glance.
const KNOWN_BURDEN: f64 = 0.05;

/// What an `OK`, a `NOTICE` or the like burdens us with, in useless messages.
const PROTOCOL_BURDEN: f64 = 0.05;

/// What a ping burdens us with, which has to be answered, in useless messages.
const CONTROL_BURDEN: f64 = 1.0;

/// Reading so many bytes burdens us as much as a useless message, whatever they say.
const BYTES_OF_A_BURDEN: f64 = 32_768.0;

/// What a good message burdens us with, in useless messages: it costs as much, but it may be of use. Nobody knows here:
/// whoever has a key can make one.
const MESSAGE_BURDEN: f64 = 0.2;

/// A connection and everything that is known of it.
pub(crate) struct Session<'a> {
    shared: &'a SharedState,
    handle: &'a RelayHandle,
    protocol: Protocol<'a>,
    connection: Connection,
    health: Health,
    /// A message the engine had no room for. As long as it waits, nothing is read: the relay feels the back-pressure.
    undelivered: Option<Inbound>,
    inbox: PollSender<Inbound>,
    /// What a user's relay may still burden us with.
    allowance: Option<TokenBucket<Instant>>,
    /// It is other users' relays' turn until then.
    resting_until: Option<Instant>,
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
            resting_until: None,
            since_yield: 0,
        }
    }

    /// Runs until the connection ends or the relay is no longer wanted. Says why, and how good a connection it was.
    pub(crate) async fn run(mut self) -> (EndReason, Quality) {
        let ended = match self.converse().await {
            ControlFlow::Break(ended) => ended,
            ControlFlow::Continue(()) => EndReason::ByUs,
        };
        let quality = match ended {
            EndReason::Nuisance | EndReason::Lost(ConnectionError::Abuse(_)) => Quality::Abusive,
            _ => self.health.quality(&self.shared.options.connection, Instant::now()),
        };
        if let EndReason::ByUs = ended {
            self.part().await;
        }
        // The event's id is remembered already: were the message dropped, its copies at other relays would not count.
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

    async fn converse(&mut self) -> ControlFlow<EndReason> {
        loop {
            let now = Instant::now();
            let due = self.tick(now);
            let interest = Interest { read: self.is_reading(), write: self.protocol.has_something(now) };
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

    /// Does what is due, and says when something is due next.
    fn tick(&mut self, now: Instant) -> Option<Instant> {
        self.resting_until = self.resting_until.filter(|until| *until > now);
        let timing = &self.shared.options.connection;
        if self.health.became_healthy(timing, now) {
            self.handle.healthy();
        }
        let due = [self.health.due(timing, now), self.resting_until, self.protocol.tick(now)];
        due.into_iter().flatten().min()
    }

    /// Whether what the relay says is read now: not while a message waits for the engine, nor in others' turns.
    const fn is_reading(&self) -> bool {
        self.undelivered.is_none() && self.resting_until.is_none()
    }

    /// The socket takes one more message.
    fn write(&mut self) -> ControlFlow<EndReason> {
        let Some(frame) = self.protocol.say(Instant::now()) else { return ControlFlow::Continue(()) };
        let written = self.connection.start_send(frame);
        written.map_or_else(|error| ControlFlow::Break(EndReason::Lost(error)), ControlFlow::Continue)
    }

    async fn read(&mut self, activity: Activity) -> ControlFlow<EndReason> {
        match activity {
            Activity::Writable => {}
            Activity::Text(text) => {
                self.burden_of_bytes(text.len())?;
                self.hear(&text)?;
            }
            Activity::Binary(bytes) => {
                self.burden_of_bytes(bytes)?;
                self.useless(Refusal::Malformed)?;
            }
            Activity::Control(bytes) => {
                self.burden_of_bytes(bytes)?;
                self.burden(CONTROL_BURDEN)?;
            }
        }
        self.since_yield += 1;
        if self.since_yield >= YIELD_AFTER {
            self.since_yield = 0;
            tokio::task::yield_now().await;
        }
        ControlFlow::Continue(())
    }

    fn hear(&mut self, text: &str) -> ControlFlow<EndReason> {
        let shared = self.shared;
        if text.len() > shared.options.limits.message_bytes {
            return self.useless(Refusal::TooLong);
        }
        match self.protocol.hear(text, Instant::now()) {
            Received::Nonsense => return self.useless(Refusal::Malformed),
            Received::NotAsked => return self.useless(Refusal::NotAsked),
            Received::Protocol => self.burden(PROTOCOL_BURDEN)?,
            Received::Event(event) => {
                add(&shared.metrics.received);
                self.protocol.confirmed();
                match shared.event_verifier.verify(event, self.handle.name.as_ref()) {
                    Verdict::Message(message) => {
                        self.deliver(*message);
                        self.burden_of(MESSAGE_BURDEN, 1.0)?;
                    }
                    Verdict::NotOurs { author, event } => {
                        shared.prove(author, event, self.handle);
                        self.burden(1.0)?;
                    }
                    Verdict::Known => self.burden(KNOWN_BURDEN)?,
                    Verdict::Refused(reason) => {
                        tracing::debug!(relay = %self.handle.address, reason = reason.as_str(), "event refused");
                        self.burden(1.0)?;
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

    /// Hands a message over after room was reserved.
    fn hand_over(&mut self, message: Inbound) {
        if self.inbox.send_item(message).is_ok() {
            add(&self.shared.metrics.delivered);
        }
    }

    fn useless(&mut self, reason: Refusal) -> ControlFlow<EndReason> {
        self.shared.metrics.refuse(reason);
        self.burden(1.0)
    }

    /// A relay that a user chose may only be so much of a burden, and all of them together.
    fn burden(&mut self, burden: f64) -> ControlFlow<EndReason> {
        self.burden_of(burden, burden)
    }

    /// The same of something that costs more than it is counted for.
    fn burden_of(&mut self, burden: f64, cost: f64) -> ControlFlow<EndReason> {
        let Some(allowance) = &mut self.allowance else { return ControlFlow::Continue(()) };
        let now = Instant::now();
        if !allowance.take_part(burden, now) {
            return ControlFlow::Break(EndReason::Nuisance);
        }
        if let Some(until) = self.shared.read_budget.take(cost, now) {
            self.resting_until = Some(until);
        }
        ControlFlow::Continue(())
    }

    fn burden_of_bytes(&mut self, bytes: usize) -> ControlFlow<EndReason> {
        self.burden(bytes as f64 / BYTES_OF_A_BURDEN)
    }

    /// Sends what is queued, says good-bye, and listens until the relay has said it too: were the socket closed with
    /// something unread in it, the relay might lose what we sent last. All of it for a moment only.
    async fn part(&mut self) {
        let deadline = Instant::now() + self.shared.options.timing.drain;
        let parting = async {
            loop {
                let now = Instant::now();
                match (self.protocol.say(now), self.protocol.held_until(now)) {
                    (Some(frame), _) => self.connection.send(frame).await?,
                    (None, Some(at)) => sleep_until(at).await,
                    (None, None) => break,
                }
            }
            self.connection.send_close().await?;
            while self.undelivered.is_none() {
                match self.connection.next(Interest::READ).await? {
                    Activity::Text(text) if self.hear(&text).is_break() => break,
                    _ => {}
                }
            }
            Ok::<_, ConnectionError>(())
        };
        // Whatever comes of it: the connection ends either way.
        let _ = timeout_at(deadline, parting).await;
    }
}

/// Waits until then; for ever without a then.
async fn at(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => future::pending().await,
    }
}
