//! Outgoing messages: sent when their step is committed, and again with back-off until answered or expired.
//!
//! Relays forward the protocol's kinds to whoever listens at that moment and keep nothing, so one sending is no more than
//! a try. The outbox in the store says what is to be sent; how often it has been is kept in memory only: after a restart
//! the back-off begins anew.
//!
//! Wallets know a repetition by the event's id: a fresh event is another prompt for the user and another attempt to pay. So for
//! [`SAME_EVENT`] a message is the same event each time. An event follows from the message and the time it says it was made (see
//! `Letter::made_at`), which the outbox has: nothing of it is kept in memory, and a restart changes nothing. Only after that a
//! fresh one is made, for the answer to the first may have been lost; it is repeated in the same way. (The time of that one is
//! in memory: a restart makes another.)

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lru::LruCache;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tracing::warn;
use usher_protocol::{EventId, PublicKey};

use super::Engine;
use super::timers::Alarm;
use crate::ports::{Letter, OutboxMessage, Randomness, StoreError, Table};
use crate::{StreamId, UnixMillis};

/// Messages that wait to be sealed. When it is full, a message is left to its next repetition.
const QUEUE: usize = 4096;

/// Sent events that a device may still refer to (see `Inbound` subkey proofs): 65,536 × about 100 bytes.
const SENT_EVENTS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(65_535);

/// Users whose relays are kept in memory.
const KNOWN_USERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4095);

/// For how long a message is the same event, whenever it is sent.
const SAME_EVENT: Duration = Duration::from_secs(90);

/// An event that says it was made later than this from now is of a clock that was ahead: relays would refuse it.
const CLOCKS_DIFFER: Duration = Duration::from_secs(60);

/// The longest that a repetition is put off; what is put off for longer is of a clock that was ahead.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// Seconds between one sending and the next; the last goes on. A wallet that comes to the foreground waits a minute at the
/// most, and a request that lives five minutes is sent ten times, as three events.
///
/// Relays may refuse an ephemeral event that is older than 60 s (strfry does, as it is configured by default). So the first event is sent
/// up to 54 s after it was made, the next thing to be sent is a fresh one after 108 s, and each of those is sent twice.
const AGAIN_AFTER: [u64; 6] = [2, 4, 8, 15, 25, 54];

/// After so many sendings, which is two hours, ...
pub(super) const MANY: u8 = 135;

/// ... so many seconds: a subscription may be asked for a year long.
const AGAIN_AFTER_MANY: u64 = 600;

/// Most repetitions per second of charges that the service makes by itself, when very many are open at the same time: relays
/// cut off floods, and logins go over the same relays.
const CHARGES_PER_SECOND: usize = 20;

/// More than so many take longer than a minute at that pace.
const CROWD: usize = 60 * CHARGES_PER_SECOND;

/// Repetitions per second right after a restart, when all that is unanswered is sent at once: relays cut off floods.
const AFTER_RESTART_PER_SECOND: u64 = 200;

/// What the task that sends is asked to do.
pub(super) enum Mail {
    /// Send these messages of an operation, just committed.
    New(StreamId, Vec<OutboxMessage>),
    /// Send what the operation has in the outbox.
    Again(StreamId),
}

/// The way to the task that sends, and what it remembers.
pub(super) struct Outgoing {
    queue: mpsc::Sender<Mail>,
    sent: Mutex<LruCache<EventId, StreamId>>,
    users: Mutex<LruCache<PublicKey, Arc<[String]>>>,
    /// Counts changes of users' relays: what was read from the store before one is not kept after it.
    changes: AtomicU64,
}

impl Outgoing {
    pub(super) fn new() -> (Self, mpsc::Receiver<Mail>) {
        let (queue, mail) = mpsc::channel(QUEUE);
        let (sent, users) = (Mutex::new(LruCache::new(SENT_EVENTS)), Mutex::new(LruCache::new(KNOWN_USERS)));
        (Self { queue, sent, users, changes: AtomicU64::new(0) }, mail)
    }

    /// Sends messages soon.
    pub(super) fn send(&self, id: StreamId, messages: Vec<OutboxMessage>) {
        // Full: not lost, the repetition reads the outbox.
        let _ = self.queue.try_send(Mail::New(id, messages));
    }

    pub(super) async fn resend(&self, id: StreamId) {
        // Fails only when everything stops.
        let _ = self.queue.send(Mail::Again(id)).await;
    }

    /// The operation that sent this event.
    pub(super) fn sender_of(&self, event: &EventId) -> Option<StreamId> {
        self.sent.lock().get(event).copied()
    }

