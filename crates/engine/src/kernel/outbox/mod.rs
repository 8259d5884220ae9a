//! The outbox: messages to users are sent when their step is committed, and repeated with back-off until they are
//! answered or expire.
//!
//! Relays do not store the protocol's event kinds, so each sending is only an attempt. The number of attempts is in
//! memory: after a restart the back-off starts over.
//!
//! Wallets recognise a repetition by the event's id: a fresh event prompts the user again and may pay again. So for 90
//! seconds a message is the same event, determined by its `made_at` (see `OutgoingMessage::made_at`), also after a
//! restart. Then a fresh event is created, in case the reply to the first was lost; its time is only in memory.
//!
//! Deployed wallets reply to every copy in turn, which on relays without `OK` takes ten seconds each. So the same event
//! is not repeated to a wallet that was active after it was sent. A fresh one is, because the wallet's message may have
//! been about another request.

mod schedule;
mod user_relays;
mod wallet_activity;

use std::sync::Arc;
use std::time::Duration;

use lru::LruCache;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tracing::warn;
use usher_places::bounded;
use usher_protocol::{EventId, PublicKey};

use self::schedule::{LATE, MANY_CHARGES, after_restart, interval, is_current};
pub(crate) use self::user_relays::RelayChanges;
use self::user_relays::UserRelayCache;
use self::wallet_activity::WalletActivity;
use super::invoice_watcher::InvoiceWatcher;
use super::timers::{MonotonicMillis, TimerKind};
use crate::kernel::core::Core;
use crate::ports::{Messenger, OutboxMessage, OutgoingMessage, StoreError, Table, UserRelays};
use crate::{Requester, StreamId, UnixMillis};

/// Messages waiting to be sealed. If the queue is full, a message is sent [`SOON`].
const QUEUE: usize = 4096;

/// When a message that could not be sent at once is sent.
const SOON: Duration = Duration::from_secs(2);

/// Sent events to which a device may still refer (`Inbound` subkey proofs): 65,536 × about 100 bytes.
const SENT_EVENTS: usize = 65_536;

/// The longest postponement of a repetition; a longer one is due to a clock that was ahead.
const MAX_PAUSE: Duration = Duration::from_secs(600);

pub(crate) enum SendJob {
    New(StreamId, Vec<OutboxMessage>),
    Again(StreamId),
}

pub(crate) struct Outbox {
    core: Core,
    messenger: Arc<dyn Messenger>,
    watcher: Arc<InvoiceWatcher>,
    queue: mpsc::Sender<SendJob>,
    sent: Mutex<LruCache<EventId, StreamId>>,
    wallet_activity: WalletActivity,
    users: UserRelayCache,
}

impl Outbox {
    pub(crate) fn new(
        core: Core,
        messenger: Arc<dyn Messenger>,
        watcher: Arc<InvoiceWatcher>,
    ) -> (Self, mpsc::Receiver<SendJob>) {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let sent = Mutex::new(bounded(SENT_EVENTS));
        let users = UserRelayCache::new(core.store.clone(), Arc::clone(&core.damaged_rows));
        (Self { core, messenger, watcher, queue, sent, wallet_activity: WalletActivity::new(), users }, jobs)
    }

    pub(crate) fn send(&self, id: StreamId, messages: Vec<OutboxMessage>) {
        if self.queue.try_send(SendJob::New(id, messages)).is_err() {
            self.send_soon(id);
        }
    }

    /// Sends a message without storing it in the outbox. Sealing takes some tens of microseconds.
    pub(crate) fn send_once(&self, message: &OutgoingMessage) {
        self.messenger.send(message);
        self.core.metrics.sent();
    }

    pub(crate) async fn resend(&self, id: StreamId) {
        // Fails only when the engine stops.
        let _ = self.queue.send(SendJob::Again(id)).await;
    }

    pub(crate) fn sender_of(&self, event: &EventId) -> Option<StreamId> {
        self.sent.lock().get(event).copied()
    }

    pub(crate) fn record_activity(&self, author: PublicKey) {
        self.wallet_activity.record(author, self.core.clock.now());
    }

    /// Remembers a user's relays in memory, without storing them, while there is room.
    pub(crate) fn remember_user(&self, user: UserRelays) {
        self.users.put(user);
    }

