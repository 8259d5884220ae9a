//! Stores under test: each in a new file or database.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tempfile::TempDir;
use usher_store::conformance::{FullStore, Subject};
use usher_store::{Lease, PostgresOptions, PostgresStore, SqliteOptions, SqliteStore};

use crate::postgres::{Place, acquire};

struct InFile {
    directory: TempDir,
    store: Arc<SqliteStore>,
}

fn open(directory: &TempDir) -> Arc<SqliteStore> {
    Arc::new(SqliteStore::open(&directory.path().join("usher.db"), SqliteOptions::default()).unwrap())
}

pub(crate) async fn sqlite() -> impl Subject {
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

struct InDatabase {
    options: PostgresOptions,
    epoch: u64,
    store: Arc<PostgresStore>,
}

/// In a database of a server that ends with this process.
pub(crate) async fn postgres() -> impl Subject {
    let place = Place::new().await;
    let options = PostgresOptions {
        readers: 2,
        // Many tests at once share the server.
        timeout: Duration::from_secs(60),
        ..PostgresOptions::new(place.server.url(&place.database).into())
    };
    let lease = Lease::connect(&options).await.unwrap();
    let epoch = acquire(&lease, Duration::from_secs(3600)).await.epoch;
    let store = Arc::new(PostgresStore::open(&options, epoch).await.unwrap());
    InDatabase { options, epoch, store }
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
