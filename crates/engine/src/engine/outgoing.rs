//! Outgoing messages: sent when their step is committed, and again with back-off until answered or expired.
//!
//! Relays forward the protocol's kinds to whoever listens at that moment and keep nothing, so one sending is no more than
//! a try. The outbox in the store says what is to be sent; how often it has been is kept in memory only: after a restart
//! the back-off begins anew.

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
use crate::StreamId;
use crate::ports::{Letter, OutboxMessage, Randomness, StoreError, Table};

/// Messages that wait to be sealed. When it is full, a message is left to its next repetition.
const QUEUE: usize = 4096;

/// Sent events that a device may still refer to (see `Inbound` subkey proofs): 65,536 × about 100 bytes.
const SENT_EVENTS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(65_535);

/// Users whose relays are kept in memory.
const KNOWN_USERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4095);

/// Seconds between one sending and the next; the last goes on. A wallet that comes to the foreground waits a minute at the
/// most, and a request that lives five minutes is sent eight times.
const AGAIN_AFTER: [u64; 6] = [2, 4, 8, 16, 32, 60];

/// After so many sendings, which is two hours, ...
const MANY: u8 = 120;

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

/// After how long what was sent `attempts` times is sent again: the schedule ± 20 %, so that crowds spread. `crowd` is how many
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
    let percent = 80 + u64::from(random[0]) * 40 / 255;
    Duration::from_millis(secs * 10 * percent)
}

/// After how long the `nth` operation that has something to send sends it, after a restart.
pub(super) const fn after_restart(nth: u64) -> Duration {
    Duration::from_millis(nth * 1000 / AFTER_RESTART_PER_SECOND)
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
        if messages.iter().all(|message| now >= message.until) {
            // Unless others have taken their place meanwhile, there is nothing to send any more.
            self.index.update(id, |stream| stream.resend_at = stream.resend_at.filter(|next| *next != at));
            self.timers.cancel(at, id, Alarm::Resend);
            return Ok(());
        }
        self.send_all(id, messages).await
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
        for message in messages {
            // What is to be sent no more, while it waited here, is to be sent again at no time.
            let wanted = self.index.get(id).is_some_and(|stream| stream.resend_at.is_some());
            if self.clock.now() >= message.until || !wanted {
                continue;
            }
            let relays = self.relays_of(&message.main_key).await?;
            let letter = Letter {
                kind: message.kind,
                content: message.content,
                recipients: message.recipients,
                participants: message.participants,
                relays: relays.to_vec(),
                until: message.until,
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
        for (attempts, secs) in [(0, 2), (1, 2), (2, 4), (6, 60), (119, 60), (120, 600), (u8::MAX, 600)] {
            assert_eq!(again_after(attempts, 0, &Always(0)), Duration::from_millis(secs * 800), "{attempts}");
            assert_eq!(again_after(attempts, CROWD, &Always(255)), Duration::from_millis(secs * 1200), "{attempts}");
        }
        let all: u64 = (1..MANY).map(|attempts| again_after(attempts, 0, &Always(127)).as_secs()).sum();
        assert!((6_600..7_200).contains(&all), "about two hours: {all}");
        for (attempts, secs) in [(1, 500), (6, 500), (120, 600)] {
            assert_eq!(again_after(attempts, 10_000, &Always(0)), Duration::from_millis(secs * 800), "twenty a second");
        }
    }
}
