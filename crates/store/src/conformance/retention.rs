//! Removing what is past its time, and nothing else.

use usher_engine::ports::{Commit, Conflict};
use usher_engine::{StreamId, UnixMillis};

use super::{Subject, commit_conflicts, commit_done, create, event, id, inbound, step};

async fn finish_at(subject: &impl Subject, number: u64, at: u64) {
    let store = subject.store();
    commit_done(&*store, Commit { events: vec![event(0)], ..create(id(number)) }).await;
    let end = Commit { finished: true, at: UnixMillis(at), events: vec![event(1)], ..step(id(number), 1) };
    commit_done(&*store, end).await;
}

/// The operation, its events, and its id: it never was.
pub async fn removes_everything_of_what_finished_before(subject: impl Subject) {
    let store = subject.store();
    finish_at(&subject, 1, 99).await;
    finish_at(&subject, 2, 100).await;
    finish_at(&subject, 3, 98).await;
    assert_eq!(store.remove_finished(UnixMillis(100), 10).await.unwrap(), 2);
    for n in [1, 3] {
        assert_eq!(store.operation(id(n)).await.unwrap(), None);
        assert!(store.events(id(n), 0, 10).await.unwrap().is_empty());
        assert_eq!(commit_conflicts(&*store, step(id(n), 2)).await, Conflict::Revision);
    }
    assert!(store.operation(id(2)).await.unwrap().is_some(), "finished at, not before");
    assert_eq!(store.events(id(2), 0, 10).await.unwrap().len(), 2);
    assert_eq!(store.remove_finished(UnixMillis(100), 10).await.unwrap(), 0);
    assert_eq!(commit_done(&*store, create(id(1))).await, (1, 0));
}

/// Oldest first, until none is left.
pub async fn removes_at_most_the_limit(subject: impl Subject) {
    let store = subject.store();
    for n in 1..=7 {
        finish_at(&subject, n, 100 - n).await;
    }
    let mut removed = Vec::new();
    loop {
        match store.remove_finished(UnixMillis(1_000), 3).await.unwrap() {
            0 => break,
            some => removed.push(some),
        }
        if removed.len() == 1 {
            assert!(store.operation(id(7)).await.unwrap().is_none());
            assert!(store.operation(id(4)).await.unwrap().is_some());
        }
    }
    assert_eq!(removed, [3, 3, 1]);
    assert_eq!(store.remove_finished(UnixMillis(1_000), 0).await.unwrap(), 0);
}

/// However old, and whatever the limits.
pub async fn never_removes_what_is_open(subject: impl Subject) {
    let store = subject.store();
    commit_done(&*store, Commit { at: UnixMillis(0), events: vec![event(0)], ..create(id(1)) }).await;
    commit_done(&*store, Commit { at: UnixMillis(0), ..step(id(1), 1) }).await;
    finish_at(&subject, 2, 5).await;
    assert_eq!(store.remove_finished(UnixMillis(u64::MAX), usize::MAX).await.unwrap(), 1);
    assert_eq!(store.remove_finished(UnixMillis(u64::MAX), usize::MAX).await.unwrap(), 0);
    let open: Vec<_> = store.open_operations(None, 10).await.unwrap().iter().map(|open| open.id).collect();
    assert_eq!(open, [StreamId::SUBSCRIPTIONS, id(1)]);
    assert_eq!(store.events(id(1), 0, 10).await.unwrap().len(), 1);
}

/// Those recorded before the given time; the rest still count.
pub async fn forgets_inbound_events_in_batches(subject: impl Subject) {
    let store = subject.store();
    commit_done(&*store, create(id(1))).await;
    for n in 1..=6 {
        commit_done(&*store, Commit { at: UnixMillis(n), inbound: Some(inbound(n)), ..step(id(1), n) }).await;
    }
    assert_eq!(store.forget_inbound(UnixMillis(6), 3).await.unwrap(), 3);
    assert_eq!(store.forget_inbound(UnixMillis(6), 0).await.unwrap(), 0);
    let again = |n| Commit { inbound: Some(inbound(n)), ..step(id(1), 7) };
    assert_eq!(commit_conflicts(&*store, again(4)).await, Conflict::InboundSeen);
    assert_eq!(store.forget_inbound(UnixMillis(6), 3).await.unwrap(), 2);
    assert_eq!(store.forget_inbound(UnixMillis(6), 3).await.unwrap(), 0);
    assert_eq!(commit_conflicts(&*store, again(6)).await, Conflict::InboundSeen);
    commit_done(&*store, again(1)).await;
}
