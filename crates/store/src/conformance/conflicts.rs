//! Conditional writes: the second of two conflicting commits changes nothing.

use usher_engine::ports::{Commit, Committed, Conflict, OutboxChange};

use super::{
    FullStore, Snapshot, Subject, Subjects, commit_conflicts, commit_done, create, event, id, idempotency_key, inbound,
    key, message, new_record, public_key, step, user_relays,
};

/// From an older, newer or impossible revision; and an id is created once.
pub async fn step_from_another_revision_conflicts(store: &dyn FullStore) {
    commit_done(store, create(id(1))).await;
    assert_eq!(commit_conflicts(store, create(id(1))).await, Conflict::Revision);
    commit_done(store, step(id(1), 1)).await;
    for revision in [0, 1, 3, u64::MAX] {
        assert_eq!(commit_conflicts(store, step(id(1), revision)).await, Conflict::Revision, "{revision}");
    }
    commit_done(store, step(id(1), 2)).await;
}

/// The engine can then return the stream that holds the key, until its owner has finished. An operation's own keys do
/// not conflict.
pub async fn claimed_key_conflicts_with_its_owner(store: &dyn FullStore) {
    commit_done(store, Commit { claims: vec![key("a"), key("a")], ..create(id(1)) }).await;
    commit_done(store, Commit { claims: vec![key("a"), key("b")], ..step(id(1), 1) }).await;
    let open = store.open_operations(Some(usher_engine::StreamId::SUBSCRIPTIONS), 10).await.unwrap();
    assert_eq!(open[0].correlations.len(), 2);
    commit_done(store, Commit { claims: vec![key("c")], ..create(id(2)) }).await;

    let second = Commit { claims: vec![key("free"), key("b")], ..create(id(3)) };
    assert_eq!(commit_conflicts(store, second).await, Conflict::Correlation(id(1)));
    let later = Commit { claims: vec![key("b")], ..step(id(2), 1) };
    assert_eq!(commit_conflicts(store, later).await, Conflict::Correlation(id(1)));
    // The other keys claimed by the loser stay free.
    commit_done(store, Commit { claims: vec![key("free")], ..create(id(4)) }).await;
    commit_done(store, Commit { finished: true, claims: vec![key("d")], ..step(id(1), 2) }).await;
    commit_done(store, Commit { claims: vec![key("a"), key("b"), key("d")], ..create(id(5)) }).await;
}

/// The engine finds it by them in its memory, also after a start. A version before may have stored them like other keys.
pub async fn random_keys_are_stored_with_the_operation_alone(mut subject: impl Subject) {
    let store = subject.store();
    let random = |names: &[&str], commit| Commit {
        claims: names.iter().map(|name| key(name)).collect(),
        random_keys: true,
        ..commit
    };
    commit_done(&*store, Commit { claims: vec![key("a")], ..create(id(1)) }).await;
    commit_done(&*store, random(&["a", "b"], step(id(1), 1))).await;
    commit_done(&*store, random(&["c"], create(id(2)))).await;
    let store = subject.reopened(store).await;
    let open = store.open_operations(Some(usher_engine::StreamId::SUBSCRIPTIONS), 10).await.unwrap();
    let keys: Vec<_> = open.into_iter().map(|open| open.correlations).collect();
    assert_eq!(keys, [vec![key("a"), key("b")], vec![key("c")]]);
    for name in ["b", "c"] {
        assert_eq!(store.operation_with_key(key(name)).await.unwrap(), None);
    }
    commit_done(&*store, Commit { finished: true, ..random(&["d"], step(id(1), 2)) }).await;
    commit_done(&*store, Commit { claims: ["a", "b", "c", "d"].map(key).to_vec(), ..create(id(3)) }).await;
    commit_done(&*store, Commit { finished: true, ..random(&[], step(id(2), 1)) }).await;
    assert_eq!(store.operation_with_key(key("c")).await.unwrap().unwrap().0, id(3), "another's stays");
}

