//! Deliveries: in order within a stream, each until it is settled.

use std::sync::Arc;
use std::time::Duration;

use usher_engine::ports::{Commit, Delivery, DeliveryAttempt, DeliveryStatus, Retried};
use usher_engine::{StreamId, UnixMillis};

use super::{
    FullStore, Subject, accepted, commit_done, create, event, given_up, id, idempotency_key, new_record, refused, step,
};

/// Creates an open operation with this many events to deliver.
pub(super) async fn opened(store: &dyn FullStore, number: u64, events: u64) {
    let events = (0..events).map(event).collect();
    commit_done(store, Commit { deliver: true, events, ..create(id(number)) }).await;
}

pub(super) async fn attempt(store: &dyn FullStore, attempt: DeliveryAttempt) {
    assert!(store.record_attempt(attempt.clone()).await.unwrap(), "{attempt:?}");
}

async fn next(store: &dyn FullStore, number: u64) -> Option<u64> {
    store.next_delivery(id(number)).await.unwrap().map(|delivery| delivery.event.index)
}

pub(super) fn positions(deliveries: &[Delivery]) -> Vec<(StreamId, u64)> {
    deliveries.iter().map(|delivery| (delivery.stream, delivery.event.index)).collect()
}

/// Pending and due at the event's time; none for commits that do not deliver.
pub async fn every_event_has_its_delivery(store: &dyn FullStore) {
    commit_done(store, Commit { deliver: true, ..create(id(1)) }).await;
    assert_eq!(next(store, 1).await, None, "no events");
    commit_done(store, Commit { events: vec![event(7)], ..step(id(1), 1) }).await;
    assert_eq!(next(store, 1).await, None, "not to be delivered");
    let events = vec![event(8), event(9)];
    commit_done(store, Commit { deliver: true, finished: true, events, ..step(id(1), 2) }).await;

    assert_eq!(store.delivery(id(1), 0).await.unwrap(), None);
    let stored = store.events(id(1), 0, 10).await.unwrap();
    for (index, number) in [(1, 8), (2, 9)] {
        let expected = Delivery {
            stream: id(1),
            queue: id(1),
            event: stored[index].clone(),
            status: DeliveryStatus::Pending,
            attempts: 0,
            waited: Duration::ZERO,
            since: event(number).at,
            due_at: event(number).at,
            last_attempt_at: None,
            last_status: None,
            last_error: None,
        };
        assert_eq!(store.delivery(id(1), index as u64).await.unwrap(), Some(expected));
    }
    assert_eq!(store.delivery(id(1), 3).await.unwrap(), None);
    assert_eq!(store.delivery(id(2), 1).await.unwrap(), None);
    let reserved = Commit { deliver: true, events: vec![event(1)], ..step(StreamId::SUBSCRIPTIONS, 1) };
    commit_done(store, reserved).await;
    assert!(store.next_delivery(StreamId::SUBSCRIPTIONS).await.unwrap().is_some());
}

/// The next one only after it is delivered or given up; streams do not wait for one another.
pub async fn only_the_first_pending_delivery_is_offered(store: &dyn FullStore) {
    opened(store, 1, 4).await;
    opened(store, 2, 2).await;
    for at in 1..=3 {
        assert_eq!(next(store, 1).await, Some(0));
        attempt(store, refused(id(1), 0, at)).await;
    }
    attempt(store, accepted(id(2), 0, 4)).await;
    assert_eq!((next(store, 1).await, next(store, 2).await), (Some(0), Some(1)));
    attempt(store, accepted(id(1), 0, 5)).await;
    assert_eq!(next(store, 1).await, Some(1));
    attempt(store, given_up(id(1), 1, 6)).await;
    assert_eq!(next(store, 1).await, Some(2));
    attempt(store, accepted(id(1), 2, 7)).await;
    attempt(store, accepted(id(1), 3, 8)).await;
    assert_eq!((next(store, 1).await, next(store, 2).await), (None, Some(1)));
    // Later events are offered later.
    commit_done(store, Commit { deliver: true, events: vec![event(4)], ..step(id(1), 1) }).await;
    assert_eq!(next(store, 1).await, Some(4));
}

