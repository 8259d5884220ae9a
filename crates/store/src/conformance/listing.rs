//! Deliveries as the schedule and the operator see them: lists and counts.

use usher_engine::ports::{Commit, DeliveryCounts, DeliveryStatus, Retried};
use usher_engine::{StreamId, UnixMillis};

use super::deliveries::{attempt, opened, positions};
use super::{FullStore, accepted, commit_done, create, event, given_up, id, refused, step};

/// Each once, with the due time of its first one, in order of id, in pages.
pub async fn streams_with_pending_deliveries_are_listed(store: &dyn FullStore) {
    // Not in order of id.
    for n in (1..=9).rev() {
        opened(store, n, 3).await;
        attempt(store, refused(id(n), 0, n)).await;
    }
    commit_done(store, create(id(10))).await;
    let reserved = Commit { deliver: true, events: vec![event(5)], ..step(StreamId::SUBSCRIPTIONS, 1) };
    commit_done(store, reserved).await;
    // One without pending deliveries, one whose first is delivered, and one with a pending one after a failed one.
    for index in 0..3 {
        attempt(store, accepted(id(4), index, 20)).await;
    }
    attempt(store, accepted(id(5), 0, 20)).await;
    attempt(store, given_up(id(6), 0, 20)).await;
    attempt(store, refused(id(6), 1, 500)).await;

    let mut expected = vec![(StreamId::SUBSCRIPTIONS, event(5).at)];
    for n in [1, 2, 3] {
        expected.push((id(n), UnixMillis(1_000 + n)));
    }
    expected.extend([(id(5), event(1).at), (id(6), UnixMillis(1_500))]);
    for n in [7, 8, 9] {
        expected.push((id(n), UnixMillis(1_000 + n)));
    }
    assert_eq!(store.pending_queues(None, usize::MAX).await.unwrap(), expected);
    assert!(store.pending_queues(None, 0).await.unwrap().is_empty());
    let mut seen = Vec::new();
    while let page @ [_, ..] = &*store.pending_queues(seen.last().map(|(id, _)| *id), 2).await.unwrap() {
        assert!(page.len() <= 2);
        seen.extend_from_slice(page);
    }
    assert_eq!(seen, expected);
}

/// In order of stream and index; a page begins after the last position of the previous one.
pub async fn deliveries_are_listed_by_status_in_pages(store: &dyn FullStore) {
    for n in [3, 1, 2] {
        opened(store, n, 9).await;
        for index in 0..9 {
            match index % 3 {
                0 => attempt(store, accepted(id(n), index, 1)).await,
                1 => attempt(store, given_up(id(n), index, 1)).await,
                _ => attempt(store, refused(id(n), index, 1)).await,
            }
        }
    }
    let all = [DeliveryStatus::Delivered, DeliveryStatus::Failed, DeliveryStatus::Pending];
    for (rest, status) in (0..).zip(all) {
        let expected: Vec<_> = (1..=3).flat_map(|n| [rest, rest + 3, rest + 6].map(|index| (id(n), index))).collect();
        for limit in [1, 2, 4, 9, usize::MAX] {
            let mut seen = Vec::new();
            while let page @ [_, ..] = &*store.deliveries(status, seen.last().copied(), limit).await.unwrap() {
                assert!(page.len() <= limit && page.iter().all(|delivery| delivery.status == status));
                seen.extend(positions(page));
            }
            assert_eq!(seen, expected, "{status:?} by {limit}");
        }
        assert!(store.deliveries(status, None, 0).await.unwrap().is_empty());
        // After a missing position, and after the last.
        let page = store.deliveries(status, Some((id(1), u64::MAX)), 1).await.unwrap();
        assert_eq!(positions(&page), [(id(2), rest)]);
        assert!(store.deliveries(status, Some((id(4), 0)), 10).await.unwrap().is_empty());
    }
    let failed = &store.deliveries(DeliveryStatus::Failed, None, 1).await.unwrap()[0];
    assert_eq!(Some(failed.clone()), store.delivery(id(1), 1).await.unwrap());
}

/// Pending and failed ones, as they change.
pub async fn deliveries_are_counted_by_status(store: &dyn FullStore) {
    let counts = async |pending, failed| {
        assert_eq!(store.count_deliveries().await.unwrap(), DeliveryCounts { pending, failed });
    };
    counts(0, 0).await;
    opened(store, 1, 3).await;
    opened(store, 2, 2).await;
    counts(5, 0).await;
    attempt(store, refused(id(1), 0, 1)).await;
    counts(5, 0).await;
    attempt(store, accepted(id(1), 0, 2)).await;
    attempt(store, given_up(id(1), 1, 2)).await;
    attempt(store, given_up(id(2), 0, 2)).await;
    counts(2, 2).await;
    assert_eq!(store.retry_delivery(id(1), 0, UnixMillis(3), None).await.unwrap(), Retried::Due);
    assert_eq!(store.retry_delivery(id(2), 0, UnixMillis(3), None).await.unwrap(), Retried::Due);
    counts(4, 1).await;
}
