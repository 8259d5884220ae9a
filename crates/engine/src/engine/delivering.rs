//! Delivering events to the app's webhook: at least once, in order within a stream, streams independent of each other.
//!
//! What is pending stands in the store, written with its event. In memory is only which streams have something pending
//! and when it is due, up to a bound; the store is asked again when there is room.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tracing::{info, warn};

use super::Engine;
use super::timers::Alarm;
use crate::ports::{
    Delivery, DeliveryAttempt, DeliveryCounts, DeliveryStatus, DeliveryStore, Posted, Randomness, Receiver, StoreError,
};
use crate::{StreamId, UnixMillis};

/// Most posts at the same time. A receiver that hangs holds each for the receiver's time limit (20 s).
const AT_ONCE: usize = 256;

/// Most streams with pending deliveries kept in memory (60 bytes each).
const IN_MEMORY: usize = 50_000;

/// Streams read from the store at a time.
const PAGE: usize = 1000;

/// Seconds from one attempt to the next; the last goes on until [`GIVE_UP_AFTER`].
const AGAIN_AFTER: [u64; 9] = [5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800];

/// A delivery that has failed for so long is kept as failed: three days are a long week-end.
const GIVE_UP_AFTER: Duration = Duration::from_secs(72 * 3600);

/// The longest that a receiver's `Retry-After` is honoured.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3600);

/// After how long a delivery is looked at again when the store failed.
const AFTER_STORE_FAILURE: Duration = Duration::from_secs(5);

/// Deliveries of events to the app.
pub(super) struct Deliveries {
    store: Arc<dyn DeliveryStore>,
    receiver: Option<Arc<dyn Receiver>>,
    streams: Mutex<Streams>,
    permits: Arc<Semaphore>,
    due: mpsc::Sender<StreamId>,
}

#[derive(Default)]
struct Streams {
    known: HashMap<StreamId, Progress>,
    /// There are streams with pending deliveries that are not known here.
    more_in_store: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// A timer is set.
    Scheduled,
    /// Being delivered; `true`: something was added meanwhile.
    Delivering(bool),
}

impl Deliveries {
    pub(super) fn new(
        store: Arc<dyn DeliveryStore>,
        receiver: Option<Arc<dyn Receiver>>,
    ) -> (Self, mpsc::Receiver<StreamId>) {
        // As many streams as are known fit, so that timers never wait for a receiver.
        let (due, streams_due) = mpsc::channel(IN_MEMORY * 2);
        let permits = Arc::new(Semaphore::new(AT_ONCE));
        (Self { store, receiver, streams: Mutex::default(), permits, due }, streams_due)
    }

    /// A stream's timer fired.
    pub(super) async fn due(&self, stream: StreamId) {
        // Fails only when everything stops.
        let _ = self.due.send(stream).await;
    }

    /// Whether events are delivered at all.
    pub(super) fn is_on(&self) -> bool {
        self.receiver.is_some()
    }

    /// Forgets deliveries that were delivered or given up before `before`, at most `limit`; says how many.
    pub(super) async fn forget(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.store.forget_deliveries(before, limit).await
    }

    /// Notes that `stream` has something pending; says whether a timer is to be set for it.
    fn note(&self, stream: StreamId) -> bool {
        let mut streams = self.streams.lock();
        let full = streams.known.len() >= IN_MEMORY;
        match streams.known.get_mut(&stream) {
            Some(Progress::Scheduled) => return false,
            Some(Progress::Delivering(more)) => *more = true,
            None if full => streams.more_in_store = true,
            None => {
                streams.known.insert(stream, Progress::Scheduled);
                return true;
            }
        }
        false
    }

    /// Ends a stream's delivery for now: `false` when something was added meanwhile, and it goes on.
    fn rest(&self, stream: StreamId) -> bool {
        let mut streams = self.streams.lock();
        match streams.known.get_mut(&stream) {
            Some(Progress::Delivering(more @ true)) => {
                *more = false;
                false
            }
            _ => {
                streams.known.remove(&stream);
                true
            }
        }
    }

    /// The stream waits for a timer.
    fn schedule(&self, stream: StreamId) {
        self.streams.lock().known.insert(stream, Progress::Scheduled);
    }

    /// The stream shall be looked at now, whatever it waits for.
    fn hurry(&self, stream: StreamId) {
        let mut streams = self.streams.lock();
        let progress = streams.known.entry(stream).or_insert(Progress::Scheduled);
        if let Progress::Delivering(more) = progress {
            *more = true;
        }
    }

