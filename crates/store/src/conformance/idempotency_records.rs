//! Idempotency records: the first one stays until it expires.

use usher_engine::UnixMillis;
use usher_engine::ports::{Commit, Committed, Conflict, IdempotencyRecord, NewIdempotencyRecord, Revision};

use super::{
    FullStore, Subject, commit_conflicts, commit_done, create, event, id, idempotency_key, key, new_record, step,
};

async fn answered_at(store: &dyn FullStore, call: u64) -> Option<u64> {
    store.idempotency_record(&idempotency_key(call)).await.unwrap().map(|record| record.at.0)
}

/// Unchanged; a second record under the same key is not stored.
pub async fn records_are_stored_once(mut subject: impl Subject) {
    let store = subject.store();
    assert_eq!(store.idempotency_record(&idempotency_key(1)).await.unwrap(), None);
    assert!(store.add_idempotency_record(new_record(1, 100, 0)).await.unwrap());
    assert!(store.add_idempotency_record(new_record(2, 50, 0)).await.unwrap(), "another call");
    assert!(!store.add_idempotency_record(new_record(1, 101, 0)).await.unwrap());
    assert_eq!(store.idempotency_record(&idempotency_key(1)).await.unwrap(), Some(new_record(1, 100, 0).record));
    let store = subject.reopened(store).await;
    assert!(!store.add_idempotency_record(new_record(1, 102, 0)).await.unwrap());
    assert_eq!(store.idempotency_record(&idempotency_key(1)).await.unwrap(), Some(new_record(1, 100, 0).record));
}

/// Replaces the whole record if it is older than the new one's limit, and again later.
pub async fn old_records_are_replaced(store: &dyn FullStore) {
    assert!(store.add_idempotency_record(new_record(1, 100, 0)).await.unwrap());
    for too_early in [0, 99, 100] {
        assert!(!store.add_idempotency_record(new_record(1, 200, too_early)).await.unwrap(), "{too_early}");
        assert_eq!(answered_at(store, 1).await, Some(100));
    }
    let other = IdempotencyRecord {
        fingerprint: [9; 32],
        status: 503,
        media_type: "application/problem+json".to_owned(),
        body: Vec::new(),
        ..new_record(1, 200, 0).record
    };
    let replacing = NewIdempotencyRecord { record: other.clone(), replace_before: UnixMillis(101) };
    assert!(store.add_idempotency_record(replacing).await.unwrap());
    assert_eq!(store.idempotency_record(&idempotency_key(1)).await.unwrap(), Some(other));
    assert!(!store.add_idempotency_record(new_record(1, 300, 101)).await.unwrap(), "the new one is young");
    assert!(store.add_idempotency_record(new_record(1, 300, 201)).await.unwrap());
    assert_eq!(store.remove_idempotency_records(UnixMillis(u64::MAX), 10).await.unwrap(), 1, "of one call one record");
}

/// Also when both would replace an old one.
pub async fn one_of_two_concurrent_records_wins(subject: impl Subject) {
    for n in 0..50 {
        let (a, b) = (subject.store(), subject.store());
        if n % 2 == 0 {
            assert!(a.add_idempotency_record(new_record(n, 1, 0)).await.unwrap());
        }
        let (a, b) =
            super::race(async move { a.add_idempotency_record(new_record(n, 100, 100)).await.unwrap() }, async move {
                b.add_idempotency_record(new_record(n, 101, 100)).await.unwrap()
            })
            .await;
        assert!(a != b, "{n}: {a} {b}");
        assert_eq!(answered_at(&*subject.store(), n).await, Some(if a { 100 } else { 101 }));
    }
}

/// Both or neither: with a new operation, and with a step of one.
pub async fn records_are_committed_with_their_operation(mut subject: impl Subject) {
    let store = subject.store();
    commit_done(
        &*store,
        Commit { idempotency_record: Some(new_record(1, 100, 0)), claims: vec![key("a")], ..create(id(1)) },
    )
    .await;
    commit_done(&*store, Commit { idempotency_record: Some(new_record(2, 100, 0)), ..step(id(1), 1) }).await;
    let stale = Commit { idempotency_record: Some(new_record(3, 100, 0)), ..step(id(1), 1) };
    assert_eq!(commit_conflicts(&*store, stale).await, Conflict::Revision);
    let taken = Commit { idempotency_record: Some(new_record(4, 100, 0)), claims: vec![key("a")], ..create(id(2)) };
    assert_eq!(commit_conflicts(&*store, taken).await, Conflict::Correlation(id(1)));
    let store = subject.reopened(store).await;
    for (call, expected) in [(1, Some(100)), (2, Some(100)), (3, None), (4, None)] {
        assert_eq!(answered_at(&*store, call).await, expected, "{call}");
    }
}

