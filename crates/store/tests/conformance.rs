//! Runs the conformance suite against SQLite and against the store in memory.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test's helpers too

mod sqlite {
    use std::sync::Arc;

    use async_trait::async_trait;
    use tempfile::TempDir;
    use usher_store::conformance::{FullStore, Subject};
    use usher_store::{SqliteOptions, SqliteStore};

    struct InFile {
        directory: TempDir,
        store: Arc<SqliteStore>,
    }

    fn open(directory: &TempDir) -> Arc<SqliteStore> {
        Arc::new(SqliteStore::open(&directory.path().join("usher.db"), SqliteOptions::default()).unwrap())
    }

    async fn subject() -> impl Subject {
        let directory = TempDir::new().unwrap();
        let store = open(&directory);
        InFile { directory, store }
    }

    #[async_trait]
    impl Subject for InFile {
        fn store(&self) -> Arc<dyn FullStore> {
            Arc::clone(&self.store) as Arc<dyn FullStore>
        }

        async fn reopen(&mut self) {
            self.store.close().await;
            self.store = open(&self.directory);
        }
    }

    usher_store::store_conformance!(super::subject);
}

mod memory {
    use std::sync::Arc;

    use async_trait::async_trait;
    use usher_engine::testing::MemoryStore;
    use usher_store::conformance::{FullStore, Subject};

    struct InMemory(Arc<MemoryStore>);

    async fn subject() -> impl Subject {
        InMemory(Arc::new(MemoryStore::new()))
    }

    #[async_trait]
    impl Subject for InMemory {
        fn store(&self) -> Arc<dyn FullStore> {
            Arc::clone(&self.0) as Arc<dyn FullStore>
        }

        async fn reopen(&mut self) {}
    }

    usher_store::store_conformance!(super::subject);
}
