//! The metrics of the store and its health check.

use usher_engine::ports::StoreError;
use usher_store::conformance::{commit_done, create, id};

use super::DatabaseFolder;

#[tokio::test]
async fn commits_are_timed_and_counted() {
    let folder = DatabaseFolder::new();
    let store = folder.open();
    assert_eq!(store.metrics().commit_seconds.count, 0);
    for number in 0..3 {
        commit_done(&store, create(id(number))).await;
    }
    let metrics = store.metrics();
    assert_eq!((metrics.commit_seconds.count, metrics.batch_size.count, metrics.failed), (3, 3, 0));
    assert_eq!(metrics.batch_size.sum, 3.0);
    assert!(metrics.commit_seconds.sum > 0.0);
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
