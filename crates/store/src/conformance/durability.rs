//! Durability: everything that was acknowledged is stored.

use std::collections::BTreeMap;
use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use parking_lot::Mutex;
use usher_engine::UnixMillis;
use usher_engine::ports::{Commit, Committed, CounterAdvance, LoginRecordStatus, OutboxChange, TicketCommit};

use super::{
    FullStore, Snapshot, Subject, Subjects, accepted, commit_done, create, ended_login, event, given_up, id,
    idempotency_key, inbound, key, message, new_record, proof, proof_id, public_key, refused, step, ticket_job,
    ticket_step, user_relays,
};

/// Every kind of row.
pub async fn everything_survives_reopening(mut subject: impl Subject) {
    let store = subject.store();
    let first = Commit {
        wake_at: Some(UnixMillis(5)),
        claims: vec![key("a")],
        events: vec![event(0), event(1)],
        outbox: OutboxChange::Replace(vec![message(1), message(2)]),
        inbound: vec![inbound(1)],
        user_relays: vec![user_relays(1, &["wss://a"])],
        deliver: true,
        idempotency_record: Some(new_record(1, 100, 0)),
        ..create(id(1))
    };
    commit_done(&*store, first).await;
    let kept = vec![(key("b"), UnixMillis(7))];
    let finished = Commit { claims: vec![key("b")], kept, finished: true, events: vec![event(2)], ..create(id(2)) };
    let finished = Commit { login_record: Some(ended_login(1, LoginRecordStatus::Approved)), ..finished };
    commit_done(&*store, finished).await;
    let more = Commit { deliver: true, events: (2..6).map(event).collect(), ..create(id(9)) };
    commit_done(&*store, more).await;
    for attempt in [refused(id(1), 0, 7), accepted(id(9), 0, 8), given_up(id(9), 1, 9)] {
        assert!(store.record_attempt(attempt).await.unwrap());
    }
    assert!(store.add_idempotency_record(new_record(2, 100, 0)).await.unwrap());
    store.set_setting("a", Some("b")).await.unwrap();
    let counter = CounterAdvance { mint_url: "https://m".to_owned(), keyset: "00a".to_owned(), from: 0, to: 2 };
    let add = vec![proof(1, "https://m", "sat", 1), proof(2, "https://m", "sat", 2)];
    let job = TicketCommit { counter: Some(counter), claims: vec![proof_id(3)], add, ..ticket_step(1, 0) };
    store.commit_tickets(job).await.unwrap();
    let finished = TicketCommit { reserve: vec![proof_id(2)], finished: true, ..ticket_step(2, 0) };
    store.commit_tickets(finished).await.unwrap();
    let before = observe(&subject).await;
    drop(store);

    for _ in 0..2 {
        subject.reopen().await;
        assert_eq!(observe(&subject).await, before);
    }
    commit_done(&*subject.store(), step(id(1), 1)).await;
}

async fn observe(subject: &impl Subject) -> Snapshot {
    let about = Subjects {
        streams: vec![id(1), id(2), id(9)],
        keys: vec![key("a"), key("b")],
        users: vec![public_key(1)],
        calls: vec![idempotency_key(1), idempotency_key(2)],
        settings: vec!["a".to_owned()],
        ticket_jobs: vec![ticket_job(1), ticket_job(2)],
        proofs: vec![proof_id(1), proof_id(2), proof_id(3)],
        keysets: vec![("https://m".to_owned(), "sat".to_owned(), "00a".to_owned())],
    };
    Snapshot::of(&*subject.store(), &about).await
}

/// Many tasks commit, each its own operations and some conflicting ones; every `Done` is found after reopening.
pub async fn acknowledged_commits_under_load_survive(mut subject: impl Subject) {
    const TASKS: u64 = 64;
    const EACH: u64 = 10;
    let acknowledged = Arc::new(Mutex::new(BTreeMap::new()));
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let (store, acknowledged) = (subject.store(), Arc::clone(&acknowledged));
            super::task(async move {
                for n in 0..EACH {
                    let operation = id(task * EACH + n);
                    // A key that one other task also claims.
                    let shared = key(&format!("{}-{n}", task / 2));
                    let commit = Commit { claims: vec![shared], events: vec![event(n)], ..create(operation) };
                    if let Committed::Done { revision, .. } = store.commit(commit).await.unwrap() {
                        acknowledged.lock().insert(operation, revision);
                        let (revision, _) = commit_done(&*store, step(operation, 1)).await;
                        acknowledged.lock().insert(operation, revision);
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    subject.reopen().await;
    let store = subject.store();
    let acknowledged = acknowledged.lock().clone();
    assert_eq!(acknowledged.len() as u64, TASKS * EACH / 2, "of each pair one");
    for (operation, revision) in &acknowledged {
        let stored = store.operation(*operation).await.unwrap().unwrap();
        assert_eq!((stored.revision, stored.next_index), (*revision, 1));
        assert_eq!(store.events(*operation, 0, 10).await.unwrap().len(), 1);
    }
    let open = store.open_operations(None, usize::MAX).await.unwrap();
    assert_eq!(open.len(), acknowledged.len() + 1);
}

/// A caller that is cancelled half-way leaves a whole commit or none, and does not affect others.
pub async fn dropped_caller_leaves_the_commit_whole_or_absent(store: &dyn FullStore) {
    for n in 0..50 {
        {
            let commit = Commit { events: vec![event(0)], claims: vec![key(&n.to_string())], ..create(id(n)) };
            let mut abandoned = pin!(store.commit(commit));
            // Polled once to start it, then dropped.
            poll_fn(|context| {
                drop(abandoned.as_mut().poll(context));
                Poll::Ready(())
            })
            .await;
        }
        commit_done(store, create(id(1_000 + n))).await;
    }
    for n in 0..50 {
        let whole = store.operation(id(n)).await.unwrap().is_some();
        assert_eq!(store.events(id(n), 0, 10).await.unwrap().len(), usize::from(whole));
        assert!(store.operation(id(1_000 + n)).await.unwrap().is_some());
    }
}