    /// The user's relays have changed.
    pub(super) fn forget_user(&self, main_key: &PublicKey) {
        let mut users = self.users.lock();
        self.changes.fetch_add(1, Ordering::SeqCst);
        users.pop(main_key);
    }
}

/// After how long what was sent `attempts` times is sent again: the schedule ± 10 %, so that crowds spread. `crowd` is how many
/// are sent like it: a crowd takes its time.
fn again_after(attempts: u8, crowd: usize, randomness: &dyn Randomness) -> Duration {
    let step = usize::from(attempts.max(1)) - 1;
    let secs = match AGAIN_AFTER.get(step).or(AGAIN_AFTER.last()) {
        Some(secs) if attempts < MANY => *secs,
        _ => AGAIN_AFTER_MANY,
    };
    let all = (crowd / CHARGES_PER_SECOND) as u64;
    let secs = if crowd > CROWD { secs.max(all) } else { secs };
    let mut random = [0; 1];
    randomness.fill(&mut random);
    let percent = 90 + u64::from(random[0]) * 20 / 255;
    Duration::from_millis(secs * 10 * percent)
}

/// After how long the `nth` operation that has something to send sends it, after a restart.
pub(super) const fn after_restart(nth: u64) -> Duration {
    Duration::from_millis(nth * 1000 / AFTER_RESTART_PER_SECOND)
}

/// Whether an event made then is still the one to be sent.
fn is_current(made_at: UnixMillis, now: UnixMillis) -> bool {
    made_at <= now.plus(CLOCKS_DIFFER) && now < made_at.plus(SAME_EVENT)
}

