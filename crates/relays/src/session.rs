//! The session on one connection: reads messages for the engine, sends what is queued, and limits what a relay may
//! cost.

use std::convert::Infallible;
use std::future::poll_fn;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::PollSender;
use usher_engine::ports::Inbound;
use usher_nostr_connection::{Activity, Connection, EndReason, Interest, Quality, Session, Step, wait_until};
use usher_token_bucket::{Rate, TokenBucket};

use crate::event_verifier::Verdict;
use crate::metrics::Refusal;
use crate::publisher::{Publisher, session_options};
use crate::relay_handle::RelayHandle;
use crate::relay_status::Origin;
use crate::send_queue::Outgoing;
use crate::shared_state::SharedState;

/// Messages handled before yielding to other tasks: at 75 µs each, about a millisecond.
const YIELD_AFTER: u32 = 16;

/// The cost of a copy of a known event, an `OK` or a `NOTICE`, in useless messages.
const CHEAP_COST: f64 = 0.05;

/// Reading this many bytes costs as much as a useless message.
const BYTES_PER_COST: f64 = 32_768.0;

/// The cost of a valid message, in useless messages: anybody with a key can make one, and only the engine knows whether
/// it is useful.
const MESSAGE_COST: f64 = 0.2;

/// Largest relay message that is parsed, in bytes: the largest content we accept
/// ([`usher_protocol::envelope::MAX_CONTENT_BYTES`], 88 KiB), and room for tags.
const MESSAGE_BYTES: usize = 128 * 1024;

/// How long a removed relay, or all of them at shutdown, may take to accept queued events.
const DRAIN: Duration = Duration::from_secs(2);

pub(crate) struct RelaySession<'a> {
    shared: &'a SharedState,
    handle: &'a RelayHandle,
    session: Session<Outgoing>,
    publisher: Publisher<'a>,
    /// A message for which the inbox had no room. While it waits, nothing is read: back-pressure on the relay.
    undelivered: Option<Inbound>,
    inbox: PollSender<Inbound>,
    allowance: Option<TokenBucket<Instant>>,
    since_yield: u32,
}

impl<'a> RelaySession<'a> {
    pub(crate) fn new(shared: &'a SharedState, handle: &'a RelayHandle, connection: Connection) -> Self {
        let (now, options) = (Instant::now(), &shared.options);
        let limits = &options.limits;
        let rate = Rate::per_second(limits.user_relay_useless, f64::from(limits.user_relay_useless_per_second));
        Self {
            shared,
            handle,
            session: Session::new(connection, session_options(handle, options, shared.clock.clone())),
            publisher: Publisher::new(handle, options, &shared.metrics, now),
            undelivered: None,
            inbox: PollSender::new(shared.inbox.clone()),
            allowance: (handle.origin == Origin::User).then(|| TokenBucket::new(rate, now)),
            since_yield: 0,
        }
    }

    /// Runs until the connection ends or the relay is no longer wanted. Returns why, and the connection's quality.
    pub(crate) async fn run(mut self) -> (EndReason, Option<Quality>) {
        let Err(ended) = self.serve().await;
        let quality = Some(self.session.quality(&ended));
        if let EndReason::ByUs = ended {
            self.close().await;
        }
        // The event's id is remembered: if the message were dropped, copies from other relays would be ignored.
        if let Some(message) = self.undelivered.take() {
            tokio::select! {
                biased;
                room = poll_fn(|cx| self.inbox.poll_reserve(cx)) => if room.is_ok() { self.hand_over(message) },
                () = self.shared.stop.cancelled() => {}
            }
        }
        self.publisher.end(self.session.lost());
        (ended, quality)
    }

    async fn serve(&mut self) -> Result<Infallible, EndReason> {
        loop {
            let now = Instant::now();
            let due = self.tick(now);
            let interest = Interest { read: self.undelivered.is_none(), write: self.publisher.has_next(now) };
            let handle = self.handle;
            tokio::select! {
                () = handle.close.cancelled() => return Err(EndReason::ByUs),
                step = self.session.next(interest) => self.step(step?).await?,
                room = poll_fn(|cx| self.inbox.poll_reserve(cx)), if self.undelivered.is_some() => {
                    // The engine has stopped.
                    if room.is_err() {
                        return Err(EndReason::ByUs);
                    }
                    if let Some(message) = self.undelivered.take() {
                        self.hand_over(message);
                    }
                }
                () = handle.queue.filled(), if !interest.write => {}
                () = wait_until(due) => {}
            }
        }
    }

