//! The port that keeps the ticket wallet's records.

use std::fmt;

use async_trait::async_trait;

use super::{State, StoreError, TicketBalance, TicketJobId};
use crate::UnixMillis;

/// The records of the ticket wallet: its jobs, its proofs, and the counters from which secrets are derived (NUT-13).
///
/// The store knows nothing of mints: it keeps rows, and changes them in one transaction for each [`TicketCommit`].
#[async_trait]
pub trait TicketStore: Send + Sync {
    /// Writes one step of a job, or nothing.
    async fn commit_tickets(&self, commit: TicketCommit) -> Result<TicketCommitted, StoreError>;

    /// The job with this id.
    async fn ticket_job(&self, id: TicketJobId) -> Result<Option<StoredTicketJob>, StoreError>;

    /// Jobs that are not finished, by id, after `after`, at most `limit`.
    async fn unfinished_ticket_jobs(
        &self,
        after: Option<TicketJobId>,
        limit: usize,
    ) -> Result<Vec<StoredTicketJob>, StoreError>;

    /// The job that claimed this proof.
    async fn proof_claim(&self, proof: ProofId) -> Result<Option<TicketJobId>, StoreError>;

    /// The next unused counter of a keyset of a mint; 0 if none was used.
    async fn ticket_counter(&self, mint_url: &str, keyset: &str) -> Result<u32, StoreError>;

    /// Proofs of this mint and unit that no job has reserved, smallest amount first, at most `limit`.
    async fn free_proofs(&self, mint_url: &str, unit: &str, limit: usize) -> Result<Vec<StoredProof>, StoreError>;

    /// These proofs, as far as they are stored, reserved or not.
    async fn proofs(&self, ids: &[ProofId]) -> Result<Vec<StoredProof>, StoreError>;

    /// Sums of the proofs that no job has reserved, by mint and unit, in that order; none that is 0.
    async fn ticket_balances(&self) -> Result<Vec<TicketBalance>, StoreError>;

    /// Removes jobs that were finished before `before`, with their claims, at most `limit`; returns how many.
    async fn remove_ticket_jobs(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError>;
}

/// Identifies a proof: its point Y = hash_to_curve(secret) (NUT-00), compressed. By it a mint says whether it is spent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProofId(pub [u8; 33]);

impl fmt::Debug for ProofId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProofId(…)")
    }
}

/// One step of one job, with everything that changes in the same transaction.
#[derive(Clone, Debug)]
pub struct TicketCommit {
    /// The job.
    pub job: TicketJobId,
    /// The revision that must be stored: 0 creates the job, as revision 1; `n` makes it `n + 1`.
    pub expected: u64,
    /// When the step happened.
    pub at: UnixMillis,
    /// The new state.
    pub state: State,
    /// Whether the job is finished: its retention begins.
    pub finished: bool,
    /// Counters that the job uses; a conflict when one is not as expected.
    pub counter: Option<CounterAdvance>,
    /// Proofs of others that the job spends; a conflict when another job has claimed one. A claim lasts until the job is
    /// removed or gives it up.
    pub claims: Vec<ProofId>,
    /// Gives up all claims of the job: it failed, and somebody may try again.
    pub release_claims: bool,
    /// Proofs that join the wallet.
    pub add: Vec<StoredProof>,
    /// Own proofs that the job will spend; a conflict when one is not there or is reserved.
    pub reserve: Vec<ProofId>,
    /// Makes all proofs that the job has reserved free again: it failed, and they are not spent.
    pub release_reserved: bool,
    /// Removes all proofs that the job has reserved: they are spent.
    pub remove_reserved: bool,
}

/// Counters of a keyset that a job uses: `from` up to, not including, `to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterAdvance {
    /// The keyset's mint.
    pub mint_url: String,
    /// The keyset's id in hex.
    pub keyset: String,
    /// What the stored counter must be.
    pub from: u32,
    /// What it becomes.
    pub to: u32,
}

/// The result of a [`TicketCommit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketCommitted {
    /// It is on disk; the job's revision now.
    Done(u64),
    /// Nothing was changed.
    Conflict(TicketConflict),
}

/// Why a [`TicketCommit`] changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketConflict {
    /// The job is at another revision (for 0: it exists already).
    Revision,
    /// Another counter is stored.
    Counter,
    /// This job claimed one of the proofs.
    Claimed(TicketJobId),
    /// An own proof is gone or reserved, or one to be added is there already.
    Proof,
}

/// A stored job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTicketJob {
    /// Its id.
    pub id: TicketJobId,
    /// Its revision.
    pub revision: u64,
    /// Its state.
    pub state: State,
    /// When it was finished.
    pub finished_at: Option<UnixMillis>,
}

/// A proof of the wallet's own. `Debug` hides the proof: whoever has it can spend it.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredProof {
    /// Its point Y.
    pub id: ProofId,
    /// Its mint.
    pub mint_url: String,
    /// Its unit.
    pub unit: String,
    /// Its amount, in its unit.
    pub amount: u64,
    /// The proof as JSON (NUT-00), with its DLEQ proof.
    pub proof: String,
}

impl fmt::Debug for StoredProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredProof").field("unit", &self.unit).field("amount", &self.amount).finish_non_exhaustive()
    }
}
