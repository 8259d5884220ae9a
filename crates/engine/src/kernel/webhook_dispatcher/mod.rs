//! The webhook dispatcher: delivers events to the app's webhook at least once, in order within a stream, independently
//! of other streams.
//!
//! On the reserved stream this applies per subscription: each has its own delivery queue ([`Delivery::queue`]). In this
//! module a queue is called a stream; for other streams, its id is the stream's.
//!
//! Pending deliveries are in the store, written with their events. Memory only has the streams with pending deliveries
//! and their due times, up to a limit; others are read from the store when there is room.
//!
//! ```text
//! committed ─▶ pending streams ─▶ timers ─▶ queue ─▶ a permit ─▶ one post ─▶ record ─▶ the next one, or later
//! store ────────────┘ (at the start, and those there was no room for)
//! ```

mod operator_view;
mod outcomes;
mod pending_streams;
mod schedule;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tracing::{info, warn};

pub use self::operator_view::RetryError;
use self::outcomes::{ReceiverHealth, Unrecorded};
use self::pending_streams::{Loaded, PendingStreams};
use self::schedule::{GIVE_UP_AFTER, interval};
use super::timers::{TimerKind, left};
use crate::kernel::core::Core;
use crate::ports::{
    Delivery, DeliveryAttempt, DeliveryStatus, DeliveryStore, Posted, StoreError, Table, WebhookSender,
};
use crate::{StreamId, UnixMillis};

/// Most streams with pending deliveries in memory (about 150 bytes each, with the timer).
const IN_MEMORY: usize = 50_000;

/// Most concurrent posts, each with a socket. If all hang, others wait at most for the sender's deadline.
const CONCURRENT_POSTS: usize = 1_024;

const PAGE: usize = 1000;

/// How often the store is queried for streams that did not fit.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(30);

/// Streams due within this time stay in memory even if room is scarce; longer than [`ASK_AGAIN_AFTER`].
const SOON: Duration = Duration::from_secs(60);

/// Delivers events to the app.
pub struct WebhookDispatcher {
    core: Core,
    store: Arc<dyn DeliveryStore>,
    sender: Option<Arc<dyn WebhookSender>>,
    streams: Mutex<PendingStreams>,
    room: Notify,
    permits: Arc<Semaphore>,
    unrecorded: Unrecorded,
    health: ReceiverHealth,
    queue: mpsc::Sender<StreamId>,
}

pub(crate) struct DueStreams(mpsc::Receiver<StreamId>);

impl WebhookDispatcher {
    pub(crate) fn new(
        core: Core,
        store: Arc<dyn DeliveryStore>,
        sender: Option<Arc<dyn WebhookSender>>,
    ) -> (Self, DueStreams) {
        let (queue, due) = mpsc::channel(IN_MEMORY);
        let dispatcher = Self {
            core,
            store,
            sender,
            streams: Mutex::new(PendingStreams::new(IN_MEMORY)),
            room: Notify::new(),
            permits: Arc::new(Semaphore::new(CONCURRENT_POSTS)),
            unrecorded: Unrecorded::default(),
            health: ReceiverHealth::default(),
            queue,
        };
        (dispatcher, DueStreams(due))
    }

    pub(crate) fn is_on(&self) -> bool {
        self.sender.is_some()
    }

    /// Whether nothing is being posted or waits for a permit.
    pub(crate) fn is_idle(&self) -> bool {
        self.permits.available_permits() == CONCURRENT_POSTS && self.queue.capacity() == IN_MEMORY
    }

    pub(crate) fn deliver_soon(&self, stream: StreamId) {
        if self.is_on() && self.streams.lock().record(stream) {
            self.core.timers.set(self.core.timers.now(), stream, TimerKind::Deliver);
        }
    }

    /// Queues a stream, whose timer has fired, for a permit. Never waits, because all timers would.
    pub(crate) fn due(&self, stream: StreamId) {
        // Closed only when the engine stops.
        if let Err(mpsc::error::TrySendError::Full(stream)) = self.queue.try_send(stream) {
            self.streams.lock().put_off(stream);
        }
    }

    pub(crate) async fn remove_old(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.store.forget_deliveries(before, limit).await
    }