impl Engine {
    /// Sends mail until everything stops.
    pub(super) async fn deliver(self: Arc<Self>, mut mail: mpsc::Receiver<Mail>) {
        loop {
            let mail = tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                mail = mail.recv() => mail,
            };
            let Some(mail) = mail else { return };
            let (id, result) = match mail {
                Mail::New(id, messages) => (id, self.send_all(id, messages).await),
                Mail::Again(id) => (id, self.send_again(id).await),
            };
            if let Err(failure) = result {
                warn!(stream_id = %id, error = ?failure, "a message waits for its next repetition");
            }
        }
    }

    /// After how long what was sent for the first time is sent again.
    pub(super) fn repeated_after(&self, unattended: bool) -> Duration {
        let crowd = if unattended { self.open_invoices() } else { 0 };
        again_after(1, crowd, &*self.randomness)
    }

    /// How many are sent like it, when nobody looks on at it. Asked of the store only when there is a crowd.
    async fn crowd_of(&self, id: StreamId) -> Result<usize, StoreError> {
        let crowd = self.open_invoices();
        if crowd <= CROWD {
            return Ok(0);
        }
        let stored = self.readable(id).await?;
        Ok(if stored.is_some_and(|(_, operation)| operation.is_unattended()) { crowd } else { 0 })
    }

    async fn send_again(&self, id: StreamId) -> Result<(), StoreError> {
        let crowd = self.crowd_of(id).await?;
        let now = self.clock.now();
        let mut again = None;
        self.index.update(id, |stream| {
            // An alarm of before the messages were replaced is nobody's.
            if stream.resend_at.is_some_and(|at| at <= now) {
                stream.attempts = stream.attempts.saturating_add(1);
                again = Some(now.plus(again_after(stream.attempts, crowd, &*self.randomness)));
                stream.resend_at = again;
            }
        });
        let Some(at) = again else { return Ok(()) };
        self.timers.set(at, id, Alarm::Resend);
        if self.index.get(id).is_none() {
            self.timers.cancel(at, id, Alarm::Resend); // finished just now
        }
        let messages = match self.store.outbox(id).await {
            Err(StoreError::Unreadable(_)) => {
                self.set_aside(Table::Outbox, id);
                Vec::new()
            }
            messages => messages?,
        };
        let pause = messages.iter().map(|message| message.not_before).max().unwrap_or_default();
        if now < pause && pause <= now.plus(LONGEST_PAUSE) {
            self.put_off(id, at, pause);
            return Ok(());
        }
        if messages.iter().all(|message| now >= message.until) {
            // Unless others have taken their place meanwhile, there is nothing to send any more.
            self.index.update(id, |stream| stream.resend_at = stream.resend_at.filter(|next| *next != at));
            self.timers.cancel(at, id, Alarm::Resend);
            return Ok(());
        }
        self.send_all(id, messages).await
    }

    /// What was to be sent again `at` some time is sent when the `pause` is over, and rarely after it.
    fn put_off(&self, id: StreamId, at: UnixMillis, pause: UnixMillis) {
        let stream = self.index.update(id, |stream| {
            if stream.resend_at == Some(at) {
                (stream.resend_at, stream.attempts) = (Some(pause), MANY);
            }
        });
        if stream.is_some_and(|stream| stream.resend_at == Some(pause)) {
            self.timers.cancel(at, id, Alarm::Resend);
            self.timers.set(pause, id, Alarm::Resend);
        }
    }

    /// Sends what is unanswered as after a restart: the times at which it was to be sent again are far off.
    pub(super) fn repeat_anew(&self) {
        let now = self.clock.now();
        for (nth, id) in (0..).zip(self.timers.take(Alarm::Resend)) {
            let at = now.plus(after_restart(nth));
            let stream = self.index.update(id, |stream| stream.resend_at = stream.resend_at.map(|_| at));
            if stream.is_some_and(|stream| stream.resend_at.is_some()) {
                self.timers.set(at, id, Alarm::Resend);
            }
        }
    }

    async fn send_all(&self, id: StreamId, messages: Vec<OutboxMessage>) -> Result<(), StoreError> {
        let everybody = messages.last().map(|message| message.participants.clone()).unwrap_or_default();
        for mut message in messages {
            let now = self.clock.now();
            // What is to be sent no more, while it waited here, is to be sent again at no time.
            let wanted = self.index.get(id).is_some_and(|stream| stream.resend_at.is_some());
            if now >= message.until || !wanted {
                continue;
            }
            if !is_current(message.made_at, now) {
                message.made_at = self.renewed_at(id, now);
                message.participants.clone_from(&everybody);
            }
            let relays = self.relays_of(&message.main_key).await?;
            let letter = Letter {
                kind: message.kind,
                content: message.content,
                recipients: message.recipients,
                participants: message.participants,
                relays: relays.to_vec(),
                until: message.until,
                made_at: message.made_at,
            };
            let events = self.messenger.send(&letter);
            self.counts.sent();
            let mut sent = self.outgoing.sent.lock();
            for event in events {
                sent.put(event, id);
            }
        }
        Ok(())
    }

    /// When the events were made that take the place of the first ones: now, unless there are some that are still current.
    fn renewed_at(&self, id: StreamId, now: UnixMillis) -> UnixMillis {
        let stream = self.index.update(id, |stream| {
            if !is_current(stream.renewed_at, now) {
                stream.renewed_at = now;
            }
        });
        stream.map_or(now, |stream| stream.renewed_at)
    }

    async fn relays_of(&self, main_key: &PublicKey) -> Result<Arc<[String]>, StoreError> {
        if let Some(relays) = self.outgoing.users.lock().get(main_key) {
            return Ok(Arc::clone(relays));
        }
        let changes = self.outgoing.changes.load(Ordering::SeqCst);
        let relays: Arc<[String]> = match self.store.user_relays(main_key).await {
            Err(StoreError::Unreadable(_)) => {
                self.set_aside(Table::UserRelays, main_key.to_hex());
                Arc::default()
            }
            relays => relays?.into(),
        };
        let mut users = self.outgoing.users.lock();
        if self.outgoing.changes.load(Ordering::SeqCst) == changes {
            users.put(*main_key, Arc::clone(&relays));
        }
        drop(users);
        Ok(relays)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Always;

    #[test]
    fn what_stays_unanswered_is_sent_less_and_less_often() {
        for (attempts, secs) in [(0, 2), (1, 2), (2, 4), (6, 54), (134, 54), (135, 600), (u8::MAX, 600)] {
            assert_eq!(again_after(attempts, 0, &Always(0)), Duration::from_millis(secs * 900), "{attempts}");
            assert_eq!(again_after(attempts, CROWD, &Always(255)), Duration::from_millis(secs * 1100), "{attempts}");
        }
        let all: u64 = (1..MANY).map(|attempts| again_after(attempts, 0, &Always(127)).as_secs()).sum();
        assert!((6_600..7_200).contains(&all), "about two hours: {all}");
        for (attempts, secs) in [(1, 500), (6, 500), (135, 600)] {
            assert_eq!(again_after(attempts, 10_000, &Always(0)), Duration::from_millis(secs * 900), "twenty a second");
        }
    }

    #[test]
    fn an_event_is_current_for_90_seconds_and_not_when_it_is_of_the_future() {
        let made_at = UnixMillis(1_800_000_000_000);
        for (offset, current) in [(0, true), (89_999, true), (90_000, false)] {
            assert_eq!(is_current(made_at, made_at.plus(Duration::from_millis(offset))), current, "{offset} ms later");
        }
        for (offset, current) in [(60_000, true), (60_001, false)] {
            assert_eq!(
                is_current(made_at, made_at.minus(Duration::from_millis(offset))),
                current,
                "{offset} ms before"
            );
        }
        assert!(!is_current(UnixMillis(0), made_at));
    }
}