/// Until the time set by the owner, whatever happens to the owner. Only keys that it holds or claims can be kept.
pub async fn key_can_be_kept_after_the_operation(mut subject: impl Subject) {
    let store = subject.store();
    let at = usher_engine::UnixMillis;
    commit_done(&*store, Commit { claims: vec![key("a"), key("b")], ..create(id(1)) }).await;
    let kept = [("a", 10), ("c", 20), ("never had", 20)].map(|(name, until)| (key(name), at(until)));
    let finished = Commit { finished: true, kept: kept.to_vec(), claims: vec![key("c")], ..step(id(1), 1) };
    commit_done(&*store, finished).await;
    let store = subject.reopened(store).await;
    store.remove_finished(at(u64::MAX >> 1), 10).await.unwrap();
    let claims = |name| Commit { claims: vec![key(name)], ..create(id(2)) };
    for name in ["a", "c"] {
        assert_eq!(commit_conflicts(&*store, claims(name)).await, Conflict::Correlation(id(1)));
        assert_eq!(store.operation_with_key(key(name)).await.unwrap(), None, "it is not open");
    }
    let others = Commit { claims: vec![key("b"), key("never had")], ..create(id(3)) };
    commit_done(&*store, others).await;
    let owner = store.operation_with_key(key("b")).await.unwrap().unwrap();
    assert_eq!((owner.0, Some(owner.1)), (id(3), store.operation(id(3)).await.unwrap()));
    assert_eq!(store.operation_with_key(key("nobody's")).await.unwrap(), None);

    assert_eq!(store.forget_kept_keys(at(10), 10).await.unwrap(), 0, "until then, not before");
    assert_eq!(store.forget_kept_keys(at(21), 1).await.unwrap(), 1);
    assert_eq!(commit_conflicts(&*store, claims("c")).await, Conflict::Correlation(id(1)), "the oldest first");
    commit_done(&*store, claims("a")).await;
    assert_eq!(store.forget_kept_keys(at(21), 10).await.unwrap(), 1);
    assert_eq!(store.forget_kept_keys(at(u64::MAX >> 1), 10).await.unwrap(), 0, "what is open has no such time");
    commit_done(&*store, Commit { claims: vec![key("c")], ..create(id(4)) }).await;
}

/// Five relays deliver the same event, and a sixth after a restart.
pub async fn inbound_event_is_accepted_once(mut subject: impl Subject) {
    let store = subject.store();
    commit_done(&*store, create(id(1))).await;
    commit_done(&*store, create(id(2))).await;
    commit_done(&*store, Commit { inbound: vec![inbound(1)], ..step(id(1), 1) }).await;
    let again = || Commit { inbound: vec![inbound(1)], events: vec![event(0)], ..step(id(1), 2) };
    assert_eq!(commit_conflicts(&*store, again()).await, Conflict::InboundSeen);
    let elsewhere = Commit { inbound: vec![inbound(1)], ..step(id(2), 1) };
    assert_eq!(commit_conflicts(&*store, elsewhere).await, Conflict::InboundSeen);

    let store = subject.reopened(store).await;
    assert_eq!(commit_conflicts(&*store, again()).await, Conflict::InboundSeen);
    assert_eq!(store.operation(id(1)).await.unwrap().unwrap().revision, 2);
    assert!(store.events(id(1), 0, 10).await.unwrap().is_empty());
    commit_done(&*store, Commit { inbound: vec![inbound(2)], ..step(id(1), 2) }).await;
}

/// Then the keys, then the inbound event. (A repeated request comes before all of them.)
pub async fn revision_is_checked_first(store: &dyn FullStore) {
    commit_done(store, Commit { claims: vec![key("a")], inbound: vec![inbound(1)], ..create(id(1)) }).await;
    commit_done(store, create(id(2))).await;
    let all = |revision| Commit { claims: vec![key("a")], inbound: vec![inbound(1)], ..step(id(2), revision) };
    assert_eq!(commit_conflicts(store, all(9)).await, Conflict::Revision);
    assert_eq!(commit_conflicts(store, all(1)).await, Conflict::Correlation(id(1)));
}