    /// Sets timers for the store's pending deliveries that are due soon, while there is room. After an error, the rest
    /// is read the next time.
    pub(crate) async fn load(&self) -> Result<(), StoreError> {
        if !self.is_on() {
            return Ok(());
        }
        let begin = self.streams.lock().ask();
        let now = self.core.clock.now();
        let (mut after, mut more, mut loaded) = (begin, begin.is_some(), 0);
        let end = 'pages: loop {
            let pending = match self.store.pending_queues(after, PAGE).await {
                Ok(pending) => pending,
                Err(failure) => {
                    more = true;
                    break Err(failure);
                }
            };
            for (stream, due_at) in &pending {
                let wait = due_at.since(now);
                let what = self.streams.lock().load(*stream, wait <= SOON);
                match what {
                    Loaded::New => {
                        // A later time may be due to a clock that was ahead; the delivery has its pause.
                        let at = self.core.timers.after(wait.min(SOON));
                        self.core.timers.set(at, *stream, TimerKind::Deliver);
                        loaded += 1;
                    }
                    Loaded::Known => {}
                    Loaded::Later => more = true,
                    Loaded::Full => {
                        more = true;
                        break 'pages Ok(());
                    }
                }
            }
            after = pending.last().map(|(stream, _)| *stream);
            if pending.len() < PAGE {
                after = None;
                break Ok(());
            }
        };
        self.streams.lock().asked(after, more, loaded);
        end
    }

    /// Loads streams that did not fit when there is room, until the engine stops.
    pub(crate) async fn keep_loaded(self: Arc<Self>) {
        loop {
            tokio::select! {
                () = self.core.clock.sleep(ASK_AGAIN_AFTER) => {}
                () = self.room.notified() => {}
                () = self.core.tasks.stopped() => return,
            }
            let has_more = self.streams.lock().has_more();
            if has_more && let Err(failure) = self.load().await {
                warn!(error = ?failure, "pending deliveries could not be read");
            }
        }
    }

    pub(crate) async fn run(self: Arc<Self>, DueStreams(mut due): DueStreams) {
        loop {
            let next = async {
                let stream = due.recv().await?;
                Some((stream, Arc::clone(&self.permits).acquire_owned().await.ok()?))
            };
            let Some(Some((stream, permit))) = self.core.tasks.unless_stopped(next).await else { return };
            let begins = self.streams.lock().begin(stream, self.core.timers.now());
            if let Some(is_over) = begins {
                self.core.tasks.spawn(Arc::clone(&self).deliver_stream(stream, is_over, permit));
            }
        }
    }

    /// Delivers the pending events of one stream, one after the other, until it must wait or others need its permit.
    /// `is_over`: the pause before the first attempt has passed, whatever the wall clock shows.
    async fn deliver_stream(self: Arc<Self>, stream: StreamId, mut is_over: bool, _permit: OwnedSemaphorePermit) {
        let _guard = PanicGuard { streams: &self.streams, stream };
        loop {
            match self.deliver_next(stream, std::mem::take(&mut is_over)).await {
                Ok(Next::Stop) => return,
                Ok(Next::Now) if self.permits.available_permits() == 0 => {
                    self.deliver_after(stream, Duration::ZERO, false);
                    break;
                }
                Ok(Next::Now) => {}
                Ok(Next::Nothing) => {
                    if self.streams.lock().rest(stream) {
                        break;
                    }
                }
                // An operator may have hurried what was read as due later.
                Ok(Next::After(_)) if self.streams.lock().was_woken(stream) => {}
                Ok(Next::After(pause)) => {
                    self.deliver_after(stream, pause, true);
                    break;
                }
                Err(failure) => {
                    warn!(stream_id = %stream, error = ?failure, "a delivery waits for the store");
                    self.deliver_after(stream, self.unrecorded.pause(stream), false);
                    break;
                }
            }
        }
        if self.streams.lock().has_room_for_more() {
            self.room.notify_one();
        }
    }

    /// Schedules the stream after `wait`; `is_pause`: this is the pause before its next attempt.
    fn deliver_after(&self, stream: StreamId, wait: Duration, is_pause: bool) {
        let at = self.core.timers.after(wait);
        if self.streams.lock().later(stream, is_pause.then_some(at), wait <= SOON) {
            self.core.timers.set(at, stream, TimerKind::Deliver);
        }
    }

    async fn deliver_next(&self, queue: StreamId, is_over: bool) -> Result<Next, StoreError> {
        let Some(sender) = &self.sender else { return Ok(Next::Nothing) };
        if self.core.tasks.is_stopping() {
            return Ok(Next::Stop);
        }
        let now = self.core.clock.now();
        if let Some(attempt) = self.unrecorded.get(queue) {
            let next = next_after(&attempt, now);
            return self.record(queue, attempt).await.map(|()| next);
        }
        if self.unrecorded.is_full() {
            return Ok(Next::After(ASK_AGAIN_AFTER));
        }
        let delivery = match self.store.next_delivery(queue).await {
            Ok(Some(delivery)) => delivery,
            Ok(None) => return Ok(Next::Nothing),
            Err(StoreError::Unreadable(_)) => {
                let Some((stream, index)) = self.store.set_aside_delivery(queue, now).await? else {
                    return Ok(Next::Nothing);
                };
                self.core.damaged_rows.set_aside(Table::Deliveries, format_args!("{stream}:{index}"));
                return Ok(Next::Now);
            }
            Err(failure) => return Err(failure),
        };
        let set_at = delivery.last_attempt_at.unwrap_or_default().max(delivery.since);
        let pause = left(delivery.due_at, set_at, now);
        if !is_over && !pause.is_zero() {
            return Ok(Next::After(pause));
        }
        let posted = tokio::select! {
            biased;
            posted = sender.post(delivery.stream, &delivery.event, now) => posted,
            // A running post is aborted, not recorded, and repeated after the next start. A finished one is recorded.
            () = self.core.tasks.stopped() => return Ok(Next::Stop),
        };
        self.health.observe(&posted, self.core.clock.monotonic());
        let stream = delivery.stream;
        let attempt = self.attempt(&delivery, posted);
        let next = next_after(&attempt, attempt.at);
        if attempt.status == DeliveryStatus::Failed {
            let index = attempt.index;
            warn!(stream_id = %stream, index, "a webhook delivery is given up; it can be retried");
        } else if delivery.attempts > 0 && attempt.status == DeliveryStatus::Delivered {
            let attempts = delivery.attempts + 1;
            info!(stream_id = %stream, index = attempt.index, attempts, "a webhook delivery succeeded after retries");
        }
        self.core.metrics.attempted(attempt.status);
        self.record(queue, attempt).await.map(|()| next)
    }

    async fn record(&self, queue: StreamId, attempt: DeliveryAttempt) -> Result<(), StoreError> {
        match self.store.record_attempt(attempt.clone()).await {
            Ok(_) => {
                self.unrecorded.recorded(queue);
                Ok(())
            }
            Err(failure) => {
                self.unrecorded.keep(queue, attempt);
                Err(failure)
            }
        }
    }

    fn attempt(&self, delivery: &Delivery, posted: Posted) -> DeliveryAttempt {
        let at = self.core.clock.now();
        let (status, due_at, http_status, error) = match posted {
            Posted::Accepted { http_status } => (DeliveryStatus::Delivered, at, Some(http_status), None),
            Posted::Refused { http_status, reason, retry_after } => {
                let attempts = delivery.attempts.saturating_add(1);
                let due_at = at.plus(interval(attempts, retry_after, &*self.core.randomness));
                let given_up = delivery.waited.saturating_add(due_at.since(at)) > GIVE_UP_AFTER;
                let status = if given_up { DeliveryStatus::Failed } else { DeliveryStatus::Pending };
                (status, due_at, http_status, Some(reason))
            }
        };
        DeliveryAttempt { stream: delivery.stream, index: delivery.event.index, at, status, due_at, http_status, error }
    }
}

/// Returns a stream whose delivery panics to the store, so that it does not wait forever.
struct PanicGuard<'a> {
    streams: &'a Mutex<PendingStreams>,
    stream: StreamId,
}

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.streams.lock().lose(self.stream);
        }
    }
}

fn next_after(attempt: &DeliveryAttempt, now: UnixMillis) -> Next {
    match attempt.status {
        DeliveryStatus::Pending => Next::After(left(attempt.due_at, attempt.at, now)),
        DeliveryStatus::Delivered | DeliveryStatus::Failed => Next::Now,
    }
}

enum Next {
    Now,
    After(Duration),
    Nothing,
    Stop,
}

#[cfg(test)]
mod tests;