/// Each attempt is counted; the result of the last one is returned.
pub async fn attempts_are_recorded(store: &dyn FullStore) {
    opened(store, 1, 1).await;
    let before = store.delivery(id(1), 0).await.unwrap().unwrap();
    attempt(store, refused(id(1), 0, 10)).await;
    let after_one = Delivery {
        attempts: 1,
        waited: Duration::from_millis(1_000),
        due_at: UnixMillis(1_010),
        last_attempt_at: Some(UnixMillis(10)),
        last_status: Some(503),
        last_error: Some("the receiver said 503".to_owned()),
        ..before
    };
    assert_eq!(store.next_delivery(id(1)).await.unwrap(), Some(after_one.clone()));

    let silent =
        DeliveryAttempt { http_status: None, error: Some("no \0 \u{1F511}".to_owned()), ..refused(id(1), 0, 20) };
    attempt(store, silent).await;
    let after_two = Delivery {
        attempts: 2,
        waited: Duration::from_millis(2_000),
        due_at: UnixMillis(1_020),
        last_attempt_at: Some(UnixMillis(20)),
        last_status: None,
        last_error: Some("no \0 \u{1F511}".to_owned()),
        ..after_one
    };
    assert_eq!(store.next_delivery(id(1)).await.unwrap(), Some(after_two.clone()));

    attempt(store, accepted(id(1), 0, 30)).await;
    let delivered = Delivery {
        status: DeliveryStatus::Delivered,
        attempts: 3,
        due_at: UnixMillis(30),
        last_attempt_at: Some(UnixMillis(30)),
        last_status: Some(200),
        last_error: None,
        ..after_two
    };
    assert_eq!(store.delivery(id(1), 0).await.unwrap(), Some(delivered));
}

/// The same for a missing one; the recorded result stays.
pub async fn settled_delivery_records_no_attempt(store: &dyn FullStore) {
    opened(store, 1, 3).await;
    attempt(store, accepted(id(1), 0, 1)).await;
    attempt(store, given_up(id(1), 1, 2)).await;
    let before = [store.delivery(id(1), 0).await.unwrap(), store.delivery(id(1), 1).await.unwrap()];
    for index in [0, 1] {
        for late in [refused(id(1), index, 9), accepted(id(1), index, 9), given_up(id(1), index, 9)] {
            assert!(!store.record_attempt(late).await.unwrap());
        }
    }
    assert!(!store.record_attempt(accepted(id(1), 3, 9)).await.unwrap());
    assert!(!store.record_attempt(accepted(id(1), u64::MAX, 9)).await.unwrap());
    assert!(!store.record_attempt(accepted(id(2), 0, 9)).await.unwrap());
    assert_eq!([store.delivery(id(1), 0).await.unwrap(), store.delivery(id(1), 1).await.unwrap()], before);
    assert_eq!(next(store, 1).await, Some(2));
}

/// Delivered and failed ones, from the beginning; of pending ones only the due time changes.
pub async fn settled_deliveries_can_be_retried(store: &dyn FullStore) {
    opened(store, 1, 3).await;
    for at in [1, 2] {
        attempt(store, refused(id(1), 0, at)).await;
    }
    attempt(store, given_up(id(1), 0, 3)).await;
    attempt(store, accepted(id(1), 1, 4)).await;
    attempt(store, refused(id(1), 2, 5)).await;
    let pending = store.delivery(id(1), 2).await.unwrap().unwrap();
    assert!(pending.due_at > UnixMillis(9));
    for at in [UnixMillis(9), UnixMillis(10)] {
        assert_eq!(store.retry_delivery(id(1), 2, at, None).await.unwrap(), Retried::Due);
        let hurried = Delivery { due_at: UnixMillis(9), ..pending.clone() };
        assert_eq!(store.delivery(id(1), 2).await.unwrap(), Some(hurried), "never later than it was");
    }
    for (index, at) in [(3, 9), (u64::MAX, 9)] {
        assert_eq!(store.retry_delivery(id(1), index, UnixMillis(at), None).await.unwrap(), Retried::NotFound);
    }
    assert_eq!(store.retry_delivery(id(2), 0, UnixMillis(9), None).await.unwrap(), Retried::NotFound);

    for index in [0, 1] {
        let settled = store.delivery(id(1), index).await.unwrap().unwrap();
        assert_eq!(store.retry_delivery(id(1), index, UnixMillis(100), None).await.unwrap(), Retried::Due);
        let again = Delivery {
            status: DeliveryStatus::Pending,
            attempts: 0,
            waited: Duration::ZERO,
            since: UnixMillis(100),
            due_at: UnixMillis(100),
            ..settled
        };
        assert_eq!(store.delivery(id(1), index).await.unwrap(), Some(again.clone()));
        assert_eq!(store.retry_delivery(id(1), index, UnixMillis(200), None).await.unwrap(), Retried::Due);
        assert_eq!(store.delivery(id(1), index).await.unwrap(), Some(again), "once");
    }
    attempt(store, accepted(id(1), 0, 101)).await;
    assert_eq!(store.delivery(id(1), 0).await.unwrap().unwrap().attempts, 1);
}

