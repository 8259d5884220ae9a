//! Signals that a database thread has panicked: from then on the store does not work.

use std::sync::Arc;

use tokio::sync::watch;

/// Rung by threads that panic.
#[derive(Clone, Debug)]
pub(crate) struct PanicSignal(Arc<watch::Sender<bool>>);

/// What a thread holds while it runs: dropped by a panic, it rings.
pub(crate) struct Guard(PanicSignal);

impl PanicSignal {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// For a thread to hold while it runs.
    pub(crate) fn guard(&self) -> Guard {
        Guard(self.clone())
    }

    /// Returns when it was raised.
    pub(crate) async fn raised(&self) {
        // The sender is held by `self`: this cannot fail.
        drop(self.0.subscribe().wait_for(|raised| *raised).await);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.0.send_replace(true);
        }
    }
}

#[cfg(test)]
mod tests {
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
        store.write(|connection| Ok(connection.execute_batch("CREATE TABLE kept (x)").is_ok())).await.unwrap();
        let lost = store
            .write(|connection| {
                let _ = connection.execute_batch("DROP TABLE kept");
                panic!("as if there were a bug")
            })
            .await as Result<(), _>;
        assert!(matches!(lost, Err(StoreError::Closed)), "{lost:?}");
        assert!(fails(&store).await);
        assert!(matches!(store.check().await, Err(StoreError::Closed)));
        store.close().await;
        let again = open(&folder);
        let kept = again.read(|connection| Ok(connection.prepare("SELECT x FROM kept").is_ok())).await;
        assert!(matches!(kept, Ok(true)), "{kept:?}");
        again.close().await;
    }

    #[tokio::test]
    async fn reader_panic_is_signaled() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder);
        let lost = store.read(|_| panic!("as if there were a bug")).await as Result<(), _>;
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
}
