//! Delivering events to the app's webhook: at least once, in order within a stream, streams independent of each other.
//!
//! What is pending stands in the store, written with its event. In memory is only which streams have something pending
//! and when it is due, up to a bound; the store is asked again when there is room.
//!
//! ```text
//! committed ─▶ streams ─▶ timers ─▶ a queue per lane ─▶ a place ─▶ one post ─▶ record ─▶ the next one, or later
//! store ────────┘ (at the start, and what there was no room for)
//! ```

mod lanes;
mod outcomes;
mod records;
mod streams;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tracing::{info, warn};

use self::lanes::{HANGS_AFTER, Lanes, Pace, Place};
use self::outcomes::{ReceiverHealth, Unrecorded};
pub use self::records::RetryError;
use self::streams::{Loaded, Streams};
use super::Engine;
use super::timers::Alarm;
use crate::ports::{
    Delivery, DeliveryAttempt, DeliveryStatus, DeliveryStore, Posted, Randomness, Receiver, StoreError, Table,
};
use crate::{StreamId, UnixMillis};

/// Most streams with pending deliveries kept in memory (some 150 bytes each, with its timer).
const IN_MEMORY: usize = 50_000;

/// Most slow streams that wait for a place; the rest waits in the store.
const SLOW_IN_MEMORY: usize = 10_000;

/// Streams read from the store at a time.
const PAGE: usize = 1000;

/// How often the store is asked for streams that there was no room for.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(30);

/// What is due within this is kept in memory even if there is little room: longer than until the store is asked again.
const SOON: Duration = Duration::from_secs(60);

/// Seconds from one attempt to the next; the last goes on until [`GIVE_UP_AFTER`].
const AGAIN_AFTER: [u64; 9] = [5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800];

/// A delivery that was tried for so long, the pauses between its attempts together, is kept as failed: three days are a
/// long week-end. Time in which the service was down does not count.
const GIVE_UP_AFTER: Duration = Duration::from_secs(72 * 3600);

/// The longest that a receiver's `Retry-After` is honoured.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3600);

/// Deliveries of events to the app.
pub(super) struct Deliveries {
    store: Arc<dyn DeliveryStore>,
    receiver: Option<Arc<dyn Receiver>>,
    streams: Mutex<Streams>,
    /// There is room in memory for more of the store's streams.
    room: Notify,
    lanes: Lanes,
    unrecorded: Unrecorded,
    health: ReceiverHealth,
    brisk: mpsc::Sender<StreamId>,
    slow: mpsc::Sender<StreamId>,
}

/// The streams that wait for a place, by lane.
pub(super) struct DueStreams {
    brisk: mpsc::Receiver<StreamId>,
    slow: mpsc::Receiver<StreamId>,
}

impl Deliveries {
    pub(super) fn new(store: Arc<dyn DeliveryStore>, receiver: Option<Arc<dyn Receiver>>) -> (Self, DueStreams) {
        let (brisk, brisk_due) = mpsc::channel(IN_MEMORY);
        let (slow, slow_due) = mpsc::channel(SLOW_IN_MEMORY);
        let streams = Mutex::new(Streams::new(IN_MEMORY));
        let deliveries = Self {
            store,
            receiver,
            streams,
            room: Notify::new(),
            lanes: Lanes::new(),
            unrecorded: Unrecorded::default(),
            health: ReceiverHealth::default(),
            brisk,
            slow,
        };
        (deliveries, DueStreams { brisk: brisk_due, slow: slow_due })
    }

    /// A stream's timer fired: it queues in its lane. Never waits, for all timers would.
    pub(super) fn due(&self, stream: StreamId) {
        let pace = self.streams.lock().pace(stream);
        let lane = match pace {
            Pace::Brisk => &self.brisk,
            Pace::Slow => &self.slow,
        };
        // It is closed only when everything stops.
        if let Err(mpsc::error::TrySendError::Full(stream)) = lane.try_send(stream) {
            self.streams.lock().put_off(stream);
        }
    }

    /// Events of `stream` were committed; says whether its timer is to be set.
    pub(super) fn note(&self, stream: StreamId) -> bool {
        self.is_on() && self.streams.lock().note(stream)
    }

    /// Whether events are delivered at all.
    pub(super) fn is_on(&self) -> bool {
        self.receiver.is_some()
    }