    /// Begins a stream's delivery; `false` when it is being delivered already, and will go on with what was added. Never
    /// two at a time, or order would be lost.
    fn begin(&self, stream: StreamId) -> bool {
        let mut streams = self.streams.lock();
        let progress = streams.known.entry(stream).or_insert(Progress::Scheduled);
        let runs = matches!(progress, Progress::Delivering(_));
        *progress = Progress::Delivering(runs);
        !runs
    }

    /// Whether the store has streams that are not known here and there is room for them again; asked once.
    fn has_room_for_more(&self) -> bool {
        let mut streams = self.streams.lock();
        let room = streams.more_in_store && streams.known.len() < IN_MEMORY / 2;
        if room {
            streams.more_in_store = false;
        }
        room
    }
}

/// After how long a delivery that failed `attempts` times is attempted again: the schedule and up to 20 % more, so that
/// crowds spread; not before the receiver wants it.
fn again_after(attempts: u32, wanted: Option<Duration>, randomness: &dyn Randomness) -> Duration {
    let step = usize::try_from(attempts.saturating_sub(1)).unwrap_or(usize::MAX);
    let secs = AGAIN_AFTER.get(step).or(AGAIN_AFTER.last()).copied().unwrap_or(3600);
    let mut random = [0; 1];
    randomness.fill(&mut random);
    let scheduled = Duration::from_millis(secs * 1000 + secs * 200 * u64::from(random[0]) / 255);
    scheduled.max(wanted.unwrap_or_default().min(LONGEST_WAIT))
}

impl Engine {
    /// Sets timers for what is pending in the store: at the start, and when there is room in memory again.
    pub(super) async fn load_deliveries(&self) -> Result<(), StoreError> {
        if !self.deliveries.is_on() {
            return Ok(());
        }
        let mut after = None;
        loop {
            let pending = self.deliveries.store.pending_streams(after, PAGE).await?;
            for (stream, due_at) in &pending {
                if self.deliveries.note(*stream) {
                    self.timers.set(*due_at, *stream, Alarm::Deliver);
                }
            }
            match pending.last() {
                Some(last) if pending.len() == PAGE && !self.deliveries.streams.lock().more_in_store => {
                    after = Some(last.0);
                }
                _ => return Ok(()),
            }
        }
    }

    /// Events of `stream` were committed: they are due at once.
    pub(super) fn deliver_soon(&self, stream: StreamId, now: UnixMillis) {
        if self.deliveries.is_on() && self.deliveries.note(stream) {
            self.timers.set(now, stream, Alarm::Deliver);
        }
    }

    /// Begins deliveries that are due, as soon as there is a free place, until everything stops.
    pub(super) async fn deliver_to_app(self: Arc<Self>, mut due: mpsc::Receiver<StreamId>) {
        loop {
            let next = async {
                let stream = due.recv().await?;
                // The semaphore is never closed.
                let permit = Arc::clone(&self.deliveries.permits).acquire_owned().await.ok()?;
                Some((stream, permit))
            };
            let next = tokio::select! {
                next = next => next,
                () = self.stop.cancelled() => return,
            };
            let Some((stream, permit)) = next else { return };
            if self.deliveries.begin(stream) {
                self.tasks.spawn(Arc::clone(&self).deliver_stream(stream, permit));
            }
        }
    }

    /// Delivers what is pending on one stream, one after the other, until it must wait.
    async fn deliver_stream(self: Arc<Self>, stream: StreamId, _permit: OwnedSemaphorePermit) {
        loop {
            let next = tokio::select! {
                next = self.deliver_next(stream) => next,
                // A post that runs is cut off: not recorded, it is made again at the next start.
                () = self.stop.cancelled() => return,
            };
            match next {
                Ok(Next::Now) => {}
                Ok(Next::Nothing) => {
                    if self.deliveries.rest(stream) {
                        break;
                    }
                }
                Ok(Next::At(at)) => return self.deliver_at(stream, at),
                Err(failure) => {
                    warn!(stream_id = %stream, error = ?failure, "a delivery waits for the store");
                    return self.deliver_at(stream, self.clock.now().plus(AFTER_STORE_FAILURE));
                }
            }
        }
        if self.deliveries.has_room_for_more()
            && let Err(failure) = self.load_deliveries().await
        {
            warn!(error = ?failure, "pending deliveries could not be read");
            self.deliveries.streams.lock().more_in_store = true;
        }
    }

    fn deliver_at(&self, stream: StreamId, at: UnixMillis) {
        self.deliveries.schedule(stream);
        self.timers.set(at, stream, Alarm::Deliver);
    }