/// No operation, event, delivery or key, and the first record stays. The record is checked before everything else.
pub async fn repeated_request_changes_nothing(store: &dyn FullStore) {
    commit_done(
        store,
        Commit { idempotency_record: Some(new_record(1, 100, 0)), claims: vec![key("a")], ..create(id(1)) },
    )
    .await;
    let again = |expected, replace_before| Commit {
        expected,
        idempotency_record: Some(new_record(1, 200, replace_before)),
        claims: vec![key("a"), key("b")],
        events: vec![event(0)],
        deliver: true,
        ..create(id(2))
    };
    for expected in [Revision::New, Revision::At(7)] {
        for replace_before in [0, 100] {
            assert_eq!(commit_conflicts(store, again(expected, replace_before)).await, Conflict::AlreadyRequested);
        }
    }
    assert!(store.operation(id(2)).await.unwrap().is_none());
    assert!(store.events(id(2), 0, 10).await.unwrap().is_empty());
    assert!(store.next_delivery(id(2)).await.unwrap().is_none());
    assert_eq!(answered_at(store, 1).await, Some(100));
    commit_done(store, Commit { claims: vec![key("b")], ..create(id(3)) }).await;
}

/// Like a record stored by itself.
pub async fn commit_replaces_an_old_record(store: &dyn FullStore) {
    assert!(store.add_idempotency_record(new_record(1, 100, 0)).await.unwrap());
    commit_done(store, Commit { idempotency_record: Some(new_record(1, 200, 101)), ..create(id(1)) }).await;
    assert_eq!(store.idempotency_record(&idempotency_key(1)).await.unwrap(), Some(new_record(1, 200, 0).record));
    let young = Commit { idempotency_record: Some(new_record(1, 300, 200)), ..step(id(1), 1) };
    assert_eq!(commit_conflicts(store, young).await, Conflict::AlreadyRequested);
}

/// The other request finds the record of the first.
pub async fn one_of_two_requests_with_one_key_commits(subject: impl Subject) {
    for n in 0..50 {
        let call = move |operation, at| Commit { idempotency_record: Some(new_record(n, at, 0)), ..create(operation) };
        let (one, other) = (subject.store(), subject.store());
        let (a, b) = super::race(async move { one.commit(call(id(2 * n), 1)).await.unwrap() }, async move {
            other.commit(call(id(2 * n + 1), 2)).await.unwrap()
        })
        .await;
        let lost = Committed::Conflict(Conflict::AlreadyRequested);
        let won = Committed::Done { revision: 1, next_index: 0 };
        assert!((a == won && b == lost) || (a == lost && b == won), "{a:?} {b:?}");
        let store = subject.store();
        assert_eq!(store.operation(id(2 * n)).await.unwrap().is_some(), a == won);
        assert_eq!(store.operation(id(2 * n + 1)).await.unwrap().is_some(), b == won);
        assert_eq!(answered_at(&*store, n).await, Some(if a == won { 1 } else { 2 }));
    }
}

/// Oldest first; the request can then be repeated.
pub async fn records_are_removed_in_batches(store: &dyn FullStore) {
    for n in 1..=6 {
        assert!(store.add_idempotency_record(new_record(n, n, 0)).await.unwrap());
    }
    assert_eq!(store.remove_idempotency_records(UnixMillis(6), 0).await.unwrap(), 0);
    assert_eq!(store.remove_idempotency_records(UnixMillis(6), 3).await.unwrap(), 3);
    assert_eq!((answered_at(store, 3).await, answered_at(store, 4).await), (None, Some(4)));
    assert_eq!(store.remove_idempotency_records(UnixMillis(6), 3).await.unwrap(), 2);
    assert_eq!(store.remove_idempotency_records(UnixMillis(6), 3).await.unwrap(), 0);
    assert_eq!(answered_at(store, 6).await, Some(6), "given at, not before");
    commit_done(store, Commit { idempotency_record: Some(new_record(1, 7, 0)), ..create(id(1)) }).await;
}

/// Bodies are bytes.
pub async fn large_and_unusual_responses_round_trip(store: &dyn FullStore) {
    let bodies = [vec![], vec![0], vec![0xFF; 1_000_000], b"a\0b".to_vec(), (0..=255).collect()];
    for (n, body) in (1..).zip(bodies) {
        let record = IdempotencyRecord {
            body,
            at: UnixMillis(1 << 60),
            status: u16::MAX,
            media_type: "\u{1F511}\0'".to_owned(),
            ..new_record(n, 0, 0).record
        };
        assert!(
            store
                .add_idempotency_record(NewIdempotencyRecord { record: record.clone(), replace_before: UnixMillis(0) })
                .await
                .unwrap()
        );
        assert!(store.idempotency_record(&idempotency_key(n)).await.unwrap() == Some(record));
    }
}
