//! The open operations, from which the engine's index is rebuilt.

use usher_engine::ports::{Commit, OpenOperation, OperationKind, OutboxChange};
use usher_engine::{StreamId, UnixMillis};

use super::{FullStore, commit_done, create, id, key, message, step};

/// Each page begins after the last id of the previous one, even if that operation has finished meanwhile.
pub async fn pages_are_ordered_by_id(store: &dyn FullStore) {
    // Not in order of id.
    for n in (1..=25).rev() {
        commit_done(store, create(id(n))).await;
    }
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = store.open_operations(after, 4).await.unwrap();
        assert!(page.len() <= 4);
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        if last.id != StreamId::SUBSCRIPTIONS {
            commit_done(store, Commit { finished: true, ..step(last.id, 1) }).await;
        }
        seen.extend(page.iter().map(|open| open.id));
    }
    let expected: Vec<_> = std::iter::once(StreamId::SUBSCRIPTIONS).chain((1..=25).map(id)).collect();
    assert_eq!(seen, expected);
    assert!(store.open_operations(None, 0).await.unwrap().is_empty());
    assert_eq!(store.open_operations(None, usize::MAX).await.unwrap().len(), 26 - 7);
}

/// As of the last step.
pub async fn entries_contain_what_the_index_needs(store: &dyn FullStore) {
    let find = async |wanted| {
        store.open_operations(None, 100).await.unwrap().into_iter().find(|open| open.id == wanted).unwrap()
    };
    let first = Commit {
        kind: OperationKind::Authentication,
        at: UnixMillis(70),
        wake_at: Some(UnixMillis(500)),
        claims: vec![key("a"), key("b")],
        events: vec![super::event(0)],
        outbox: OutboxChange::Replace(vec![message(1)]),
        ..create(id(1))
    };
    commit_done(store, first).await;
    let expected = OpenOperation {
        id: id(1),
        kind: OperationKind::Authentication,
        next_index: 1,
        at: UnixMillis(70),
        done: false,
        watched: None,
        wake_at: Some(UnixMillis(500)),
        correlations: vec![key("a"), key("b")],
        has_outbox: true,
        damaged: false,
    };
    assert_eq!(find(id(1)).await, expected);

    let next = Commit { at: UnixMillis(60), wake_at: Some(UnixMillis(900)), claims: vec![key("c")], ..step(id(1), 1) };
    commit_done(store, next).await;
    let with_c = vec![key("a"), key("b"), key("c")];
    let moved = OpenOperation { at: UnixMillis(60), wake_at: Some(UnixMillis(900)), correlations: with_c, ..expected };
    assert_eq!(find(id(1)).await, moved);

    let quiet = Commit {
        at: UnixMillis(60),
        outbox: OutboxChange::Replace(Vec::new()),
        events: vec![super::event(1)],
        ..step(id(1), 2)
    };
    commit_done(store, quiet).await;
    assert_eq!(find(id(1)).await, OpenOperation { next_index: 2, wake_at: None, has_outbox: false, ..moved });
}
