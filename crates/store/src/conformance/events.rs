//! Events: numbered without gaps, read by page.

use usher_engine::UnixMillis;
use usher_engine::event::{EventType, NewEvent};
use usher_engine::ports::{Commit, Committed, Conflict, StoreError};

use super::{Subject, commit_done, create, event, id, step};

/// From 0, over commits with none, one and many events; each as it was given.
pub async fn indexes_have_no_gaps(subject: impl Subject) {
    let store = subject.store();
    let typed = |(n, event_type)| NewEvent { event_type, at: UnixMillis(1_999 + n * 1_000), ..event(n) };
    let events: Vec<_> = (0..).zip(EventType::ALL).map(typed).collect();
    commit_done(&*store, Commit { events: vec![events[0].clone()], ..create(id(1)) }).await;
    assert_eq!(commit_done(&*store, step(id(1), 1)).await, (2, 1));
    assert_eq!(commit_done(&*store, Commit { events: events[1..5].to_vec(), ..step(id(1), 2) }).await, (3, 5));
    let end = Commit { events: events[5..].to_vec(), finished: true, ..step(id(1), 3) };
    let all = u64::try_from(events.len()).expect("few");
    assert_eq!(commit_done(&*store, end).await, (4, all));

    let stored = store.events(id(1), 0, 100).await.unwrap();
    assert_eq!(stored.len(), events.len());
    for ((index, stored), given) in (0..).zip(&stored).zip(&events) {
        assert_eq!((stored.index, stored.event_type, &stored.data), (index, given.event_type, &given.data));
        assert_eq!(stored.timestamp, index + 1, "whole seconds");
    }
}

/// `after` is the first index wanted.
pub async fn pages_by_after_and_limit(subject: impl Subject) {
    let store = subject.store();
    commit_done(&*store, Commit { events: (0..10).map(event).collect(), ..create(id(1)) }).await;
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

/// Neighbours in the order of ids.
pub async fn streams_are_separate(subject: impl Subject) {
    let store = subject.store();
    for n in 1..=3 {
        commit_done(&*store, Commit { events: vec![event(n)], ..create(id(n)) }).await;
    }
    let stored = store.events(id(2), 0, 100).await.unwrap();
    assert_eq!(stored.len(), 1);
    assert_eq!((stored[0].index, &stored[0].data), (0, &event(2).data));
}

/// Many tasks that append to one stream, each trying again after a conflict.
pub async fn concurrent_appends_are_gapless(subject: impl Subject) {
    const TASKS: u64 = 8;
    const APPENDS: u64 = 10;
    let store = subject.store();
    commit_done(&*store, create(id(1))).await;
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let store = subject.store();
            super::task(async move {
                let mut appended = 0;
                while appended < APPENDS {
                    let revision = store.operation(id(1)).await.unwrap().unwrap().revision;
                    let append = Commit { events: vec![event(task * APPENDS + appended)], ..step(id(1), revision) };
                    match store.commit(append).await.unwrap() {
                        Committed::Done { .. } => appended += 1,
                        Committed::Conflict(conflict) => assert_eq!(conflict, Conflict::Revision),
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let stored = store.events(id(1), 0, 1_000).await.unwrap();
    assert!(stored.iter().map(|event| event.index).eq(0..TASKS * APPENDS));
    let mut data: Vec<_> = stored.iter().map(|event| event.data.clone()).collect();
    data.sort();
    data.dedup();
    assert_eq!(data.len() as u64, TASKS * APPENDS, "each once");
}

/// Data that is not a JSON object is damage: it would be served and posted unchanged.
pub async fn data_that_is_not_an_object_is_unreadable(subject: impl Subject) {
    let store = subject.store();
    for (n, data) in (1..).zip(["", "text", "[]", "1", "null", "{", "{}}", r#"{"a":}"#, r#"{"a":"\0"}"#]) {
        let bad = NewEvent { data: data.into(), ..event(1) };
        commit_done(&*store, Commit { events: vec![event(0), bad, event(2)], ..create(id(n)) }).await;
        assert_eq!(store.events(id(n), 0, 1).await.unwrap().len(), 1, "{data}");
        assert_eq!(store.events(id(n), 0, 10).await.unwrap().len(), 1, "up to that one: {data}");
        let read = store.events(id(n), 1, 10).await;
        assert!(matches!(read, Err(StoreError::DamagedEvent { index: 1 })), "{data}: {read:?}");
        assert_eq!(store.events(id(n), 2, 10).await.unwrap().len(), 1, "{data}");
    }
}
