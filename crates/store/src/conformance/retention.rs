//! Removes what is past its retention, and nothing else.

use usher_engine::UnixMillis;
use usher_engine::event::NewEvent;
use usher_engine::ports::{Commit, Conflict, OperationKind, OutboxChange, Retried};

use super::{
    FullStore, Subject, accepted, commit_conflicts, commit_done, create, event, given_up, id, inbound, message,
    public_key, refused, step, user_relays,
};

async fn finish_at(store: &dyn FullStore, number: u64, at: u64) {
    commit_done(store, Commit { events: vec![event(0)], ..create(id(number)) }).await;
    let end = Commit { finished: true, at: UnixMillis(at), events: vec![event(1)], ..step(id(number), 1) };
    commit_done(store, end).await;
}

/// The operation, its events, and its id, as if it had never existed.
pub async fn finished_operations_are_removed_completely(store: &dyn FullStore) {
    finish_at(store, 1, 99).await;
    finish_at(store, 2, 100).await;
    finish_at(store, 3, 98).await;
    // Open operations stay, however old and whatever the limits.
    commit_done(store, Commit { at: UnixMillis(0), events: vec![event(0)], ..create(id(9)) }).await;
    assert_eq!(store.remove_finished(UnixMillis(100), 0).await.unwrap(), 0);
    assert_eq!(store.remove_finished(UnixMillis(100), 1).await.unwrap(), 1);
    assert_eq!(store.operation(id(3)).await.unwrap(), None, "the oldest first");
    assert!(store.operation(id(1)).await.unwrap().is_some());
    assert_eq!(store.remove_finished(UnixMillis(100), 10).await.unwrap(), 1);
    for n in [1, 3] {
        assert_eq!(store.operation(id(n)).await.unwrap(), None);
        assert!(store.events(id(n), 0, 10).await.unwrap().is_empty());
        assert_eq!(commit_conflicts(store, step(id(n), 2)).await, Conflict::Revision);
    }
    assert!(store.operation(id(2)).await.unwrap().is_some(), "finished at, not before");
    assert_eq!(store.events(id(2), 0, 10).await.unwrap().len(), 2);
    assert_eq!(store.remove_finished(UnixMillis(u64::MAX), usize::MAX).await.unwrap(), 1);
    assert_eq!(commit_done(store, create(id(1))).await, (1, 0));
    assert_eq!(store.events(id(9), 0, 10).await.unwrap().len(), 1);
}

/// Neither open ones, nor ones with events.
pub async fn only_finished_operations_without_events_are_removed_by_id(store: &dyn FullStore) {
    for n in 1..=3 {
        commit_done(store, create(id(n))).await;
    }
    for n in [1, 3] {
        commit_done(store, Commit { finished: true, ..step(id(n), 1) }).await;
    }
    finish_at(store, 4, 99).await;
    store.remove_without_events(vec![id(1), id(2), id(4), id(9)]).await.unwrap();
    assert_eq!(store.operation(id(1)).await.unwrap(), None);
    for n in 2..=4 {
        assert!(store.operation(id(n)).await.unwrap().is_some(), "{n}");
    }
    assert_eq!(store.events(id(4), 0, 10).await.unwrap().len(), 2);
    assert_eq!(commit_done(store, create(id(1))).await, (1, 0), "it never was");
}

/// Of one kind, ended before a time, oldest first.
pub async fn finished_operations_without_events_are_removed_by_kind(store: &dyn FullStore) {
    for n in 1..=5 {
        commit_done(store, create(id(n))).await;
        commit_done(store, Commit { finished: n != 4, at: UnixMillis(100 - n), ..step(id(n), 1) }).await;
    }
    finish_at(store, 6, 50).await;
    let kind = store.operation(id(1)).await.unwrap().unwrap().kind;
    let other = OperationKind::ALL.into_iter().find(|other| *other != kind).unwrap();
    assert_eq!(store.remove_eventless(other, UnixMillis(1_000), 9).await.unwrap(), 0);
    assert_eq!(store.remove_eventless(kind, UnixMillis(99), 2).await.unwrap(), 2);
    assert_eq!(store.remove_eventless(kind, UnixMillis(99), 2).await.unwrap(), 1);
    assert_eq!(store.remove_eventless(kind, UnixMillis(99), 2).await.unwrap(), 0);
    for (n, stays) in [(1, true), (2, false), (3, false), (4, true), (5, false), (6, true)] {
        assert_eq!(store.operation(id(n)).await.unwrap().is_some(), stays, "{n}");
    }
}