    /// Begins a change of users' relays by a commit. No relays named: those known remain.
    pub(crate) fn begin_changes(&self, named: impl Iterator<Item = UserRelays>) -> RelayChanges<'_> {
        self.users.begin(named.filter(|user| !user.relays.is_empty()).collect())
    }

    pub(crate) fn forget_user(&self, main_key: &PublicKey) {
        self.users.forget(main_key);
    }

    /// The time until the first repetition of a message. `unattended`: no user waits for it.
    pub(crate) fn first_interval(&self, unattended: bool) -> Duration {
        let charges = if unattended { self.watcher.open_count() } else { 0 };
        interval(1, charges, &*self.core.randomness)
    }

    pub(crate) const fn after_restart(nth: u64) -> Duration {
        after_restart(nth)
    }

    pub(crate) const LATE: u8 = LATE;

    pub(crate) async fn run(self: Arc<Self>, mut jobs: mpsc::Receiver<SendJob>) {
        while let Some(Some(job)) = self.core.tasks.unless_stopped(jobs.recv()).await {
            let (id, is_new, result) = match job {
                SendJob::New(id, messages) => (id, true, self.send_all(id, messages, false).await),
                SendJob::Again(id) => (id, false, self.send_again(id).await),
            };
            if let Err(failure) = result {
                warn!(stream_id = %id, error = ?failure, "a message waits for its next repetition");
                if is_new {
                    self.send_soon(id);
                }
            }
        }
    }

    /// The number of charges sent in the same way; 0 if a user waits. Queries the store only if there are many.
    async fn charges_like(&self, id: StreamId) -> Result<usize, StoreError> {
        let charges = self.watcher.open_count();
        if charges <= MANY_CHARGES {
            return Ok(0);
        }
        let stored = self.core.readable(&Requester::Service, id).await?;
        Ok(if stored.is_some_and(|(_, operation)| operation.is_unattended()) { charges } else { 0 })
    }

    async fn send_again(&self, id: StreamId) -> Result<(), StoreError> {
        let charges = self.charges_like(id).await?;
        let (timers, now) = (&self.core.timers, self.core.clock.now());
        let (mut again, mut was_sent) = (None, false);
        self.core.index.update(id, |stream| {
            // Otherwise the timer is of replaced messages.
            if stream.resend_at.is_some_and(|at| at <= timers.now()) {
                was_sent = stream.attempts > 0;
                stream.attempts = stream.attempts.saturating_add(1);
                again = Some(timers.after(interval(stream.attempts, charges, &*self.core.randomness)));
                stream.resend_at = again;
            }
        });
        let Some(at) = again else { return Ok(()) };
        timers.set(at, id, TimerKind::Resend);
        if self.core.index.get(id).is_none() {
            timers.cancel(at, id, TimerKind::Resend); // finished just now
        }
        let messages = match self.core.store.outbox(id).await {
            Err(StoreError::Unreadable(_)) => {
                self.core.damaged_rows.set_aside(Table::Outbox, id);
                Vec::new()
            }
            messages => messages?,
        };
        let pause = messages.iter().map(|message| message.not_before).max().unwrap_or_default();
        if now < pause && pause <= now.plus(MAX_PAUSE) {
            self.postpone(id, at, timers.after(pause.since(now)));
            return Ok(());
        }
        if messages.iter().all(|message| now >= message.until) {
            // Nothing to send, unless other messages have replaced them meanwhile.
            self.core.index.update(id, |stream| stream.resend_at = stream.resend_at.filter(|next| *next != at));
            timers.cancel(at, id, TimerKind::Resend);
            return Ok(());
        }
        self.send_all(id, messages, was_sent).await
    }

    /// Schedules messages that could not be sent.
    fn send_soon(&self, id: StreamId) {
        let at = self.core.timers.after(SOON);
        let mut before = None;
        self.core.index.update(id, |stream| {
            before = stream.resend_at;
            if before.is_some() {
                (stream.resend_at, stream.attempts) = (Some(at), 0);
            }
        });
        if let Some(before) = before {
            self.core.timers.cancel(before, id, TimerKind::Resend);
            self.core.timers.set(at, id, TimerKind::Resend);
        }
    }

    /// Postpones the repetition due `at` some time to the end of the `pause`; later repetitions are rare.
    fn postpone(&self, id: StreamId, at: MonotonicMillis, pause: MonotonicMillis) {
        let stream = self.core.index.update(id, |stream| {
            if stream.resend_at == Some(at) {
                (stream.resend_at, stream.attempts) = (Some(pause), LATE);
            }
        });
        if stream.is_some_and(|stream| stream.resend_at == Some(pause)) {
            self.core.timers.cancel(at, id, TimerKind::Resend);
            self.core.timers.set(pause, id, TimerKind::Resend);
        }
    }

    /// Sends the messages. If they `were_sent` before, wallets active since do not get the same event again.
    async fn send_all(&self, id: StreamId, messages: Vec<OutboxMessage>, were_sent: bool) -> Result<(), StoreError> {
        let everybody = messages.last().map(|message| message.participants.clone()).unwrap_or_default();
        for mut message in messages {
            let now = self.core.clock.now();
            // The operation may have removed it from the outbox while it was queued.
            let wanted = self.core.index.get(id).is_some_and(|stream| stream.resend_at.is_some());
            if now >= message.until || !wanted {
                continue;
            }
            if !is_current(message.made_at, now) {
                message.made_at = self.renewed_at(id, now);
                message.participants.clone_from(&everybody);
            } else if were_sent {
                message.recipients.retain(|key| !self.wallet_activity.was_active_between(key, message.made_at, now));
                if message.recipients.is_empty() {
                    continue;
                }
            }
            let relays = self.users.get(&message.main_key).await?;
            let message = OutgoingMessage {
                kind: message.kind,
                content: message.content,
                recipients: message.recipients,
                participants: message.participants,
                relays: relays.to_vec(),
                until: message.until,
                made_at: message.made_at,
                signer: None,
            };
            let events = self.messenger.send(&message);
            self.core.metrics.sent();
            let mut sent = self.sent.lock();
            for event in events {
                sent.put(event, id);
            }
        }
        Ok(())
    }

    /// The `made_at` of the events that replace the first ones: now, unless the existing ones are still current.
    fn renewed_at(&self, id: StreamId, now: UnixMillis) -> UnixMillis {
        let stream = self.core.index.update(id, |stream| {
            if !is_current(stream.renewed_at, now) {
                stream.renewed_at = now;
            }
        });
        stream.map_or(now, |stream| stream.renewed_at)
    }
}

#[cfg(test)]
mod tests;
