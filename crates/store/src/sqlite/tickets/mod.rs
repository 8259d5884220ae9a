//! The ticket wallet's records: jobs, claims, proofs and counters.

mod commit;
mod read;

use async_trait::async_trait;
use usher_engine::UnixMillis;
use usher_engine::ports::{
    ProofId, StoreError, StoredProof, StoredTicketJob, TicketBalance, TicketCommit, TicketCommitted, TicketJobId,
    TicketStore,
};

pub(super) use self::read::{balances, stored_job, stored_proof};
use super::{SqliteStore, retention};

#[async_trait]
impl TicketStore for SqliteStore {
    async fn commit_tickets(&self, commit: TicketCommit) -> Result<TicketCommitted, StoreError> {
        self.write(move |connection| commit::apply(connection, &commit)).await
    }

    async fn ticket_job(&self, id: TicketJobId) -> Result<Option<StoredTicketJob>, StoreError> {
        self.read(move |connection| read::job(connection, id)).await
    }

    async fn unfinished_ticket_jobs(
        &self,
        after: Option<TicketJobId>,
        limit: usize,
    ) -> Result<Vec<TicketJobId>, StoreError> {
        self.read(move |connection| read::unfinished(connection, after, limit)).await
    }

    async fn proof_claim(&self, proof: ProofId) -> Result<Option<TicketJobId>, StoreError> {
        self.read(move |connection| read::claim(connection, proof)).await
    }

    async fn ticket_counter(&self, mint_url: &str, keyset: &str) -> Result<u32, StoreError> {
        let (mint_url, keyset) = (mint_url.to_owned(), keyset.to_owned());
        self.read(move |connection| read::counter(connection, &mint_url, &keyset)).await
    }

    async fn free_proofs(&self, mint_url: &str, unit: &str, limit: usize) -> Result<Vec<StoredProof>, StoreError> {
        let (mint_url, unit) = (mint_url.to_owned(), unit.to_owned());
        self.read(move |connection| read::free_proofs(connection, &mint_url, &unit, limit)).await
    }

    async fn proofs(&self, ids: &[ProofId]) -> Result<Vec<StoredProof>, StoreError> {
        let ids = ids.to_vec();
        self.read(move |connection| read::proofs(connection, &ids)).await
    }

    async fn ticket_balances(&self) -> Result<Vec<TicketBalance>, StoreError> {
        self.read(read::balances).await
    }

    async fn set_aside_proofs(&self, after: Option<ProofId>, limit: usize) -> Result<Vec<StoredProof>, StoreError> {
        self.read(move |connection| read::set_aside(connection, after, limit)).await
    }

    async fn return_set_aside(&self, ids: &[ProofId]) -> Result<usize, StoreError> {
        let ids = ids.to_vec();
        self.write(move |connection| commit::return_set_aside(connection, &ids)).await
    }

    async fn remove_ticket_jobs(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.write(move |connection| retention::remove_ticket_jobs(connection, before, limit)).await
    }
}
