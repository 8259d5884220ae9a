//! Runs the conformance suite against SQLite, PostgreSQL and the model.

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

mod postgres {
    use std::sync::Arc;
    use std::time::Duration;

    use async_trait::async_trait;
    use usher_store::conformance::{FullStore, Subject};
    use usher_store::{Acquired, Lease, LeaseRequest, PostgresOptions, PostgresStore};
    use usher_test_tools::PostgresServer;

    struct InDatabase {
        options: PostgresOptions,
        epoch: u64,
        store: Arc<PostgresStore>,
    }

    async fn subject() -> impl Subject {
        let server = PostgresServer::shared();
        let database = tokio::task::spawn_blocking(|| server.database()).await.unwrap();
        let options = PostgresOptions { readers: 2, ..PostgresOptions::new(server.url(&database).into()) };
        let lease = Lease::connect(&options).await.unwrap();
        let lasts = Duration::from_secs(3600);
        let request = LeaseRequest { owner: "test".to_owned(), address: "nowhere".to_owned(), lasts };
        let Acquired::Held(held) = lease.acquire(&request).await.unwrap() else { panic!("nobody else has it") };
        let store = Arc::new(PostgresStore::open(&options, held.epoch).await.unwrap());
        InDatabase { options, epoch: held.epoch, store }
    }

    #[async_trait]
    impl Subject for InDatabase {
        fn store(&self) -> Arc<dyn FullStore> {
            Arc::clone(&self.store) as Arc<dyn FullStore>
        }

        async fn reopen(&mut self) {
            self.store.close().await;
            self.store = Arc::new(PostgresStore::open(&self.options, self.epoch).await.unwrap());
        }
    }

    usher_store::store_conformance!(conforms, subject);
}

mod model {
    use std::sync::Arc;

    use async_trait::async_trait;
    use usher_store::conformance::{FullStore, Model, Subject};

    struct InMemory(Arc<Model>);

    async fn subject() -> impl Subject {
        InMemory(Arc::new(Model::new()))
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
