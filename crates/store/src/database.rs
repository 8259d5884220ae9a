//! What both engines are to the service.

use async_trait::async_trait;
use usher_engine::ports::{
    DeliveryStore, IdempotencyStore, KeyStore, OpenIdStore, SettingStore, Store, StoreError, TicketStore,
};

use crate::metrics::StoreMetrics;
use crate::{PostgresStore, SqliteStore};

/// A database with everything that the service stores.
#[async_trait]
pub trait Database:
    Store + DeliveryStore + IdempotencyStore + KeyStore + OpenIdStore + SettingStore + TicketStore
{
    /// What it has counted.
    fn metrics(&self) -> StoreMetrics;

    /// Reads and writes.
    ///
    /// # Errors
    /// [`StoreError`], as a commit would at this moment.
    async fn check(&self) -> Result<(), StoreError>;

    /// Returns when nothing can be written any more: the process should end and be restarted, which loses nothing.
    async fn failed(&self);

    /// Finishes queued work and closes the database. Later calls return [`StoreError::Closed`].
    async fn close(&self);
}

macro_rules! database {
    ($Engine:ty) => {
        #[async_trait]
        impl Database for $Engine {
            fn metrics(&self) -> StoreMetrics {
                self.metrics()
            }

            async fn check(&self) -> Result<(), StoreError> {
                self.check().await
            }

            async fn failed(&self) {
                self.failed().await;
            }

            async fn close(&self) {
                self.close().await;
            }
        }
    };
}

database!(SqliteStore);
database!(PostgresStore);
