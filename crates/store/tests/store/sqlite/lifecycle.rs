//! Opening and closing, and callers that wait meanwhile.

use std::fs;
use std::future::poll_fn;
use std::task::Poll;

use usher_engine::ports::{Commit, Committed, DeliveryStore as _, IdempotencyStore as _, Store as _, StoreError};
use usher_store::conformance::{commit_done, create, event, id, idempotency_key, key, new_record};
use usher_store::{SqliteOptions, SqliteStore};

use super::DatabaseFolder;

#[tokio::test]
async fn closed_store_returns_closed() {
    let folder = DatabaseFolder::new();
    let store = folder.open();
    tokio::join!(store.close(), store.close());
    store.close().await;
    assert!(matches!(store.commit(create(id(1))).await, Err(StoreError::Closed)));
    assert!(matches!(store.operation(id(1)).await, Err(StoreError::Closed)));
    assert!(matches!(store.forget_inbound(usher_engine::UnixMillis(0), 1).await, Err(StoreError::Closed)));
}

#[tokio::test]
async fn close_leaves_the_database_and_the_lock_file() {
    let folder = DatabaseFolder::new();
    let store = folder.open();
    commit_done(&store, create(id(1))).await;
    store.operation(id(1)).await.unwrap();
    assert!(folder.beside("-wal").exists());
    store.close().await;
    let mut files: Vec<_> =
        fs::read_dir(folder.directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["usher.db", "usher.db.lock"]);
    let store = folder.open();
    assert!(store.operation(id(1)).await.unwrap().is_some());
}

/// Commits that are under way when the store closes: each returns `Done` and is stored, or `Closed` and is not.
#[tokio::test]
async fn close_commits_queued_work() {
    let folder = DatabaseFolder::new();
    let options = SqliteOptions { queue: 16, max_batch: 4, ..SqliteOptions::default() };
    let store = SqliteStore::open(&folder.path(), options).unwrap();
    let mut commits: Vec<_> = (0..64).map(|n| store.commit(create(id(n)))).collect();
    // Polled once each: the first ones are queued, the others wait for room.
    let mut early = Vec::new();
    poll_fn(|context| {
        for commit in &mut commits {
            early.push(commit.as_mut().poll(context));
        }
        Poll::Ready(())
    })
    .await;
    let closing = store.close();
    let answering = async {
        let mut results = Vec::new();
        for (early, commit) in early.into_iter().zip(commits) {
            results.push(match early {
                Poll::Ready(result) => result,
                Poll::Pending => commit.await,
            });
        }
        results
    };
    let (results, ()) = tokio::join!(answering, closing);
    let done = results.iter().filter(|result| result.is_ok()).count();
    assert!(done >= 16, "those in the queue at least: {done}");

    drop(store);
    let store = folder.open();
    for (n, result) in (0..).zip(results) {
        let there = store.operation(id(n)).await.unwrap().is_some();
        match result {
            Ok(Committed::Done { .. }) => assert!(there, "{n}"),
            Err(StoreError::Closed) => assert!(!there, "{n}"),
            other => panic!("{other:?}"),
        }
    }
}

/// An operator's backup or `sqlite3` shell.
#[tokio::test]
async fn lock_of_another_process_delays_only_commits() {
    let folder = DatabaseFolder::new();
    let store = folder.open();
    commit_done(&store, create(id(1))).await;
    let shell = folder.raw();
    shell.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut waiting = store.commit(create(id(2)));
    poll_fn(|context| {
        assert!(waiting.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
    assert!(store.operation(id(1)).await.unwrap().is_some());
    assert!(store.operation(id(2)).await.unwrap().is_none());
    shell.execute_batch("COMMIT").unwrap();
    assert!(matches!(waiting.await, Ok(Committed::Done { .. })));
}

/// A power failure while the log is written: a prefix of the commits is there, each whole.
#[tokio::test]
async fn torn_log_contains_a_prefix_of_the_commits() {
    let folder = DatabaseFolder::new();
    let store = folder.open();
    for n in 0..10 {
        let commit = Commit {
            events: vec![event(n)],
            claims: vec![key(&n.to_string())],
            deliver: true,
            idempotency_record: Some(new_record(n, n, 0)),
            ..create(id(n))
        };
        commit_done(&store, commit).await;
    }
    let log = fs::read(folder.beside("-wal")).unwrap();
    let mut counts = Vec::new();
    for length in (0..=log.len()).step_by(2_999).chain([log.len()]) {
        let torn = DatabaseFolder::new();
        fs::copy(folder.path(), torn.path()).unwrap();
        fs::write(torn.beside("-wal"), &log[..length]).unwrap();
        let after = torn.open();
        let open = after.open_operations(Some(usher_engine::StreamId::SUBSCRIPTIONS), 100).await.unwrap();
        for (n, operation) in (0..).zip(&open) {
            assert_eq!((operation.id, operation.next_index, operation.correlations.len()), (id(n), 1, 1));
            assert_eq!(after.events(id(n), 0, 10).await.unwrap().len(), 1);
        }
        // Their deliveries and answers came with them, and no others.
        assert_eq!(after.count_deliveries().await.unwrap().pending, open.len() as u64);
        for n in 0..10 {
            let answered = after.idempotency_record(&idempotency_key(n)).await.unwrap().is_some();
            assert_eq!(answered, n < open.len() as u64);
        }
        counts.push(open.len());
    }
    assert!(counts.is_sorted(), "{counts:?}");
    assert_eq!((counts.first(), counts.last()), (Some(&0), Some(&10)));
}

#[tokio::test]
async fn check_writes_to_the_database() {
    let folder = DatabaseFolder::new();
    let store = folder.open();
    let log = || std::fs::metadata(folder.beside("-wal")).map_or(0, |file| file.len());
    let before = log();
    store.check().await.unwrap();
    assert!(log() > before, "a check that writes nothing does not tell whether writing works");
    store.close().await;
    assert!(matches!(store.check().await, Err(StoreError::Closed)));
    // And changes nothing: the file is taken by the same version.
    folder.open().check().await.unwrap();
}