    async fn deliver_next(&self, stream: StreamId) -> Result<Next, StoreError> {
        let Some(receiver) = &self.deliveries.receiver else { return Ok(Next::Nothing) };
        let Some(delivery) = self.deliveries.store.next_delivery(stream).await? else { return Ok(Next::Nothing) };
        let now = self.clock.now();
        if delivery.due_at > now {
            return Ok(Next::At(delivery.due_at));
        }
        let posted = receiver.post(stream, &delivery.event, now).await;
        let attempt = self.outcome(&delivery, posted);
        let next = match attempt.status {
            DeliveryStatus::Pending => Next::At(attempt.due_at),
            DeliveryStatus::Delivered | DeliveryStatus::Failed => Next::Now,
        };
        if attempt.status == DeliveryStatus::Failed {
            let index = attempt.index;
            warn!(stream_id = %stream, index, "a webhook delivery is given up; it can be retried");
        } else if delivery.attempts > 0 && attempt.status == DeliveryStatus::Delivered {
            info!(stream_id = %stream, index = attempt.index, attempts = delivery.attempts + 1, "delivered at last");
        }
        let status = attempt.status;
        self.deliveries.store.record_attempt(attempt).await?;
        self.counts.attempted(status);
        Ok(next)
    }

    fn outcome(&self, delivery: &Delivery, posted: Posted) -> DeliveryAttempt {
        let at = self.clock.now();
        let (status, due_at, http_status, error) = match posted {
            Posted::Accepted { http_status } => (DeliveryStatus::Delivered, at, Some(http_status), None),
            Posted::Refused { http_status, reason, retry_after } => {
                let attempts = delivery.attempts.saturating_add(1);
                let due_at = at.plus(again_after(attempts, retry_after, &*self.randomness));
                let given_up = due_at > delivery.since.plus(GIVE_UP_AFTER);
                let status = if given_up { DeliveryStatus::Failed } else { DeliveryStatus::Pending };
                (status, due_at, http_status, Some(reason))
            }
        };
        DeliveryAttempt { stream: delivery.stream, index: delivery.event.index, at, status, due_at, http_status, error }
    }

    /// Without a webhook in the configuration any more, nothing would ever end what is pending, and finished operations
    /// wait for that.
    pub(super) async fn give_up_deliveries(&self, now: UnixMillis) -> Result<(), StoreError> {
        if self.deliveries.is_on() {
            return Ok(());
        }
        let mut after = None;
        loop {
            let pending = self.deliveries.store.deliveries(DeliveryStatus::Pending, after, PAGE).await?;
            for delivery in pending.iter().filter(|delivery| now >= delivery.since.plus(GIVE_UP_AFTER)) {
                let attempt = DeliveryAttempt {
                    stream: delivery.stream,
                    index: delivery.event.index,
                    at: now,
                    status: DeliveryStatus::Failed,
                    due_at: now,
                    http_status: None,
                    error: Some("no webhook is configured any more".to_owned()),
                };
                self.deliveries.store.record_attempt(attempt).await?;
            }
            match pending.last() {
                Some(last) if pending.len() == PAGE => after = Some((last.stream, last.event.index)),
                _ => return Ok(()),
            }
        }
    }

    /// Deliveries with this status, oldest event first, after the given position, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn webhook_deliveries(
        &self,
        status: DeliveryStatus,
        after: Option<(StreamId, u64)>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        self.deliveries.store.deliveries(status, after, limit).await
    }

    /// Makes a failed or delivered delivery pending again, due now; `None` when there is no such delivery. One that is
    /// pending already is due now, too.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn retry_webhook_delivery(&self, stream: StreamId, index: u64) -> Result<Option<Delivery>, StoreError> {
        let now = self.clock.now();
        self.deliveries.store.retry_delivery(stream, index, now).await?;
        // Whatever the stream waits for: one timer too many finds nothing to do.
        self.deliveries.hurry(stream);
        self.timers.set(now, stream, Alarm::Deliver);
        self.deliveries.store.delivery(stream, index).await
    }

    /// How many deliveries wait and how many were given up.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn count_webhook_deliveries(&self) -> Result<DeliveryCounts, StoreError> {
        self.deliveries.store.count_deliveries().await
    }
}

/// What is next on a stream.
enum Next {
    /// Another delivery may be due.
    Now,
    /// Nothing before then.
    At(UnixMillis),
    /// Nothing is pending.
    Nothing,
}
