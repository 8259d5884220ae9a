//! Recorded times after a clock that was ahead has been set back.

use std::time::Duration;

use usher_engine::UnixMillis;
use usher_engine::ports::{Commit, TicketCommit, UserRelays};

use super::{
    Subject, accepted, commit_done, create, event, id, idempotency_key, inbound, new_record, public_key, refused, step,
    ticket_step,
};

const BY: Duration = Duration::from_secs(10);

/// Only times recorded while the clock was ahead are moved, by as much; doing it twice has the effect of doing it once.
pub async fn pending_deliveries_keep_their_pauses(subject: impl Subject) {
    let store = subject.store();
    for n in 1..=4 {
        let events = vec![usher_engine::event::NewEvent { at: UnixMillis(90_000), ..event(0) }];
        commit_done(&*store, Commit { deliver: true, events, ..create(id(n)) }).await;
    }
    // Attempted before and after the clock was right; the fourth never, and its event is of the future.
    for (n, at) in [(1, 99_000), (2, 105_000), (3, 109_500)] {
        assert!(store.record_attempt(refused(id(n), 0, at)).await.unwrap());
    }
    let events = vec![usher_engine::event::NewEvent { at: UnixMillis(104_000), ..event(1) }];
    commit_done(&*store, Commit { deliver: true, events, ..create(id(5)) }).await;
    let now = UnixMillis(100_000);
    for _ in 0..2 {
        store.clock_set_back(now, BY).await.unwrap();
        let due = store.pending_queues(None, 10).await.unwrap();
        let due: Vec<_> = due.into_iter().map(|(_, due_at)| due_at.0).collect();
        // Refused ones are due a second later.
        assert_eq!(due, [100_000, 100_000, 100_500, 90_000, 100_000]);
    }
    let moved = store.next_delivery(id(2)).await.unwrap().unwrap();
    assert_eq!((moved.last_attempt_at, moved.since), (Some(now), UnixMillis(90_000)));
    assert_eq!(store.next_delivery(id(5)).await.unwrap().unwrap().since, now);
}

/// So that it is not kept for longer than it should be.
pub async fn future_timestamps_are_moved_to_now(subject: impl Subject) {
    let store = subject.store();
    assert_eq!(store.latest_record().await.unwrap(), None);
    let far = UnixMillis(900_000);
    let first = Commit {
        at: far,
        events: vec![event(0)],
        deliver: true,
        inbound: vec![inbound(1)],
        user_relays: vec![UserRelays { main_key: public_key(1), relays: vec!["wss://a".to_owned()] }],
        idempotency_record: Some(new_record(1, far.0, 0)),
        ..create(id(1))
    };
    commit_done(&*store, first).await;
    assert!(store.record_attempt(accepted(id(1), 0, far.0 + 1)).await.unwrap());
    commit_done(&*store, Commit { at: UnixMillis(far.0 + 2), finished: true, ..step(id(1), 1) }).await;
    assert_eq!(store.latest_record().await.unwrap(), Some(UnixMillis(far.0 + 2)));
    let last = UnixMillis(far.0 + 3);
    store.commit_tickets(TicketCommit { at: last, finished: true, ..ticket_step(1, 0) }).await.unwrap();
    assert_eq!(store.latest_record().await.unwrap(), Some(last));
    let now = UnixMillis(100_000);
    store.clock_set_back(now, BY).await.unwrap();
    assert_eq!(store.latest_record().await.unwrap(), Some(now));
    assert_eq!(store.idempotency_record(&idempotency_key(1)).await.unwrap().unwrap().at, now);
    let soon = UnixMillis(now.0 + 1);
    assert_eq!(store.forget_deliveries(soon, 10).await.unwrap(), 1);
    assert_eq!(store.forget_inbound(soon, 10).await.unwrap(), 1);
    assert_eq!(store.forget_user_relays(soon, 10).await.unwrap(), 1);
    assert_eq!(store.remove_idempotency_records(soon, 10).await.unwrap(), 1);
    assert_eq!(store.remove_finished(soon, 10).await.unwrap(), 1);
    assert_eq!(store.remove_ticket_jobs(soon, 10).await.unwrap(), 1);
    assert_eq!(store.latest_record().await.unwrap(), None);
}
