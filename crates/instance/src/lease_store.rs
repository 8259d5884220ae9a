use std::time::Duration;

use async_trait::async_trait;
use usher_engine::ports::StoreError;
use usher_store::{Acquired, Lease, LeaseRequest};

/// The port to the lease in the database; see [`usher_store::Lease`].
#[async_trait]
pub trait LeaseStore: Send + Sync {
    /// Takes the lease if nobody holds it.
    ///
    /// # Errors
    /// There was no response. The lease may have been acquired; it then expires.
    async fn acquire(&self, request: &LeaseRequest) -> Result<Acquired, StoreError>;

    /// Extends the lease to `lasts` from now; false if it has expired or another instance holds it.
    ///
    /// # Errors
    /// There was no response; the lease may or may not have been extended.
    async fn renew(&self, epoch: u64, lasts: Duration) -> Result<bool, StoreError>;

    /// Releases the lease; returns whether it was held.
    ///
    /// # Errors
    /// There was no response; the lease expires as usual unless it was released.
    async fn hand_over(&self, epoch: u64) -> Result<bool, StoreError>;
}

#[async_trait]
impl LeaseStore for Lease {
    async fn acquire(&self, request: &LeaseRequest) -> Result<Acquired, StoreError> {
        self.acquire(request).await
    }

    async fn renew(&self, epoch: u64, lasts: Duration) -> Result<bool, StoreError> {
        self.renew(epoch, lasts).await
    }

    async fn hand_over(&self, epoch: u64) -> Result<bool, StoreError> {
        self.hand_over(epoch).await
    }
}
