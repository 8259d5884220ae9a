//! The disk: the wallet's records, which take their time, fail at times, and outlive the process.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::sleep;
use usher_engine::UnixMillis;
use usher_engine::ports::{
    ProofId, SettingStore, StoreError, StoredProof, StoredTicketJob, TicketBalance, TicketCommit, TicketCommitted,
    TicketJobId, TicketStore,
};
use usher_store::conformance::Model;

use super::World;

/// The records of one process.
pub(super) struct Disk {
    pub(super) world: Arc<World>,
    pub(super) inner: Arc<Model>,
}

#[async_trait]
impl SettingStore for Disk {
    async fn setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        self.inner.setting(name).await
    }

    async fn set_setting(&self, name: &str, value: Option<&str>) -> Result<(), StoreError> {
        self.world.instant("before a setting is stored").await;
        self.inner.set_setting(name, value).await
    }
}

#[async_trait]
impl TicketStore for Disk {
    async fn commit_tickets(&self, commit: TicketCommit) -> Result<TicketCommitted, StoreError> {
        self.world.instant("before a transaction").await;
        let (takes, fails) = {
            let mut state = self.world.state.lock();
            (state.decisions.delay(1..500), state.goes_wrong(2))
        };
        sleep(takes).await;
        if fails {
            return Err(StoreError::Failed("disk full".into()));
        }
        let committed = self.inner.commit_tickets(commit).await?;
        self.world.instant("after a transaction, before anybody knows of it").await;
        sleep(Duration::from_millis(1)).await;
        Ok(committed)
    }

    async fn ticket_job(&self, id: TicketJobId) -> Result<Option<StoredTicketJob>, StoreError> {
        self.inner.ticket_job(id).await
    }

    async fn unfinished_ticket_jobs(
        &self,
        after: Option<TicketJobId>,
        limit: usize,
    ) -> Result<Vec<TicketJobId>, StoreError> {
        self.inner.unfinished_ticket_jobs(after, limit).await
    }

    async fn proof_claim(&self, proof: ProofId) -> Result<Option<TicketJobId>, StoreError> {
        self.inner.proof_claim(proof).await
    }

    async fn ticket_counter(&self, mint_url: &str, keyset: &str) -> Result<u32, StoreError> {
        self.inner.ticket_counter(mint_url, keyset).await
    }

    async fn free_proofs(&self, mint_url: &str, unit: &str, limit: usize) -> Result<Vec<StoredProof>, StoreError> {
        self.inner.free_proofs(mint_url, unit, limit).await
    }

    async fn proofs(&self, ids: &[ProofId]) -> Result<Vec<StoredProof>, StoreError> {
        self.inner.proofs(ids).await
    }

    async fn ticket_balances(&self) -> Result<Vec<TicketBalance>, StoreError> {
        self.inner.ticket_balances().await
    }

    async fn set_aside_proofs(&self, after: Option<ProofId>, limit: usize) -> Result<Vec<StoredProof>, StoreError> {
        self.inner.set_aside_proofs(after, limit).await
    }

    async fn return_set_aside(&self, ids: &[ProofId]) -> Result<usize, StoreError> {
        self.inner.return_set_aside(ids).await
    }

    async fn remove_ticket_jobs(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.inner.remove_ticket_jobs(before, limit).await
    }
}