/// Those recorded before the given time; the rest are still recognised.
pub async fn inbound_events_are_removed_in_batches(store: &dyn FullStore) {
    commit_done(store, create(id(1))).await;
    for n in 1..=6 {
        commit_done(store, Commit { at: UnixMillis(n), inbound: vec![inbound(n)], ..step(id(1), n) }).await;
    }
    assert_eq!(store.forget_inbound(UnixMillis(6), 3).await.unwrap(), 3);
    assert_eq!(store.forget_inbound(UnixMillis(6), 0).await.unwrap(), 0);
    let again = |n| Commit { inbound: vec![inbound(n)], ..step(id(1), 7) };
    assert_eq!(commit_conflicts(store, again(4)).await, Conflict::InboundSeen);
    assert_eq!(store.forget_inbound(UnixMillis(6), 3).await.unwrap(), 2);
    assert_eq!(store.forget_inbound(UnixMillis(6), 3).await.unwrap(), 0);
    assert_eq!(commit_conflicts(store, again(6)).await, Conflict::InboundSeen);
    commit_done(store, again(1)).await;
}

/// By when they were last named, regardless of the operation.
pub async fn old_user_relays_are_removed(store: &dyn FullStore) {
    commit_done(store, create(id(1))).await;
    let name = |revision, user, at| {
        let user_relays = vec![user_relays(user, &[&format!("wss://{at}")])];
        Commit { at: UnixMillis(at), user_relays, ..step(id(1), revision) }
    };
    for (revision, user, at) in [(1, 1, 10), (2, 2, 20), (3, 3, 30), (4, 4, 40), (5, 1, 50)] {
        commit_done(store, name(revision, user, at)).await;
    }
    assert_eq!(store.forget_user_relays(UnixMillis(40), 0).await.unwrap(), 0);
    assert_eq!(store.forget_user_relays(UnixMillis(40), 1).await.unwrap(), 1);
    assert!(store.user_relays(&public_key(2)).await.unwrap().is_empty(), "the oldest first");
    assert_eq!(store.user_relays(&public_key(3)).await.unwrap(), ["wss://30"]);
    assert_eq!(store.forget_user_relays(UnixMillis(40), 10).await.unwrap(), 1);
    assert_eq!(store.forget_user_relays(UnixMillis(40), 10).await.unwrap(), 0);
    assert_eq!(store.user_relays(&public_key(4)).await.unwrap(), ["wss://40"], "named at, not before");
    assert_eq!(store.user_relays(&public_key(1)).await.unwrap(), ["wss://50"], "named again");
    // Only the user's data are removed, not operations.
    assert_eq!(store.operation(id(1)).await.unwrap().unwrap().revision, 6);
}

async fn finish_with_deliveries(store: &dyn FullStore, number: u64, at: u64) {
    let events = vec![event(0), event(1)];
    let commit = Commit { finished: true, at: UnixMillis(at), deliver: true, events, ..create(id(number)) };
    commit_done(store, commit).await;
}

/// Until the last one is delivered or given up; it delays no other operation and is not counted.
pub async fn operations_with_pending_deliveries_are_kept(store: &dyn FullStore) {
    finish_with_deliveries(store, 1, 10).await;
    finish_with_deliveries(store, 2, 11).await;
    finish_at(store, 3, 12).await;
    assert_eq!(store.remove_finished(UnixMillis(100), 1).await.unwrap(), 1, "the one without deliveries");
    assert!(store.operation(id(3)).await.unwrap().is_none());
    assert_eq!(store.remove_finished(UnixMillis(100), 10).await.unwrap(), 0);

    assert!(store.record_attempt(accepted(id(1), 0, 50)).await.unwrap());
    assert!(store.record_attempt(refused(id(1), 1, 51)).await.unwrap());
    assert_eq!(store.remove_finished(UnixMillis(100), 10).await.unwrap(), 0, "an attempt is no delivery");
    assert_eq!(store.next_delivery(id(1)).await.unwrap().unwrap().event.index, 1);
    assert!(store.record_attempt(given_up(id(1), 1, 52)).await.unwrap());
    for index in [0, 1] {
        assert!(store.record_attempt(accepted(id(2), index, 53)).await.unwrap());
    }
    // A retried delivery is pending again.
    assert_eq!(store.retry_delivery(id(2), 0, UnixMillis(60), None).await.unwrap(), Retried::Due);
    assert_eq!(store.remove_finished(UnixMillis(100), 10).await.unwrap(), 1);
    assert!(store.operation(id(1)).await.unwrap().is_none());
    assert!(store.record_attempt(accepted(id(2), 0, 61)).await.unwrap());
    assert_eq!(store.remove_finished(UnixMillis(100), 10).await.unwrap(), 1);
}

