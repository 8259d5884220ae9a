//! The outbox: messages that are repeated until the operation removes them.

use usher_engine::UnixMillis;
use usher_engine::ports::{Commit, OutboxChange, OutboxMessage};

use super::{FullStore, commit_done, create, id, message, step};

/// By steps that request it; messages keep their order, recipients and participants.
pub async fn outbox_can_be_kept_appended_replaced_and_cleared(store: &dyn FullStore) {
    let lone = OutboxMessage { kind: u16::MAX, recipients: Vec::new(), participants: Vec::new(), ..message(0) };
    let mut messages = vec![message(3), lone, message(1)];
    commit_done(store, Commit { outbox: OutboxChange::Replace(messages.clone()), ..create(id(1)) }).await;
    commit_done(store, Commit { outbox: OutboxChange::Add(vec![message(9)]), ..create(id(2)) }).await;
    commit_done(store, step(id(1), 1)).await;
    assert_eq!(store.outbox(id(1)).await.unwrap(), messages);
    messages.extend([message(5), message(2)]);
    commit_done(store, Commit { outbox: OutboxChange::Add(messages[3..].to_vec()), ..step(id(1), 2) }).await;
    assert_eq!(store.outbox(id(1)).await.unwrap(), messages);
    assert_eq!(store.outbox(id(2)).await.unwrap(), [message(9)]);
    commit_done(store, Commit { outbox: OutboxChange::Replace(vec![message(3)]), ..step(id(1), 3) }).await;
    assert_eq!(store.outbox(id(1)).await.unwrap(), [message(3)]);
    commit_done(store, Commit { outbox: OutboxChange::Replace(Vec::new()), ..step(id(1), 4) }).await;
    assert!(store.outbox(id(1)).await.unwrap().is_empty());
    commit_done(store, Commit { outbox: OutboxChange::Add(vec![message(4)]), ..step(id(1), 5) }).await;
    assert_eq!(store.outbox(id(1)).await.unwrap(), [message(4)]);
}

/// All of its messages, and of no other operation.
pub async fn resending_can_be_postponed(store: &dyn FullStore) {
    for n in 1..=2 {
        let messages = vec![message(n), message(9)];
        commit_done(store, Commit { outbox: OutboxChange::Replace(messages), ..create(id(n)) }).await;
    }
    commit_done(store, Commit { outbox: OutboxChange::Pause(UnixMillis(77)), ..step(id(1), 1) }).await;
    let put_off = |message| OutboxMessage { not_before: UnixMillis(77), ..message };
    assert_eq!(store.outbox(id(1)).await.unwrap(), [message(1), message(9)].map(put_off));
    assert_eq!(store.outbox(id(2)).await.unwrap(), [message(2), message(9)]);
}

/// Even if the finishing step changes the outbox.
pub async fn outbox_is_cleared_on_finish(store: &dyn FullStore) {
    for (n, last) in [(1, OutboxChange::Keep), (2, OutboxChange::Replace(vec![message(3)]))] {
        commit_done(store, Commit { outbox: OutboxChange::Replace(vec![message(n)]), ..create(id(n)) }).await;
        commit_done(store, Commit { finished: true, outbox: last, ..step(id(n), 1) }).await;
        assert!(store.outbox(id(n)).await.unwrap().is_empty());
    }
}