    /// Does what is due, and returns when something is due next.
    fn tick(&mut self, now: Instant) -> Option<Instant> {
        let healthy_at = self.session.healthy_at();
        if healthy_at.is_some_and(|at| at <= now) {
            self.handle.healthy();
        }
        let due = [healthy_at.filter(|at| *at > now), self.publisher.tick(self.session.protocol(), now)];
        due.into_iter().flatten().min()
    }

    async fn step(&mut self, step: Step) -> Result<(), EndReason> {
        match step {
            Step::Writable => {
                let message = self.publisher.next(self.session.protocol(), Instant::now());
                return Ok(message.map_or(Ok(()), |message| self.session.connection().start_send(message))?);
            }
            Step::Subscribed => return Ok(()),
            Step::Text(text) => {
                self.charge_bytes(text.len())?;
                self.receive(&text)?;
            }
            Step::Binary(bytes) => {
                self.charge_bytes(bytes)?;
                self.useless(Refusal::Malformed)?;
            }
        }
        self.since_yield += 1;
        if self.since_yield >= YIELD_AFTER {
            self.since_yield = 0;
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    fn receive(&mut self, text: &str) -> Result<(), EndReason> {
        let shared = self.shared;
        if text.len() > MESSAGE_BYTES {
            return self.useless(Refusal::TooLong);
        }
        let received = self.session.receive(text);
        match self.publisher.handle(received, self.session.protocol(), Instant::now()) {
            Err(useless) => return self.useless(useless),
            Ok(None) => self.charge(CHEAP_COST)?,
            Ok(Some(event)) => {
                shared.metrics.received.add(1);
                match shared.event_verifier.verify(event, self.handle.name.as_ref()) {
                    Verdict::Message(message) => {
                        self.deliver(*message);
                        self.charge(MESSAGE_COST)?;
                    }
                    Verdict::SealedToMainKey { author, event } => {
                        shared.prove(author, event, self.handle);
                        self.charge(1.0)?;
                    }
                    Verdict::Known => self.charge(CHEAP_COST)?,
                    Verdict::Refused(reason) => {
                        tracing::debug!(relay = %self.handle.address, reason = reason.as_str(), "event refused");
                        self.charge(1.0)?;
                    }
                }
            }
        }
        self.session.note_useful();
        Ok(())
    }

    fn deliver(&mut self, message: Inbound) {
        match self.shared.inbox.try_reserve() {
            Ok(permit) => {
                permit.send(message);
                self.shared.metrics.delivered.add(1);
            }
            Err(_) => self.undelivered = Some(message),
        }
    }

    fn hand_over(&mut self, message: Inbound) {
        if self.inbox.send_item(message).is_ok() {
            self.shared.metrics.delivered.add(1);
        }
    }

    fn useless(&mut self, reason: Refusal) -> Result<(), EndReason> {
        self.shared.metrics.refuse(reason);
        self.charge(1.0)
    }

    /// Charges a user's relay for a message.
    fn charge(&mut self, cost: f64) -> Result<(), EndReason> {
        let within = self.allowance.as_mut().is_none_or(|allowance| allowance.take_part(cost, Instant::now()));
        if within { Ok(()) } else { Err(EndReason::Flood) }
    }

    fn charge_bytes(&mut self, bytes: usize) -> Result<(), EndReason> {
        self.charge(bytes as f64 / BYTES_PER_COST)
    }

    /// Sends queued events, closes the connection, and reads until the relay has closed it: closing a socket with
    /// unread data might lose the last events. Has a deadline.
    async fn close(&mut self) {
        let deadline = Instant::now() + DRAIN;
        let closing = async {
            loop {
                let now = Instant::now();
                match (self.publisher.next(self.session.protocol(), now), self.publisher.held_until(now)) {
                    (Some(message), _) => self.session.connection().send(message).await?,
                    (None, Some(at)) => sleep_until(at).await,
                    (None, None) => break,
                }
            }
            self.session.connection().send_close().await?;
            while self.undelivered.is_none() {
                if let Activity::Text(text) = self.session.connection().next(Interest::READ).await? {
                    self.receive(&text)?;
                }
            }
            Ok::<_, EndReason>(())
        };
        // Best effort: the connection is dropped either way.
        let _ = timeout_at(deadline, closing).await;
    }
}
