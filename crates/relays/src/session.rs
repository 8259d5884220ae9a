//! One connection from the handshake to its end: reads, writes, and notices when nobody is there any more.

mod ended;

use std::future;
use std::ops::ControlFlow;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _, future::poll_fn};
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_util::sync::PollSender;
use usher_engine::ports::Inbound;

pub(crate) use ended::{Ended, Quality};

use crate::bucket::Bucket;
use crate::counters::{Refusal, add};
use crate::dial::Socket;
use crate::examiner::Verdict;
use crate::link::Link;
use crate::shared::Shared;
use crate::status::Origin;
use crate::talk::{Heard, Talk};

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
    shared: &'a Shared,
    link: &'a Link,
    talk: Talk<'a>,
    sink: SplitSink<Socket, Message>,
    stream: SplitStream<Socket>,
    /// A message the engine had no room for. As long as it waits, nothing is read: the relay feels the back-pressure.
    undelivered: Option<Inbound>,
    inbox: PollSender<Inbound>,
    /// Something was written that may still be in the buffer.
    unflushed: bool,
    ping: bool,
    started: Instant,
    heard_at: Instant,
    heard_anything: bool,
    healthy: bool,
    pinged_at: Option<Instant>,
    /// Since when the socket has taken nothing.
    stuck_since: Option<Instant>,
    /// What a user's relay may still burden us with.
    allowance: Option<Bucket>,
    /// It is other users' relays' turn until then.
    resting_until: Option<Instant>,
    since_yield: u32,
}

impl<'a> Session<'a> {
    pub(crate) fn new(shared: &'a Shared, link: &'a Link, socket: Socket) -> Self {
        let now = Instant::now();
        let (sink, stream) = socket.split();
        let limits = &shared.options.limits;
        let allowance =
            || Bucket::new(limits.user_relay_nuisance, f64::from(limits.user_relay_nuisance_per_second), now);
        Self {
            shared,
            link,
            talk: Talk::begin(link, &shared.options, &shared.counters, shared.clock.clone(), now),
            sink,
            stream,
            undelivered: None,
            inbox: PollSender::new(shared.inbox.clone()),
            unflushed: false,
            ping: false,
            started: now,
            heard_at: now,
            heard_anything: false,
            healthy: false,
            pinged_at: None,
            stuck_since: None,
            allowance: (link.origin == Origin::User).then(allowance),
            resting_until: None,
            since_yield: 0,
        }
    }

