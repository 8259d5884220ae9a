//! Operations: created, stepped, finished.

use usher_engine::ports::{Commit, Conflict, OperationKind, State, StoredOperation};
use usher_engine::{Order, Origin, StreamId, UnixMillis};

use super::{FullStore, commit_conflicts, commit_done, create, event, id, key, message, step};
use usher_engine::ports::OutboxChange;

/// Revision 1, as given; each step increments it, and the kind stays that of the first commit.
pub async fn operation_is_created_and_stepped(store: &dyn FullStore) {
    let commit = Commit {
        kind: OperationKind::Authentication,
        state: State(r#"{"secret":"ü"}"#.to_owned()),
        events: vec![event(0), event(1)],
        ..create(id(1))
    };
    assert_eq!(commit_done(store, commit).await, (1, 2));
    let expected = StoredOperation {
        kind: OperationKind::Authentication,
        origin: None,
        state: State(r#"{"secret":"ü"}"#.to_owned()),
        revision: 1,
        next_index: 2,
        done: false,
        finished_at: None,
    };
    assert_eq!(store.operation(id(1)).await.unwrap().as_ref(), Some(&expected));
    assert_eq!(commit_done(store, step(id(1), 1)).await, (2, 2));
    assert_eq!(commit_done(store, Commit { kind: OperationKind::SinglePayment, ..step(id(1), 2) }).await, (3, 2));
    let state = State(r#"{"revision":3}"#.to_owned());
    assert_eq!(store.operation(id(1)).await.unwrap(), Some(StoredOperation { revision: 3, state, ..expected }));
}

/// Steps do not change it, even with another origin.
pub async fn origin_is_that_of_the_first_commit(store: &dyn FullStore) {
    let origins = [Some(Origin(i64::MAX)), Some(Origin(0)), None];
    for (n, origin) in (1..).zip(origins) {
        let kind = OperationKind::Subscription;
        commit_done(store, Commit { origin, kind, claims: vec![key("a")], ..create(id(n)) }).await;
        commit_done(store, Commit { origin: Some(Origin(9)), kind, ..step(id(n), 1) }).await;
        assert_eq!(store.operation(id(n)).await.unwrap().unwrap().origin, origin);
        assert_eq!(store.operation_with_key(key("a")).await.unwrap().unwrap().1.origin, origin);
        assert_eq!(store.subscriptions(Order::Oldest, None, 1).await.unwrap()[0].1.origin, origin);
        commit_done(store, Commit { kind, finished: true, ..step(id(n), 2) }).await;
        assert_eq!(store.operation(id(n)).await.unwrap().unwrap().origin, origin);
    }
}

/// Every query has a result for an unknown id, and a step of it conflicts.
pub async fn unknown_rows_are_absent(store: &dyn FullStore) {
    assert_eq!(store.operation(id(1)).await.unwrap(), None);
    assert!(store.events(id(1), 0, 10).await.unwrap().is_empty());
    assert!(store.outbox(id(1)).await.unwrap().is_empty());
    assert!(store.user_relays(&super::public_key(1)).await.unwrap().is_empty());
    assert_eq!(commit_conflicts(store, step(id(1), 1)).await, Conflict::Revision);
    assert_eq!(commit_conflicts(store, step(id(1), 0)).await, Conflict::Revision);
    assert_eq!(store.operation(id(1)).await.unwrap(), None);
}

/// A finished operation accepts no step; its events stay readable.
pub async fn finishing_is_final(store: &dyn FullStore) {
    commit_done(store, Commit { events: vec![event(0)], ..create(id(1)) }).await;
    let end = Commit { finished: true, at: UnixMillis(77), events: vec![event(1)], ..step(id(1), 1) };
    assert_eq!(commit_done(store, end).await, (2, 2));
    assert_eq!(commit_conflicts(store, step(id(1), 2)).await, Conflict::Revision);
    assert_eq!(commit_conflicts(store, create(id(1))).await, Conflict::Revision);
    let stored = store.operation(id(1)).await.unwrap().unwrap();
    assert_eq!((stored.revision, stored.next_index, stored.finished_at), (2, 2, Some(UnixMillis(77))));
    assert_eq!(store.events(id(1), 0, 10).await.unwrap().len(), 2);
}

/// It leaves nothing that only open operations have.
pub async fn operation_can_be_created_finished(store: &dyn FullStore) {
    let commit = Commit {
        finished: true,
        wake_at: Some(UnixMillis(5)),
        claims: vec![key("born")],
        outbox: OutboxChange::Replace(vec![message(1)]),
        events: vec![event(0)],
        ..create(id(1))
    };
    assert_eq!(commit_done(store, commit).await, (1, 1));
    assert!(store.operation(id(1)).await.unwrap().unwrap().finished_at.is_some());
    assert!(store.outbox(id(1)).await.unwrap().is_empty());
    commit_done(store, Commit { claims: vec![key("born")], ..create(id(2)) }).await;
}

/// It exists from the beginning, open, and accepts events.
pub async fn reserved_stream_always_exists(store: &dyn FullStore) {
    let stored = store.operation(StreamId::SUBSCRIPTIONS).await.unwrap().unwrap();
    assert_eq!((stored.kind, stored.revision, stored.next_index), (OperationKind::Subscriptions, 1, 0));
    assert_eq!(stored.finished_at, None);
    assert_eq!(commit_conflicts(store, create(StreamId::SUBSCRIPTIONS)).await, Conflict::Revision);
    let append = Commit { events: vec![event(0)], ..step(StreamId::SUBSCRIPTIONS, 1) };
    assert_eq!(commit_done(store, append).await, (2, 1));
}

/// A step that finishes it fails without affecting other commits.
pub async fn reserved_stream_cannot_finish(store: &dyn FullStore) {
    let fatal = || Commit {
        finished: true,
        events: vec![event(0)],
        claims: vec![key("x")],
        ..step(StreamId::SUBSCRIPTIONS, 1)
    };
    let (first, _, second, _, third) = tokio::join!(
        store.commit(create(id(1))),
        async { store.commit(fatal()).await.unwrap_err() },
        store.commit(create(id(2))),
        async { store.commit(fatal()).await.unwrap_err() },
        store.commit(create(id(3))),
    );
    let done = usher_engine::ports::Committed::Done { revision: 1, next_index: 0 };
    for result in [first, second, third] {
        assert_eq!(result.unwrap(), done);
    }
    let stored = store.operation(StreamId::SUBSCRIPTIONS).await.unwrap().unwrap();
    assert_eq!((stored.revision, stored.next_index, stored.finished_at), (1, 0, None));
    assert!(store.events(StreamId::SUBSCRIPTIONS, 0, 10).await.unwrap().is_empty());
}
