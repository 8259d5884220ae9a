use std::time::Duration;

use usher_engine::ports::{Store as _, StoreError};

use crate::{SqliteOptions, SqliteStore};

fn open(folder: &tempfile::TempDir) -> SqliteStore {
    let options = SqliteOptions { readers: 1, ..SqliteOptions::default() };
    SqliteStore::open(&folder.path().join("usher.sqlite"), options).unwrap()
}

async fn fails(store: &SqliteStore) -> bool {
    tokio::time::timeout(Duration::from_secs(20), store.failed()).await.is_ok()
}

#[tokio::test]
async fn writer_panic_is_signaled_and_earlier_writes_remain() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    store.0.on_writer(|connection| Ok(connection.execute_batch("CREATE TABLE kept (x)").is_ok())).await.unwrap();
    let lost = store
        .0
        .on_writer(|connection| {
            let _ = connection.execute_batch("DROP TABLE kept");
            panic!("as if there were a bug")
        })
        .await as Result<(), _>;
    assert!(matches!(lost, Err(StoreError::Closed)), "{lost:?}");
    assert!(fails(&store).await);
    assert!(matches!(store.check().await, Err(StoreError::Closed)));
    store.close().await;
    let again = open(&folder);
    let kept = again.0.on_reader(|connection| Ok(connection.prepare("SELECT x FROM kept").is_ok())).await;
    assert!(matches!(kept, Ok(true)), "{kept:?}");
    again.close().await;
}

#[tokio::test]
async fn reader_panic_is_signaled() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let lost = store.0.on_reader(|_| panic!("as if there were a bug")).await as Result<(), _>;
    assert!(matches!(lost, Err(StoreError::Closed)), "{lost:?}");
    assert!(fails(&store).await);
    store.close().await;
}

#[tokio::test]
async fn working_or_closed_store_has_not_failed() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    assert!(store.open_operations(None, 1).await.unwrap().len() <= 1);
    store.close().await;
    tokio::select! {
        biased;
        () = store.failed() => panic!("it has not"),
        () = tokio::task::yield_now() => {}
    }
}
