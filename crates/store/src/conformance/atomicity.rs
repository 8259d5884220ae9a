//! Commits of several operations in one batch: all or none.

use usher_engine::StreamId;
use usher_engine::ports::{AllCommitted, Commit, Conflict, OperationHead, OperationKind, Revision, State};
use usher_protocol::message::PaymentHash;

use super::{FullStore, Subject, commit_done, create, event, id, inbound, key, step};

/// Each gets its own revision and index.
pub async fn batch_is_committed_in_order(store: &dyn FullStore) {
    commit_done(store, create(id(1))).await;
    let commits = vec![
        Commit { events: vec![event(1), event(2)], ..step(id(1), 1) },
        Commit { claims: vec![key("b")], ..create(id(2)) },
        Commit { events: vec![event(3)], ..create(id(3)) },
    ];
    let heads = [(2, 2), (1, 0), (1, 1)].map(|(revision, next_index)| OperationHead { revision, next_index });
    assert_eq!(store.commit_all(commits).await.unwrap(), AllCommitted::Done(heads.to_vec()));
    assert_eq!(store.events(id(1), 0, 10).await.unwrap().len(), 2);
    assert_eq!(store.operation(id(3)).await.unwrap().unwrap().next_index, 1);
    assert_eq!(store.commit_all(Vec::new()).await.unwrap(), AllCommitted::Done(Vec::new()));
}

/// Whichever of them conflicts, nothing of the batch is stored.
pub async fn one_conflict_rolls_back_the_batch(store: &dyn FullStore) {
    commit_done(store, Commit { claims: vec![key("a")], inbound: vec![inbound(1)], ..create(id(1)) }).await;
    let good = || Commit { events: vec![event(1)], claims: vec![key("c")], inbound: vec![inbound(9)], ..create(id(5)) };
    let cases = [
        (step(id(1), 7), Conflict::Revision),
        (step(id(6), 1), Conflict::Revision),
        (Commit { expected: Revision::Any, ..create(id(6)) }, Conflict::Revision),
        (Commit { claims: vec![key("a")], ..create(id(6)) }, Conflict::Correlation(id(1))),
        (Commit { inbound: vec![inbound(1)], ..create(id(6)) }, Conflict::InboundSeen),
        // Conflicts within the batch.
        (create(id(5)), Conflict::Revision),
        (Commit { claims: vec![key("c")], ..create(id(6)) }, Conflict::Correlation(id(5))),
        (Commit { inbound: vec![inbound(9)], ..create(id(6)) }, Conflict::InboundSeen),
    ];
    for (bad, conflict) in cases {
        let result = store.commit_all(vec![good(), bad]).await.unwrap();
        assert_eq!(result, AllCommitted::Conflict(conflict));
        assert_eq!(store.operation(id(5)).await.unwrap(), None);
        assert_eq!(store.operation(id(6)).await.unwrap(), None);
    }
    assert!(matches!(store.commit_all(vec![good()]).await.unwrap(), AllCommitted::Done(_)));
}

/// Many append to the reserved stream, whatever its revision, and each event gets its own index.
pub async fn batches_append_to_the_reserved_stream(store: &dyn FullStore) {
    let append = |number| Commit {
        kind: OperationKind::Subscriptions,
        state: State("{}".to_owned()),
        expected: Revision::Any,
        events: vec![event(number)],
        ..create(StreamId::SUBSCRIPTIONS)
    };
    for number in 0..5 {
        let result = store.commit_all(vec![create(id(number)), append(number)]).await.unwrap();
        let AllCommitted::Done(heads) = result else { panic!("{result:?}") };
        assert_eq!(heads[1].next_index, number + 1);
    }
    let events = store.events(StreamId::SUBSCRIPTIONS, 0, 10).await.unwrap();
    assert_eq!(events.iter().map(|event| event.index).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

/// Done is not finished; the watched invoice is returned when the index is rebuilt, until the operation finishes.
pub async fn done_and_watched_survive_reopening(mut subject: impl Subject) {
    let hash = PaymentHash::from_bytes([7; 32]);
    let store = subject.store();
    commit_done(&*store, Commit { watched: Some(hash), ..create(id(1)) }).await;
    commit_done(&*store, Commit { watched: Some(hash), done: true, ..step(id(1), 1) }).await;
    let store = subject.reopened(store).await;
    let open = store.open_operations(Some(StreamId::SUBSCRIPTIONS), 10).await.unwrap();
    assert_eq!(open.iter().map(|open| (open.done, open.watched)).collect::<Vec<_>>(), [(true, Some(hash))]);
    assert!(store.operation(id(1)).await.unwrap().unwrap().done);
    commit_done(&*store, Commit { watched: Some(hash), done: true, finished: true, ..step(id(1), 2) }).await;
    assert_eq!(store.open_operations(Some(StreamId::SUBSCRIPTIONS), 10).await.unwrap(), []);
}

/// Unfinished ones, in pages.
pub async fn subscriptions_are_listed(store: &dyn FullStore) {
    for number in 1..=5 {
        let kind = if number == 2 { OperationKind::Authentication } else { OperationKind::Subscription };
        commit_done(store, Commit { kind, ..create(id(number)) }).await;
    }
    let finished = Commit { kind: OperationKind::Subscription, finished: true, ..step(id(3), 1) };
    commit_done(store, finished).await;
    let ids = |page: Vec<(StreamId, _)>| page.into_iter().map(|(id, _)| id).collect::<Vec<_>>();
    assert_eq!(ids(store.subscriptions(None, 10).await.unwrap()), [id(1), id(4), id(5)]);
    assert_eq!(ids(store.subscriptions(None, 2).await.unwrap()), [id(1), id(4)]);
    assert_eq!(ids(store.subscriptions(Some(id(4)), 2).await.unwrap()), [id(5)]);
}