    /// Forgets deliveries that were delivered or given up before `before`, at most `limit`; says how many.
    pub(super) async fn forget(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.store.forget_deliveries(before, limit).await
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
    /// Sets timers for what is pending in the store and has its turn soon, as much as there is room for.
    ///
    /// # Errors
    /// [`StoreError`]; what was not read is read the next time.
    pub(super) async fn load_deliveries(&self) -> Result<(), StoreError> {
        if !self.webhooks.is_on() {
            return Ok(());
        }
        let begin = self.webhooks.streams.lock().ask();
        let soon = self.clock.now().plus(SOON);
        let (mut after, mut more, mut loaded) = (begin, begin.is_some(), 0);
        let end = 'pages: loop {
            let pending = match self.webhooks.store.pending_streams(after, PAGE).await {
                Ok(pending) => pending,
                Err(failure) => {
                    more = true;
                    break Err(failure);
                }
            };
            for (stream, due_at) in &pending {
                let what = self.webhooks.streams.lock().load(*stream, *due_at <= soon);
                match what {
                    Loaded::New => {
                        self.timers.set(*due_at, *stream, Alarm::Deliver);
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
                // From the beginning the next time.
                after = None;
                break Ok(());
            }
        };
        self.webhooks.streams.lock().asked(after, more, loaded);
        end
    }

    /// Loads what there was no room for, when there is, until everything stops.
    pub(super) async fn keep_deliveries_loaded(self: Arc<Self>) {
        loop {
            tokio::select! {
                () = self.clock.sleep(ASK_AGAIN_AFTER) => {}
                () = self.webhooks.room.notified() => {}
                () = self.tasks.stopped() => return,
            }
            let has_more = self.webhooks.streams.lock().has_more();
            if has_more && let Err(failure) = self.load_deliveries().await {
                warn!(error = ?failure, "pending deliveries could not be read");
            }
        }
    }

    /// Begins deliveries that are due, as soon as their lane has a free place, until everything stops.
    pub(super) async fn deliver_to_app(self: Arc<Self>, due: DueStreams) {
        tokio::join!(self.deliver_lane(Pace::Brisk, due.brisk), self.deliver_lane(Pace::Slow, due.slow));
    }

    async fn deliver_lane(self: &Arc<Self>, pace: Pace, mut due: mpsc::Receiver<StreamId>) {
        let lane = self.webhooks.lanes.of(pace);
        loop {
            let next = async {
                let stream = due.recv().await?;
                Some((stream, lane.place().await?))
            };
            let next = tokio::select! {
                next = next => next,
                () = self.tasks.stopped() => return,
            };
            let Some((stream, place)) = next else { return };
            let begins = self.webhooks.streams.lock().begin(stream);
            if begins {
                self.tasks.spawn(Arc::clone(self).deliver_stream(stream, place));
            }
        }
    }

    /// Delivers what is pending on one stream, one after the other, until it must wait or others want its place.
    async fn deliver_stream(self: Arc<Self>, stream: StreamId, mut place: Place) {
        let _begun = Begun { streams: &self.webhooks.streams, stream };
        loop {
            match self.deliver_next(stream, &mut place).await {
                Ok(Next::Stop) => return,
                Ok(Next::Now) if place.is_wanted() => {
                    self.deliver_at(stream, self.clock.now(), Pace::Brisk);
                    break;
                }
                Ok(Next::Now) => {}
                Ok(Next::Nothing) => {
                    if self.webhooks.streams.lock().rest(stream) {
                        break;
                    }
                }
                Ok(Next::At(at, pace)) => {
                    self.deliver_at(stream, at, pace);
                    break;
                }
                Err(failure) => {
                    warn!(stream_id = %stream, error = ?failure, "a delivery waits for the store");
                    let again = self.clock.now().plus(self.webhooks.unrecorded.pause(stream));
                    self.deliver_at(stream, again, place.pace());
                    break;
                }
            }
        }
        if self.webhooks.streams.lock().has_room_for_more() {
            self.webhooks.room.notify_one();
        }
    }

    fn deliver_at(&self, stream: StreamId, at: UnixMillis, pace: Pace) {
        let soon = at <= self.clock.now().plus(SOON);
        if self.webhooks.streams.lock().later(stream, pace, soon) {
            self.timers.set(at, stream, Alarm::Deliver);
        }
    }

    async fn deliver_next(&self, stream: StreamId, place: &mut Place) -> Result<Next, StoreError> {
        let Some(receiver) = &self.webhooks.receiver else { return Ok(Next::Nothing) };
        if self.tasks.is_stopping() {
            return Ok(Next::Stop);
        }
        if let Some(attempt) = self.webhooks.unrecorded.get(stream) {
            let next = next_after(&attempt, Pace::Brisk);
            return self.record(attempt).await.map(|()| next);
        }
        if self.webhooks.unrecorded.is_full() {
            return Ok(Next::At(self.clock.now().plus(ASK_AGAIN_AFTER), place.pace()));
        }
        let now = self.clock.now();
        let delivery = match self.webhooks.store.next_delivery(stream).await {
            Ok(Some(delivery)) => delivery,
            Ok(None) => return Ok(Next::Nothing),
            Err(StoreError::Unreadable(_)) => {
                let Some(index) = self.webhooks.store.set_aside_delivery(stream, now).await? else {
                    return Ok(Next::Nothing);
                };
                self.damage.set_aside(Table::Deliveries, format_args!("{stream}:{index}"));
                return Ok(Next::Now);
            }
            Err(failure) => return Err(failure),
        };
        if delivery.due_at > now {
            return Ok(Next::At(delivery.due_at, place.pace()));
        }
        let began = self.clock.monotonic();
        let posted = tokio::select! {
            biased;
            posted = place.run(&*self.clock, receiver.post(stream, &delivery.event, now)) => posted,
            // A post that runs is cut off: not recorded, it is made again at the next start. One that ran is recorded.
            () = self.tasks.stopped() => return Ok(Next::Stop),
        };
        let ended = self.clock.monotonic();
        if let Some(posted) = &posted {
            self.webhooks.health.observe(posted, ended);
        }
        let attempt = self.outcome(&delivery, posted.unwrap_or_else(cut_off));
        let hung = ended.saturating_sub(began) >= HANGS_AFTER;
        let next = next_after(&attempt, if hung { Pace::Slow } else { Pace::Brisk });
        if attempt.status == DeliveryStatus::Failed {
            let index = attempt.index;
            warn!(stream_id = %stream, index, "a webhook delivery is given up; it can be retried");
        } else if delivery.attempts > 0 && attempt.status == DeliveryStatus::Delivered {
            info!(stream_id = %stream, index = attempt.index, attempts = delivery.attempts + 1, "delivered at last");
        }
        self.metrics.attempted(attempt.status);
        self.record(attempt).await.map(|()| next)
    }

    /// Records the outcome of a post, or keeps it until it can be recorded.
    async fn record(&self, attempt: DeliveryAttempt) -> Result<(), StoreError> {
        let stream = attempt.stream;
        match self.webhooks.store.record_attempt(attempt.clone()).await {
            Ok(_) => {
                self.webhooks.unrecorded.recorded(stream);
                Ok(())
            }
            Err(failure) => {
                self.webhooks.unrecorded.keep(attempt);
                Err(failure)
            }
        }
    }

    fn outcome(&self, delivery: &Delivery, posted: Posted) -> DeliveryAttempt {
        let at = self.clock.now();
        let (status, due_at, http_status, error) = match posted {
            Posted::Accepted { http_status } => (DeliveryStatus::Delivered, at, Some(http_status), None),
            Posted::Refused { http_status, reason, retry_after } => {
                let attempts = delivery.attempts.saturating_add(1);
                let due_at = at.plus(again_after(attempts, retry_after, &*self.randomness));
                let given_up = delivery.waited.saturating_add(due_at.since(at)) > GIVE_UP_AFTER;
                let status = if given_up { DeliveryStatus::Failed } else { DeliveryStatus::Pending };
                (status, due_at, http_status, Some(reason))
            }
        };
        DeliveryAttempt { stream: delivery.stream, index: delivery.event.index, at, status, due_at, http_status, error }
    }
}

/// A stream that is being delivered. Should that panic, the store has it again: else it would wait for ever.
struct Begun<'a> {
    streams: &'a Mutex<Streams>,
    stream: StreamId,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.streams.lock().lose(self.stream);
        }
    }
}

