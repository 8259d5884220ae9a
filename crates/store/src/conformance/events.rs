//! Events: numbered without gaps, read by page.

use usher_engine::UnixMillis;
use usher_engine::event::{EventType, NewEvent};
use usher_engine::ports::{Commit, StoreError};

use super::{FullStore, commit_done, create, event, id, step};

/// From 0, over commits with no, one and many events; each unchanged.
pub async fn indexes_have_no_gaps(store: &dyn FullStore) {
    let typed = |(n, event_type)| NewEvent { event_type, at: UnixMillis(1_999 + n * 1_000), ..event(n) };
    let events: Vec<_> = (0..).zip(EventType::ALL).map(typed).collect();
    commit_done(store, Commit { events: vec![events[0].clone()], ..create(id(1)) }).await;
    assert_eq!(commit_done(store, step(id(1), 1)).await, (2, 1));
    assert_eq!(commit_done(store, Commit { events: events[1..5].to_vec(), ..step(id(1), 2) }).await, (3, 5));
    let end = Commit { events: events[5..].to_vec(), finished: true, ..step(id(1), 3) };
    let all = u64::try_from(events.len()).expect("few");
    assert_eq!(commit_done(store, end).await, (4, all));

    let stored = store.events(id(1), 0, 100).await.unwrap();
    assert_eq!(stored.len(), events.len());
    for ((index, stored), given) in (0..).zip(&stored).zip(&events) {
        assert_eq!((stored.index, stored.event_type, &stored.data), (index, given.event_type, &given.data));
        assert_eq!(stored.timestamp, index + 1, "whole seconds");
    }
}

/// `after` is the first index returned.
pub async fn pages_by_after_and_limit(store: &dyn FullStore) {
    commit_done(store, Commit { events: (0..10).map(event).collect(), ..create(id(1)) }).await;
    let indexes = async |after, limit| -> Vec<u64> {
        store.events(id(1), after, limit).await.unwrap().iter().map(|event| event.index).collect()
    };
    assert_eq!(indexes(0, 3).await, [0, 1, 2]);
    assert_eq!(indexes(3, 3).await, [3, 4, 5]);
    assert_eq!(indexes(8, 100).await, [8, 9]);
    assert_eq!(indexes(0, usize::MAX).await.len(), 10);
    assert_eq!(indexes(10, 100).await, [0; 0]);
    assert_eq!(indexes(u64::MAX, 100).await, [0; 0]);
    assert_eq!(indexes(0, 0).await, [0; 0]);
}

/// Data that is not a JSON object is damage: it would be served and posted unchanged.
pub async fn data_that_is_not_an_object_is_unreadable(store: &dyn FullStore) {
    for (n, data) in (1..).zip(["", "text", "[]", "1", "null", "{", "{}}", r#"{"a":}"#, r#"{"a":"\0"}"#]) {
        let bad = NewEvent { data: data.into(), ..event(1) };
        commit_done(store, Commit { events: vec![event(0), bad, event(2)], ..create(id(n)) }).await;
        assert_eq!(store.events(id(n), 0, 1).await.unwrap().len(), 1, "{data}");
        assert_eq!(store.events(id(n), 0, 10).await.unwrap().len(), 1, "up to that one: {data}");
        let read = store.events(id(n), 1, 10).await;
        assert!(matches!(read, Err(StoreError::DamagedEvent { index: 1 })), "{data}: {read:?}");
        assert_eq!(store.events(id(n), 2, 10).await.unwrap().len(), 1, "{data}");
    }
}