/// Nothing of any part of a commit.
pub async fn conflict_changes_nothing(subject: impl Subject) {
    let store = subject.store();
    commit_done(&*store, Commit { claims: vec![key("taken")], inbound: vec![inbound(1)], ..create(id(9)) }).await;
    let first = Commit {
        events: vec![event(0)],
        outbox: OutboxChange::Replace(vec![message(1)]),
        user_relays: vec![user_relays(1, &["wss://kept"])],
        deliver: true,
        idempotency_record: Some(new_record(1, 100, 0)),
        ..create(id(1))
    };
    commit_done(&*store, first).await;
    let before = observe(&subject).await;

    let full = |revision: u64| Commit {
        finished: true,
        wake_at: Some(usher_engine::UnixMillis(1)),
        claims: vec![key("new")],
        events: vec![event(1), event(2)],
        outbox: OutboxChange::Replace(vec![message(2), message(3)]),
        inbound: vec![inbound(2)],
        user_relays: vec![user_relays(1, &["wss://other"])],
        deliver: true,
        idempotency_record: Some(new_record(2, 200, 0)),
        ..step(id(1), revision)
    };
    assert_eq!(commit_conflicts(&*store, full(7)).await, Conflict::Revision);
    let taken = Commit { claims: vec![key("new"), key("taken")], ..full(1) };
    assert_eq!(commit_conflicts(&*store, taken).await, Conflict::Correlation(id(9)));
    let seen = Commit { inbound: vec![inbound(1)], ..full(1) };
    assert_eq!(commit_conflicts(&*store, seen).await, Conflict::InboundSeen);
    let answered = Commit { idempotency_record: Some(new_record(1, 200, 100)), ..full(1) };
    assert_eq!(commit_conflicts(&*store, answered).await, Conflict::AlreadyRequested);
    assert_eq!(observe(&subject).await, before);

    // The losers leave no key, inbound event or idempotency record.
    let free = Commit {
        claims: vec![key("new")],
        inbound: vec![inbound(2)],
        idempotency_record: Some(new_record(2, 200, 0)),
        ..create(id(2))
    };
    commit_done(&*store, free).await;
}

async fn observe(subject: &impl Subject) -> Snapshot {
    let about = Subjects {
        streams: vec![id(1), id(2), id(9)],
        keys: ["taken", "new"].map(key).to_vec(),
        users: vec![public_key(1)],
        calls: vec![idempotency_key(1), idempotency_key(2)],
        settings: vec!["a".to_owned()],
        ..Subjects::default()
    };
    Snapshot::of(&*subject.store(), &about).await
}

/// For one row, as when a timer and a wallet's reply coincide.
pub async fn one_of_two_concurrent_steps_wins(subject: impl Subject) {
    let store = subject.store();
    commit_done(&*store, create(id(1))).await;
    for revision in 1..=50 {
        let contender = |n| Commit { events: vec![event(n)], ..step(id(1), revision) };
        let won = Committed::Done { revision: revision + 1, next_index: revision };
        one_wins(race(&subject, contender(1), contender(2)).await, won, Conflict::Revision);
    }
    assert_eq!(store.events(id(1), 0, 100).await.unwrap().len(), 50);
}

/// For one inbound event, as when two relays deliver it at the same moment.
pub async fn one_of_two_concurrent_copies_is_accepted(subject: impl Subject) {
    for n in 0..50 {
        let copy = |operation| Commit { inbound: vec![inbound(n)], ..create(operation) };
        let results = race(&subject, copy(id(2 * n)), copy(id(2 * n + 1))).await;
        one_wins(results, Committed::Done { revision: 1, next_index: 0 }, Conflict::InboundSeen);
    }
}

fn one_wins((a, b): (Committed, Committed), won: Committed, conflict: Conflict) {
    let lost = Committed::Conflict(conflict);
    assert!((a == won && b == lost) || (a == lost && b == won), "{a:?} {b:?}");
}

/// For one key, as when the same static token is requested twice at once.
pub async fn one_of_two_concurrent_claims_wins(subject: impl Subject) {
    for n in 0..50 {
        let (one, other) = (id(2 * n), id(2 * n + 1));
        let claim = |operation| Commit { claims: vec![key(&n.to_string())], ..create(operation) };
        let won = Committed::Done { revision: 1, next_index: 0 };
        match race(&subject, claim(one), claim(other)).await {
            (a, Committed::Conflict(Conflict::Correlation(owner))) => assert_eq!((a, owner), (won, one)),
            (Committed::Conflict(Conflict::Correlation(owner)), b) => assert_eq!((b, owner), (won, other)),
            both => panic!("{both:?}"),
        }
    }
}

async fn race(subject: &impl Subject, a: Commit, b: Commit) -> (Committed, Committed) {
    let (one, other) = (subject.store(), subject.store());
    super::race(async move { one.commit(a).await.unwrap() }, async move { other.commit(b).await.unwrap() }).await
}