/// A post that made room for others.
fn cut_off() -> Posted {
    let reason = "no answer within a second, while others waited for one, too: next it is given all its time";
    Posted::Refused { http_status: None, reason: reason.to_owned(), retry_after: None }
}

/// What is next on a stream after this attempt; one that failed waits with those of this pace.
const fn next_after(attempt: &DeliveryAttempt, pace: Pace) -> Next {
    match attempt.status {
        DeliveryStatus::Pending => Next::At(attempt.due_at, pace),
        DeliveryStatus::Delivered | DeliveryStatus::Failed => Next::Now,
    }
}

/// What is next on a stream.
enum Next {
    /// Another delivery may be due.
    Now,
    /// Nothing before then; and with whom it waits.
    At(UnixMillis, Pace),
    /// Nothing is pending.
    Nothing,
    /// Everything stops.
    Stop,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Always, SeededRandomness};

    #[test]
    fn each_attempt_waits_longer_than_the_one_before_and_up_to_a_fifth_more() {
        let secs = [5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 28_800, 28_800];
        for (attempts, secs) in (1..).zip(secs) {
            assert_eq!(again_after(attempts, None, &Always(0)), Duration::from_secs(secs));
            assert_eq!(again_after(attempts, None, &Always(255)), Duration::from_millis(secs * 1200));
        }
        assert_eq!(again_after(u32::MAX, None, &Always(0)), Duration::from_secs(28_800));
        let crowd: std::collections::HashSet<_> = {
            let randomness = SeededRandomness::new(7);
            (0..100).map(|_| again_after(1, None, &randomness)).collect()
        };
        assert!(crowd.len() > 30, "a crowd spreads: {}", crowd.len());
    }

    #[test]
    fn a_receiver_may_ask_for_more_patience_up_to_a_day_and_not_for_less() {
        let after = |wanted| again_after(3, Some(Duration::from_secs(wanted)), &Always(0)).as_secs();
        assert_eq!([after(0), after(119), after(121), after(86_400), after(u64::MAX)], [120, 120, 121, 86_400, 86_400]);
    }
}