/// Before newer ones.
pub async fn retried_delivery_precedes_later_ones(store: &dyn FullStore) {
    opened(store, 1, 3).await;
    attempt(store, given_up(id(1), 0, 1)).await;
    attempt(store, accepted(id(1), 1, 2)).await;
    assert_eq!(next(store, 1).await, Some(2));
    assert_eq!(store.retry_delivery(id(1), 1, UnixMillis(50), None).await.unwrap(), Retried::Due);
    assert_eq!(next(store, 1).await, Some(1));
    assert_eq!(store.retry_delivery(id(1), 0, UnixMillis(60), None).await.unwrap(), Retried::Due);
    assert_eq!(next(store, 1).await, Some(0));
    assert_eq!(store.pending_queues(None, 10).await.unwrap(), [(id(1), UnixMillis(60))]);
}

/// They precede it, so they become due too; later ones and other streams keep their times.
pub async fn retry_makes_earlier_deliveries_due(store: &dyn FullStore) {
    opened(store, 1, 4).await;
    opened(store, 2, 1).await;
    attempt(store, accepted(id(1), 1, 1)).await;
    for (number, index) in [(1, 0), (1, 2), (1, 3), (2, 0)] {
        attempt(store, refused(id(number), index, 500)).await;
    }
    let due = async |number, index| store.delivery(id(number), index).await.unwrap().unwrap().due_at.0;
    assert_eq!(store.retry_delivery(id(1), 2, UnixMillis(600), None).await.unwrap(), Retried::Due);
    assert_eq!((due(1, 0).await, due(1, 2).await), (600, 600));
    assert_eq!((due(1, 3).await, due(2, 0).await), (1_500, 1_500));
    assert_eq!(store.delivery(id(1), 1).await.unwrap().unwrap().status, DeliveryStatus::Delivered);
    assert_eq!(store.pending_queues(None, 10).await.unwrap()[0], (id(1), UnixMillis(600)));
}

/// Both or neither: a repeated request, or one for a missing delivery, changes nothing.
pub async fn retry_is_committed_with_its_idempotency_record(mut subject: impl Subject) {
    let store = subject.store();
    opened(&*store, 1, 2).await;
    attempt(&*store, given_up(id(1), 0, 1)).await;
    let retry = async |store: Arc<dyn FullStore>, index, at, record| {
        store.retry_delivery(id(1), index, UnixMillis(at), Some(record)).await.unwrap()
    };
    assert_eq!(retry(subject.store(), 7, 50, new_record(1, 50, 0)).await, Retried::NotFound);
    assert_eq!(store.idempotency_record(&idempotency_key(1)).await.unwrap(), None);
    assert_eq!(retry(subject.store(), 0, 50, new_record(1, 50, 0)).await, Retried::Due);
    let store = subject.reopened(store).await;
    assert_eq!(store.idempotency_record(&idempotency_key(1)).await.unwrap(), Some(new_record(1, 50, 0).record));
    attempt(&*store, given_up(id(1), 0, 60)).await;
    let before = store.delivery(id(1), 0).await.unwrap();
    assert_eq!(retry(subject.store(), 0, 70, new_record(1, 70, 0)).await, Retried::AlreadyRequested);
    assert_eq!(store.delivery(id(1), 0).await.unwrap(), before, "done once");
    assert_eq!(retry(subject.store(), 0, 70, new_record(1, 70, 51)).await, Retried::Due, "the record had its time");
    assert_eq!(store.idempotency_record(&idempotency_key(1)).await.unwrap(), Some(new_record(1, 70, 51).record));
}

