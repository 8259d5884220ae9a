//! The lease in the database, as the code of this crate sees it.

use std::time::Duration;

use async_trait::async_trait;
use usher_engine::ports::StoreError;
use usher_store::{Acquired, Lease, LeaseRequest};

/// Reads and changes the lease. What it means is written at [`usher_store::Lease`].
#[async_trait]
pub trait LeaseStore: Send + Sync {
    /// Takes the lease if nobody holds it.
    ///
    /// # Errors
    /// There was no answer. The lease may have been taken; it expires then.
    async fn acquire(&self, request: &LeaseRequest) -> Result<Acquired, StoreError>;

    /// Holds the lease for `lasts` from now on; false if it has expired or another instance has it.
    ///
    /// # Errors
    /// There was no answer; the lease may or may not last longer now.
    async fn renew(&self, epoch: u64, lasts: Duration) -> Result<bool, StoreError>;

    /// Gives the lease up; returns whether it was held.
    ///
    /// # Errors
    /// There was no answer; it expires at the latest when it would have.
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