    /// Runs until the connection ends or the relay is no longer wanted. Says why, and how good a connection it was.
    pub(crate) async fn run(mut self) -> (Ended, Quality) {
        let ended = match self.converse().await {
            ControlFlow::Break(ended) => ended,
            ControlFlow::Continue(()) => Ended::ByUs,
        };
        let worked = self.started.elapsed() >= self.shared.options.timing.worked_after;
        let quality = match (self.healthy, self.heard_anything) {
            _ if matches!(ended, Ended::Nuisance | Ended::Abuse(_)) => Quality::Abusive,
            (true, _) => Quality::Good,
            (false, true) if worked => Quality::Fair,
            (false, true) => Quality::Short,
            (false, false) => Quality::Useless,
        };
        if let Ended::ByUs = ended {
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
        self.talk.end(Instant::now());
        (ended, quality)
    }

    async fn converse(&mut self) -> ControlFlow<Ended> {
        loop {
            let now = Instant::now();
            let due = self.tick(now)?;
            let writing = self.ping || self.talk.has_something(now);
            self.watch_writing(writing, now);
            let link = self.link;
            tokio::select! {
                () = link.close.cancelled() => return ControlFlow::Break(Ended::ByUs),
                taken = poll_fn(|cx| if writing {
                    self.sink.poll_ready_unpin(cx)
                } else {
                    self.sink.poll_flush_unpin(cx)
                }), if writing || self.unflushed => if writing { self.write(taken)? } else { self.flushed(taken)? },
                message = self.stream.next(), if self.is_reading() => self.read(message).await?,
                room = poll_fn(|cx| self.inbox.poll_reserve(cx)), if self.undelivered.is_some() => {
                    // The engine is gone: the service stops.
                    if room.is_err() {
                        return ControlFlow::Break(Ended::ByUs);
                    }
                    if let Some(message) = self.undelivered.take() {
                        self.hand_over(message);
                    }
                    // We did not listen, so we cannot say that nobody spoke.
                    self.heard(Instant::now());
                }
                () = link.queue.filled(), if !writing => {}
                () = at(due) => {}
            }
        }
    }

    /// Does what is due, and says when something is due next.
    fn tick(&mut self, now: Instant) -> ControlFlow<Ended, Option<Instant>> {
        let timing = &self.shared.options.timing;
        let stuck_at = self.stuck_since.map(|since| since + timing.write_within);
        if stuck_at.is_some_and(|at| at <= now) {
            return ControlFlow::Break(Ended::Stuck);
        }
        if self.resting_until.is_some_and(|until| until <= now) {
            self.resting_until = None;
            // We did not listen, so we cannot say that nobody spoke.
            self.heard(now);
        }
        let silent_at = match self.pinged_at {
            _ if !self.is_reading() => None,
            Some(pinged_at) => {
                let dead_at = pinged_at + timing.pong_within;
                if dead_at <= now {
                    return ControlFlow::Break(Ended::Silent);
                }
                Some(dead_at)
            }
            None => {
                let ping_at = self.heard_at + timing.ping_after;
                if ping_at <= now {
                    self.ping = true;
                    self.pinged_at = Some(now);
                    Some(now + timing.pong_within)
                } else {
                    Some(ping_at)
                }
            }
        };
        let healthy_at = self.started + timing.healthy_after;
        if !self.healthy && healthy_at <= now && self.heard_anything {
            self.healthy = true;
            self.link.healthy();
        }
        let healthy_at = Some(healthy_at).filter(|at| *at > now);
        let due = [stuck_at, silent_at, healthy_at, self.resting_until, self.talk.tick(now)];
        let due = due.into_iter().flatten().min();
        ControlFlow::Continue(due)
    }

    /// Whether what the relay says is read now: not while a message waits for the engine, nor in others' turns.
    const fn is_reading(&self) -> bool {
        self.undelivered.is_none() && self.resting_until.is_none()
    }

    fn watch_writing(&mut self, writing: bool, now: Instant) {
        if !writing && !self.unflushed {
            self.stuck_since = None;
        } else if self.stuck_since.is_none() {
            self.stuck_since = Some(now);
        }
    }

    /// The socket takes one more message.
    fn write(&mut self, ready: Result<(), tungstenite::Error>) -> ControlFlow<Ended> {
        let now = Instant::now();
        let message = if std::mem::take(&mut self.ping) {
            Some(Message::Ping(Default::default()))
        } else {
            self.talk.say(now).map(Message::Text)
        };
        let written = match (ready, message) {
            (Ok(()), Some(message)) => self.sink.start_send_unpin(message),
            (Ok(()), None) => return ControlFlow::Continue(()),
            (Err(error), _) => Err(error),
        };
        self.stuck_since = None;
        self.unflushed = true;
        written.map_or_else(|error| ControlFlow::Break(error.into()), ControlFlow::Continue)
    }

    fn flushed(&mut self, flushed: Result<(), tungstenite::Error>) -> ControlFlow<Ended> {
        self.unflushed = false;
        self.stuck_since = None;
        flushed.map_or_else(|error| ControlFlow::Break(error.into()), ControlFlow::Continue)
    }

    async fn read(&mut self, message: Option<Result<Message, tungstenite::Error>>) -> ControlFlow<Ended> {
        let message = match message {
            None => return ControlFlow::Break(Ended::ByRelay(String::new())),
            Some(Err(error)) => return ControlFlow::Break(error.into()),
            Some(Ok(message)) => message,
        };
        self.heard(Instant::now());
        self.burden(message.len() as f64 / BYTES_OF_A_BURDEN)?;
        match message {
            Message::Text(text) => self.hear(&text)?,
            Message::Close(frame) => {
                let reason = frame.map(|frame| crate::frame::presentable(&frame.reason)).unwrap_or_default();
                return ControlFlow::Break(Ended::ByRelay(reason));
            }
            Message::Binary(_) => self.useless(Refusal::Malformed)?,
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => self.burden(CONTROL_BURDEN)?,
        }
        self.since_yield += 1;
        if self.since_yield >= YIELD_AFTER {
            self.since_yield = 0;
            tokio::task::yield_now().await;
        }
        ControlFlow::Continue(())
    }

    fn hear(&mut self, text: &str) -> ControlFlow<Ended> {
        let shared = self.shared;
        if text.len() > shared.options.limits.message_bytes {
            return self.useless(Refusal::TooLong);
        }
        match self.talk.hear(text, Instant::now()) {
            Heard::Nonsense => return self.useless(Refusal::Malformed),
            Heard::NotAsked => return self.useless(Refusal::NotAsked),
            Heard::Protocol => self.burden(PROTOCOL_BURDEN)?,
            Heard::Event(event) => {
                add(&shared.counters.received);
                self.talk.confirmed();
                match shared.examiner.examine(event, self.link.name.as_ref()) {
                    Verdict::Message(message) => {
                        self.deliver(*message);
                        self.burden_of(MESSAGE_BURDEN, 1.0)?;
                    }
                    Verdict::NotOurs { author, event } => {
                        shared.prove(author, event, self.link);
                        self.burden(1.0)?;
                    }
                    Verdict::Known => self.burden(KNOWN_BURDEN)?,
                    Verdict::Refused(reason) => {
                        tracing::debug!(relay = %self.link.address, reason = reason.as_str(), "event refused");
                        self.burden(1.0)?;
                    }
                }
            }
        }
        self.heard_anything = true;
        ControlFlow::Continue(())
    }

    fn deliver(&mut self, message: Inbound) {
        match self.shared.inbox.try_reserve() {
            Ok(permit) => {
                permit.send(message);
                add(&self.shared.counters.delivered);
            }
            Err(_) => self.undelivered = Some(message),
        }
    }

    /// Hands a message over after room was reserved.
    fn hand_over(&mut self, message: Inbound) {
        if self.inbox.send_item(message).is_ok() {
            add(&self.shared.counters.delivered);
        }
    }

    fn useless(&mut self, reason: Refusal) -> ControlFlow<Ended> {
        self.shared.counters.refuse(reason);
        self.burden(1.0)
    }

    /// A relay that a user chose may only be so much of a burden, and all of them together.
    fn burden(&mut self, burden: f64) -> ControlFlow<Ended> {
        self.burden_of(burden, burden)
    }

    /// The same of something that costs more than it is counted for.
    fn burden_of(&mut self, burden: f64, cost: f64) -> ControlFlow<Ended> {
        let Some(allowance) = &mut self.allowance else { return ControlFlow::Continue(()) };
        let now = Instant::now();
        if !allowance.take_part(burden, now) {
            return ControlFlow::Break(Ended::Nuisance);
        }
        if let Some(until) = self.shared.turns.take(cost, now) {
            self.resting_until = Some(until);
        }
        ControlFlow::Continue(())
    }

    fn heard(&mut self, now: Instant) {
        self.heard_at = now;
        self.pinged_at = None;
    }

    /// Sends what is queued, says good-bye, and listens until the relay has said it too: were the socket closed with
    /// something unread in it, the relay might lose what we sent last. All of it for a moment only.
    async fn part(&mut self) {
        let deadline = Instant::now() + self.shared.options.timing.drain;
        let parting = async {
            loop {
                let now = Instant::now();
                match (self.talk.say(now), self.talk.held_until(now)) {
                    (Some(frame), _) => self.sink.feed(Message::Text(frame)).await?,
                    (None, Some(at)) => {
                        self.sink.flush().await?;
                        sleep_until(at).await;
                    }
                    (None, None) => break,
                }
            }
            self.sink.send(Message::Close(None)).await?;
            while self.undelivered.is_none() {
                match self.stream.next().await {
                    Some(Ok(Message::Text(text))) if self.hear(&text).is_continue() => {}
                    Some(Ok(Message::Text(_) | Message::Close(_)) | Err(_)) | None => break,
                    Some(Ok(_)) => {}
                }
            }
            Ok::<_, tungstenite::Error>(())
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
