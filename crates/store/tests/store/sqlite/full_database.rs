//! A full database: only commits that need space fail.

use usher_engine::UnixMillis;
use usher_engine::event::NewEvent;
use usher_engine::ports::{Commit, Committed, State, Store as _, StoreError};
use usher_store::conformance::{commit_done, create, event, id, key, step};
use usher_store::{SqliteFailure, SqliteOptions, SqliteStore};

use super::DatabaseFolder;
use crate::chain;

const SECRET: &str = "cashuBsecret";

fn large(number: u64) -> Commit {
    Commit {
        finished: true,
        at: UnixMillis(number),
        state: State(SECRET.repeat(2_000)),
        claims: vec![key(SECRET)],
        events: vec![NewEvent { data: format!(r#"{{"token":"{}"}}"#, SECRET.repeat(2_000)).into(), ..event(0) }],
        ..create(id(number))
    }
}

#[tokio::test]
async fn full_database_refuses_commits_and_recovers() {
    let folder = DatabaseFolder::new();
    let options = SqliteOptions { max_bytes: Some(1024 * 1024), ..SqliteOptions::default() };
    let store = SqliteStore::open(&folder.path(), options).unwrap();
    commit_done(&store, create(id(0))).await;
    let mut number = 1;
    let error = loop {
        assert!(number < 1_000, "a limit is a limit");
        store.check().await.unwrap();
        match store.commit(large(number)).await {
            Ok(committed) => assert!(matches!(committed, Committed::Done { .. })),
            Err(error) => break error,
        }
        number += 1;
    };
    let StoreError::Failed(source) = &error else { panic!("{error:?}") };
    assert!(source.is::<SqliteFailure>());
    assert!(chain(&error).contains("full"), "{}", chain(&error));
    assert!(!format!("{error:?} {}", chain(&error)).contains("cashuB"), "no secrets");

    // A successful write smaller than a commit proves nothing: a service that refuses every call is not ready.
    for _ in 0..2 {
        let error = store.check().await.unwrap_err();
        assert!(chain(&error).contains("full"), "{}", chain(&error));
    }

    // No part of it is stored. Reads still work, and so do commits that need no space, even in a batch with one that does.
    assert!(store.operation(id(number)).await.unwrap().is_none());
    assert!(store.events(id(number), 0, 10).await.unwrap().is_empty());
    assert_eq!(store.events(id(1), 0, 10).await.unwrap().len(), 1);
    let (before, failed, after) =
        tokio::join!(store.commit(step(id(0), 1)), store.commit(large(number)), store.commit(step(id(0), 2)));
    assert!(failed.is_err());
    assert_eq!(before.unwrap(), Committed::Done { revision: 2, next_index: 0 });
    assert_eq!(after.unwrap(), Committed::Done { revision: 3, next_index: 0 });

    // No commit has been tried meanwhile: a load balancer that sends requests elsewhere must see that the store is ready.
    assert_eq!(store.remove_finished(UnixMillis(12), 100).await.unwrap(), 11);
    store.check().await.unwrap();
    commit_done(&store, large(number)).await;
    store.close().await;
    let store = folder.open();
    assert!(store.operation(id(number)).await.unwrap().is_some());
    assert!(store.operation(id(number - 1)).await.unwrap().is_some());
}