/// As when an attempt is recorded while an operator retries: a delivery is settled once.
pub async fn one_of_two_concurrent_attempts_settles(subject: impl Subject) {
    opened(&*subject.store(), 1, 50).await;
    for index in 0..50 {
        let (a, b) = (subject.store(), subject.store());
        let (a, b) =
            super::race(async move { a.record_attempt(accepted(id(1), index, 1)).await.unwrap() }, async move {
                b.record_attempt(given_up(id(1), index, 2)).await.unwrap()
            })
            .await;
        assert!(a != b, "{index}: {a} {b}");
        let delivery = subject.store().delivery(id(1), index).await.unwrap().unwrap();
        assert_eq!((delivery.attempts, delivery.status == DeliveryStatus::Delivered), (1, a));
    }
}

/// Events of one stream may be delivered in several queues, which do not wait for one another.
pub async fn queues_of_one_stream_are_independent(mut subject: impl Subject) {
    let (a, b) = (StreamId::subscription_queue("a"), StreamId::subscription_queue("b"));
    {
        let store = subject.store();
        let events = (0..5).map(event).collect();
        let commit =
            Commit { deliver: true, events, delivery_queues: vec![a, b, a, b], ..step(StreamId::SUBSCRIPTIONS, 1) };
        commit_done(&*store, commit).await;
    }
    subject.reopen().await;
    let store = subject.store();
    let first = async |queue| store.next_delivery(queue).await.unwrap().map(|next| next.event.index);
    let reserved = StreamId::SUBSCRIPTIONS;
    let mut queues = vec![(reserved, event(4).at), (a, event(0).at), (b, event(1).at)];
    queues.sort_unstable();
    assert_eq!(store.pending_queues(None, 10).await.unwrap(), queues);
    assert_eq!([first(a).await, first(b).await, first(reserved).await], [Some(0), Some(1), Some(4)]);
    let delivery = store.next_delivery(b).await.unwrap().unwrap();
    assert_eq!((delivery.stream, delivery.queue), (reserved, b));

    attempt(&*store, refused(reserved, 0, 10)).await;
    attempt(&*store, accepted(reserved, 1, 11)).await;
    assert_eq!([first(a).await, first(b).await, first(reserved).await], [Some(0), Some(3), Some(4)]);
    attempt(&*store, accepted(reserved, 3, 12)).await;
    assert_eq!([first(a).await, first(b).await], [Some(0), None]);
    assert_eq!(store.set_aside_delivery(b, UnixMillis(13)).await.unwrap(), None);
    // A retried delivery belongs to its queue: it makes nothing in other queues due.
    let due = async |index| store.delivery(reserved, index).await.unwrap().unwrap().due_at;
    let before = due(0).await;
    assert_eq!(store.retry_delivery(reserved, 3, UnixMillis(0), None).await.unwrap(), Retried::Due);
    assert_eq!((due(0).await, first(b).await), (before, Some(3)));
    assert_eq!(store.retry_delivery(reserved, 2, UnixMillis(0), None).await.unwrap(), Retried::Due);
    assert_eq!(due(0).await, UnixMillis(0), "it is before it in its queue");
    assert_eq!(store.set_aside_delivery(a, UnixMillis(13)).await.unwrap(), Some((reserved, 0)));
    assert_eq!([first(a).await, first(b).await, first(reserved).await], [Some(2), Some(3), Some(4)]);
}

/// Whatever its row contains, the stream continues with the next delivery.
pub async fn delivery_set_aside_does_not_block_others(store: &dyn FullStore) {
    opened(store, 1, 2).await;
    attempt(store, refused(id(1), 0, 5)).await;
    assert_eq!(store.set_aside_delivery(id(2), UnixMillis(7)).await.unwrap(), None);
    assert_eq!(store.set_aside_delivery(id(1), UnixMillis(7)).await.unwrap(), Some((id(1), 0)));
    assert_eq!(next(store, 1).await, Some(1));
    let failed = store.deliveries(DeliveryStatus::Failed, None, 10).await.unwrap();
    assert_eq!(positions(&failed), [(id(1), 0)]);
    assert_eq!(failed[0].last_attempt_at, Some(UnixMillis(7)));
}
