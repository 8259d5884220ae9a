//! Commits of several operations in one batch: all or none.

use std::future::poll_fn;
use std::task::Poll;

use usher_engine::ports::{
    AllCommitted, Commit, Committed, Conflict, OperationHead, OperationKind, OutboxChange, Revision, SignerSession,
    SignerSessionUpdate, State,
};
use usher_engine::{Order, StreamId};
use usher_protocol::message::PaymentHash;

use super::{
    FullStore, Subject, commit_conflicts, commit_done, create, event, id, idempotency_key, inbound, key, message,
    new_record, public_key, step, user_relays, user_signer,
};

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
    assert_eq!(ids(store.subscriptions(Order::Oldest, None, 10).await.unwrap()), [id(1), id(4), id(5)]);
    assert_eq!(ids(store.subscriptions(Order::Oldest, None, 2).await.unwrap()), [id(1), id(4)]);
    assert_eq!(ids(store.subscriptions(Order::Oldest, Some(id(4)), 2).await.unwrap()), [id(5)]);
    assert_eq!(ids(store.subscriptions(Order::Newest, None, 2).await.unwrap()), [id(5), id(4)]);
    assert_eq!(ids(store.subscriptions(Order::Newest, Some(id(4)), 2).await.unwrap()), [id(1)]);
}

/// Commits that share a transaction: each depends on those before it, although none of them is in the tables yet.
pub async fn commits_queued_together_see_each_other(store: &dyn FullStore) {
    let done = |revision, next_index| Committed::Done { revision, next_index };
    let conflict = Committed::Conflict;
    let first = Commit {
        claims: vec![key("a"), key("kept")],
        events: vec![event(0)],
        deliver: true,
        outbox: OutboxChange::Replace(vec![message(1)]),
        inbound: vec![inbound(1)],
        user_relays: vec![user_relays(1, &["wss://first"])],
        user_signers: vec![user_signer(2, "one", SignerSessionUpdate::Store)],
        idempotency_record: Some(new_record(1, 100, 0)),
        ..create(id(1))
    };
    let session = |last: &str, next| user_signer(2, next, SignerSessionUpdate::Replace(SignerSession(last.to_owned())));
    let second = Commit {
        events: vec![event(1), event(2)],
        outbox: OutboxChange::Add(vec![message(2), message(3)]),
        user_relays: vec![user_relays(1, &[]), user_relays(3, &["wss://third"])],
        user_signers: vec![session("one", "two")],
        ..step(id(1), 1)
    };
    let kept = vec![(key("kept"), usher_engine::UnixMillis(u64::MAX / 4))];
    let end = Commit { finished: true, kept, events: vec![event(5)], ..step(id(1), 3) };
    let steps = [
        (first, done(1, 1)),
        (second, done(2, 3)),
        (step(id(1), 1), conflict(Conflict::Revision)),
        (create(id(1)), conflict(Conflict::Revision)),
        (Commit { claims: vec![key("a")], ..create(id(2)) }, conflict(Conflict::Correlation(id(1)))),
        (Commit { inbound: vec![inbound(1)], ..create(id(2)) }, conflict(Conflict::InboundSeen)),
        (
            Commit { idempotency_record: Some(new_record(1, 200, 100)), ..create(id(2)) },
            conflict(Conflict::AlreadyRequested),
        ),
        // Nothing of these conflicts is left, and a record of before may be replaced.
        (Commit { idempotency_record: Some(new_record(1, 200, 101)), ..create(id(2)) }, done(1, 0)),
        (
            Commit {
                user_signers: vec![session("one", "three")],
                outbox: OutboxChange::Add(vec![message(4)]),
                ..step(id(1), 2)
            },
            done(3, 3),
        ),
        (end, done(4, 4)),
        (Commit { expected: Revision::Any, ..step(id(1), 4) }, conflict(Conflict::Revision)),
        (Commit { claims: vec![key("kept")], ..create(id(3)) }, conflict(Conflict::Correlation(id(1)))),
        (
            Commit { claims: vec![key("a")], outbox: OutboxChange::Replace(vec![message(6)]), ..create(id(3)) },
            done(1, 0),
        ),
        (Commit { outbox: OutboxChange::Add(vec![message(7)]), ..step(id(3), 1) }, done(2, 0)),
    ];
    let (commits, expected): (Vec<_>, Vec<_>) = steps.into_iter().unzip();
    // All are queued before the first is awaited.
    let mut waiting: Vec<_> = commits.into_iter().map(|commit| (store.commit(commit), None)).collect();
    poll_fn(|context| {
        for (commit, result) in &mut waiting {
            if let Poll::Ready(ready) = commit.as_mut().poll(context) {
                *result = Some(ready);
            }
        }
        Poll::Ready(())
    })
    .await;
    for (number, ((commit, result), expected)) in waiting.into_iter().zip(expected).enumerate() {
        let result = match result {
            Some(result) => result,
            None => commit.await,
        };
        assert_eq!(result.unwrap(), expected, "{number}");
    }
    let indexes = store.events(id(1), 0, 10).await.unwrap().into_iter().map(|event| event.index);
    assert_eq!(indexes.collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(store.outbox(id(1)).await.unwrap().is_empty());
    assert_eq!(store.outbox(id(3)).await.unwrap(), [message(6), message(7)]);
    assert_eq!(store.operation_with_key(key("a")).await.unwrap().map(|(owner, _)| owner), Some(id(3)));
    let taken = Commit { claims: vec![key("kept")], ..create(id(9)) };
    assert_eq!(commit_conflicts(store, taken).await, Conflict::Correlation(id(1)));
    assert_eq!(store.user_relays(&public_key(1)).await.unwrap(), ["wss://first"]);
    assert_eq!(store.user_relays(&public_key(3)).await.unwrap(), ["wss://third"]);
    let signer = store.user_signer(&public_key(2)).await.unwrap().unwrap();
    assert_eq!(signer.0, "two", "a session that was replaced is not the last one");
    let record = store.idempotency_record(&idempotency_key(1)).await.unwrap().unwrap();
    assert_eq!(record.at, usher_engine::UnixMillis(200));
    assert_eq!(store.count_deliveries().await.unwrap().pending, 1);
}