/// Delivered and failed ones: nothing is left, even for a new operation with the same id.
pub async fn deliveries_are_removed_with_their_operation(store: &dyn FullStore) {
    for n in 1..=3 {
        finish_with_deliveries(store, n, n).await;
        assert!(store.record_attempt(accepted(id(n), 0, 50)).await.unwrap());
        assert!(store.record_attempt(given_up(id(n), 1, 51)).await.unwrap());
    }
    assert_eq!(store.remove_finished(UnixMillis(3), 10).await.unwrap(), 2);
    for n in [1, 2] {
        for index in [0, 1] {
            assert_eq!(store.delivery(id(n), index).await.unwrap(), None);
            assert_eq!(store.retry_delivery(id(n), index, UnixMillis(60), None).await.unwrap(), Retried::NotFound);
            assert!(!store.record_attempt(accepted(id(n), index, 61)).await.unwrap());
        }
    }
    assert_eq!(store.count_deliveries().await.unwrap().failed, 1);
    assert!(store.delivery(id(3), 0).await.unwrap().is_some());
    finish_with_deliveries(store, 1, 70).await;
    assert_eq!(store.next_delivery(id(1)).await.unwrap().unwrap().attempts, 0);
}

/// By their last attempt; pending ones and events stay, however old.
pub async fn settled_deliveries_of_open_streams_are_removed(store: &dyn FullStore) {
    let events = (0..6).map(event).collect();
    commit_done(store, Commit { deliver: true, events, ..create(id(1)) }).await;
    for attempt in [
        accepted(id(1), 0, 30),
        given_up(id(1), 1, 10),
        refused(id(1), 2, 5),
        accepted(id(1), 3, 20),
        accepted(id(1), 4, 40),
        accepted(id(1), 5, 1),
    ] {
        assert!(store.record_attempt(attempt).await.unwrap());
    }
    assert_eq!(store.retry_delivery(id(1), 5, UnixMillis(2), None).await.unwrap(), Retried::Due);
    assert_eq!(store.forget_deliveries(UnixMillis(40), 0).await.unwrap(), 0);
    assert_eq!(store.forget_deliveries(UnixMillis(40), 2).await.unwrap(), 2);
    let mut left = Vec::new();
    for index in 0..6 {
        if store.delivery(id(1), index).await.unwrap().is_some() {
            left.push(index);
        }
    }
    assert_eq!(left, [0, 2, 4, 5], "the oldest are gone");
    assert_eq!(store.forget_deliveries(UnixMillis(40), 2).await.unwrap(), 1);
    assert_eq!(store.forget_deliveries(UnixMillis(40), 2).await.unwrap(), 0);
    assert!(store.delivery(id(1), 4).await.unwrap().is_some(), "attempted at, not before");
    assert_eq!(store.count_deliveries().await.unwrap().pending, 2);
    assert_eq!(store.events(id(1), 0, 10).await.unwrap().len(), 6);
}

/// Users who are sent a message, or whose relays are in use: recorded once a day, and not for users with unknown
/// relays.
pub async fn user_relays_in_use_are_kept(store: &dyn FullStore) {
    const DAY: u64 = 24 * 3_600_000;
    let named = (1..=4).map(|n| user_relays(n, &["wss://a"])).collect();
    commit_done(store, Commit { at: UnixMillis(DAY), user_relays: named, ..create(id(1)) }).await;
    let send = |number, user, at| Commit {
        at: UnixMillis(at),
        outbox: OutboxChange::Replace(vec![message(user)]),
        ..create(id(number))
    };
    commit_done(store, send(2, 1, 3 * DAY)).await;
    commit_done(store, send(3, 2, 2 * DAY)).await;
    commit_done(store, send(4, 9, 3 * DAY)).await;
    store.keep_user_relays(&[public_key(3), public_key(8)], UnixMillis(3 * DAY)).await.unwrap();
    assert_eq!(store.forget_user_relays(UnixMillis(3 * DAY), 10).await.unwrap(), 2, "within a day it is not noted");
    for (user, kept) in [(1, true), (2, false), (3, true), (4, false), (8, false), (9, false)] {
        assert_eq!(!store.user_relays(&public_key(user)).await.unwrap().is_empty(), kept, "{user}");
    }
    assert_eq!(store.forget_user_relays(UnixMillis(3 * DAY + 1), 10).await.unwrap(), 2);
}

