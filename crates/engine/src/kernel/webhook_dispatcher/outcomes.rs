//! Results of posts: those not recorded yet, and the receiver's health.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use tracing::{info, warn};

use crate::StreamId;
use crate::ports::{DeliveryAttempt, Posted};

/// Most results waiting for the store, about 300 bytes each; beyond that no posts are made.
const MAX_UNRECORDED: usize = 10_000;

/// The first pause before recording is retried; it doubles.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

const MAX_PAUSE: Duration = Duration::from_secs(300);

/// Results of posts that the store could not record, for example on a full disk. They are recorded once the store
/// works, so that the event is not posted again; only a restart in between loses them. By queue.
#[derive(Default)]
pub(super) struct Unrecorded(Mutex<HashMap<StreamId, (DeliveryAttempt, u32)>>);

impl Unrecorded {
    pub(super) fn get(&self, stream: StreamId) -> Option<DeliveryAttempt> {
        self.0.lock().get(&stream).map(|(attempt, _)| attempt.clone())
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.lock().len() >= MAX_UNRECORDED
    }

    pub(super) fn keep(&self, queue: StreamId, attempt: DeliveryAttempt) {
        let mut unrecorded = self.0.lock();
        let failures = unrecorded.get(&queue).map_or(0, |(_, failures)| *failures);
        unrecorded.insert(queue, (attempt, failures.saturating_add(1)));
    }

    pub(super) fn recorded(&self, stream: StreamId) {
        self.0.lock().remove(&stream);
    }

    pub(super) fn pause(&self, stream: StreamId) -> Duration {
        let failures = self.0.lock().get(&stream).map_or(1, |(_, failures)| *failures);
        (FIRST_PAUSE * 2_u32.saturating_pow(failures.saturating_sub(1))).min(MAX_PAUSE)
    }
}

/// Shortest interval between log entries about a receiver that keeps failing and recovering.
const LOGGED_EVERY: Duration = Duration::from_secs(60);

/// Whether the receiver accepts events; logs when it starts to fail and when it recovers.
#[derive(Default)]
pub(super) struct ReceiverHealth(Mutex<Health>);

#[derive(Default)]
struct Health {
    failures: u64,
    recovered: Option<Duration>,
}

impl ReceiverHealth {
    pub(super) fn is_failing(&self) -> bool {
        self.0.lock().failures > 0
    }

    pub(super) fn observe(&self, posted: &Posted, at: Duration) {
        let mut health = self.0.lock();
        match posted {
            Posted::Refused { http_status, reason, .. } => {
                let silent = health.recovered.is_some_and(|recovered| at.saturating_sub(recovered) < LOGGED_EVERY);
                if health.failures == 0 && silent {
                    return;
                }
                health.failures = health.failures.saturating_add(1);
                if health.failures == 1 {
                    warn!(http_status, reason, "the webhook does not accept events; they are kept and posted again");
                }
            }
            Posted::Accepted { .. } if health.failures > 0 => {
                info!(failures = health.failures, "the webhook accepts events again");
                *health = Health { failures: 0, recovered: Some(at) };
            }
            Posted::Accepted { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    #[test]
    fn receiver_is_failing_until_it_accepts_and_is_logged_rarely() {
        let health = ReceiverHealth::default();
        let refused = Posted::Refused { http_status: Some(503), reason: "it said 503".to_owned(), retry_after: None };
        let accepted = Posted::Accepted { http_status: 200 };
        health.observe(&accepted, at(1));
        assert!(!health.is_failing());
        health.observe(&refused, at(2));
        health.observe(&refused, at(3));
        assert!(health.is_failing());
        health.observe(&accepted, at(4));
        assert!(!health.is_failing());
        health.observe(&refused, at(63));
        assert!(!health.is_failing(), "a minute has not passed");
        health.observe(&refused, at(64));
        assert!(health.is_failing());
    }

    #[test]
    fn failing_store_is_retried_less_and_less_often() {
        let unrecorded = Unrecorded::default();
        let stream = StreamId::SUBSCRIPTIONS;
        let attempt = DeliveryAttempt {
            stream,
            index: 0,
            at: crate::UnixMillis(0),
            status: crate::ports::DeliveryStatus::Delivered,
            due_at: crate::UnixMillis(0),
            http_status: Some(200),
            error: None,
        };
        let mut pauses = vec![unrecorded.pause(stream).as_secs()];
        for _ in 0..8 {
            unrecorded.keep(stream, attempt.clone());
            pauses.push(unrecorded.pause(stream).as_secs());
        }
        assert_eq!(pauses, [5, 5, 10, 20, 40, 80, 160, 300, 300]);
        unrecorded.recorded(stream);
        assert_eq!(unrecorded.pause(stream).as_secs(), 5);
        assert!(unrecorded.get(stream).is_none());
    }
}