/// Oldest first, at most the limit, up to the first that is too recent or the newest; the index continues.
pub async fn old_events_of_an_open_stream_are_removed(mut subject: impl Subject) {
    let at = |n, at| NewEvent { at: UnixMillis(at), ..event(n) };
    let times = [10, 20, 30, 5, 40, 41];
    let events: Vec<_> = (0..).zip(times).map(|(n, time)| at(n, time)).collect();
    let store = subject.store();
    for stream in [1, 2] {
        commit_done(&*store, Commit { events: events.clone(), ..create(id(stream)) }).await;
    }
    assert_eq!(store.remove_events(id(1), UnixMillis(30), 0).await.unwrap(), 0);
    assert_eq!(store.remove_events(id(1), UnixMillis(30), 1).await.unwrap(), 1);
    assert_eq!(store.events(id(1), 0, 1).await.unwrap()[0].index, 1);
    assert_eq!(store.remove_events(id(1), UnixMillis(30), 10).await.unwrap(), 1, "up to the one that is too young");
    assert_eq!(store.remove_events(id(1), UnixMillis(30), 10).await.unwrap(), 0);
    subject.reopen().await;
    let store = subject.store();
    let left: Vec<_> = store.events(id(1), 0, 10).await.unwrap().iter().map(|event| event.index).collect();
    assert_eq!(left, [2, 3, 4, 5]);
    assert_eq!(store.remove_events(id(1), UnixMillis(u64::MAX), usize::MAX).await.unwrap(), 3, "never the newest");
    assert_eq!(store.remove_events(id(1), UnixMillis(u64::MAX), usize::MAX).await.unwrap(), 0);
    assert_eq!(store.events(id(1), 0, 1).await.unwrap()[0].index, 5);
    assert_eq!(store.events(id(2), 0, 1).await.unwrap()[0].index, 0, "another stream");

    assert_eq!(commit_done(&*store, Commit { events: vec![at(6, 50)], ..step(id(1), 1) }).await, (2, 7));
    assert_eq!(store.remove_events(id(1), UnixMillis(u64::MAX), usize::MAX).await.unwrap(), 1);
    assert_eq!(store.events(id(1), 0, 10).await.unwrap()[0].index, 6);

    let end = Commit { finished: true, ..step(id(2), 1) };
    commit_done(&*store, end).await;
    assert_eq!(store.remove_events(id(2), UnixMillis(u64::MAX), 10).await.unwrap(), 0, "finished");
    assert_eq!(store.remove_events(id(9), UnixMillis(u64::MAX), 10).await.unwrap(), 0, "unknown");
}

/// Until it is removed: a delivery that was given up may be retried.
pub async fn events_with_a_delivery_are_kept(store: &dyn FullStore) {
    commit_done(store, Commit { deliver: true, events: (0..4).map(event).collect(), ..create(id(1)) }).await;
    let remove = async || store.remove_events(id(1), UnixMillis(u64::MAX), 10).await.unwrap();
    assert_eq!(remove().await, 0, "pending");
    assert!(store.record_attempt(accepted(id(1), 0, 10)).await.unwrap());
    assert!(store.record_attempt(given_up(id(1), 1, 20)).await.unwrap());
    assert_eq!(remove().await, 0, "delivered, and still listed");
    assert_eq!(store.forget_deliveries(UnixMillis(20), 10).await.unwrap(), 1);
    assert_eq!(remove().await, 1);
    assert_eq!(store.retry_delivery(id(1), 1, UnixMillis(30), None).await.unwrap(), Retried::Due);
    assert!(store.record_attempt(accepted(id(1), 1, 40)).await.unwrap());
    assert_eq!(store.next_delivery(id(1)).await.unwrap().unwrap().event.index, 2);
    assert_eq!(store.forget_deliveries(UnixMillis(100), 10).await.unwrap(), 1);
    assert_eq!(remove().await, 1);
    assert_eq!(store.events(id(1), 0, 1).await.unwrap()[0].index, 2);
}
