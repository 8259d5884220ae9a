use std::fmt;

use async_trait::async_trait;

use super::{SettingStore, State, StoreError, TicketBalance, TicketJobId};
use crate::UnixMillis;

/// The records of the ticket wallet: jobs, proofs, and the counters from which secrets are derived (NUT-13).
///
/// Each [`TicketCommit`] is one transaction. A damaged row is [`StoreError::Unreadable`], never taken for a missing
/// one: a forgotten claim, counter or proof is money spent twice or lost. Settings hold what the wallet can do without.
#[async_trait]
pub trait TicketStore: SettingStore {
    /// Writes one step of a job, or nothing.
    async fn commit_tickets(&self, commit: TicketCommit) -> Result<TicketCommitted, StoreError>;

    /// The job with this id; an error when its row is damaged.
    async fn ticket_job(&self, id: TicketJobId) -> Result<Option<StoredTicketJob>, StoreError>;

    /// Ids of jobs that are not finished, in their order, after `after`, at most `limit`. Those whose rows are damaged are
    /// among them: [`ticket_job`](Self::ticket_job) is an error for each, and the others are read.
    async fn unfinished_ticket_jobs(
        &self,
        after: Option<TicketJobId>,
        limit: usize,
    ) -> Result<Vec<TicketJobId>, StoreError>;

    /// The job that claimed this proof.
    async fn proof_claim(&self, proof: ProofId) -> Result<Option<TicketJobId>, StoreError>;

    /// The next unused counter of a keyset of a mint; 0 if none was used. An error when none is stored although a proof of the
    /// keyset is: the counter is lost, and the same secrets must not be used again.
    async fn ticket_counter(&self, mint_url: &str, keyset: &str) -> Result<u32, StoreError>;

    /// Free proofs of this mint and unit, smallest amount first, at most `limit`; damaged ones are left out.
    async fn free_proofs(&self, mint_url: &str, unit: &str, limit: usize) -> Result<Vec<StoredProof>, StoreError>;

    /// These proofs, as far as they are stored, reserved, set aside or not, in the order of `ids`; an error when one is damaged.
    async fn proofs(&self, ids: &[ProofId]) -> Result<Vec<StoredProof>, StoreError>;

    /// Sums of the proofs that no job has reserved, by mint and unit, in that order. A sum above `u64::MAX`
    /// is `u64::MAX`: a mint can sign any amount, and must not hide the balances at others.
    async fn ticket_balances(&self) -> Result<Vec<TicketBalance>, StoreError>;

    /// Proofs that are set aside, in the order of their ids, after `after`, at most `limit`. Damaged ones are left out.
    async fn set_aside_proofs(&self, after: Option<ProofId>, limit: usize) -> Result<Vec<StoredProof>, StoreError>;

    /// Those of these proofs that are set aside are free again; returns how many.
    async fn return_set_aside(&self, ids: &[ProofId]) -> Result<usize, StoreError>;

    /// Removes jobs that were finished before `before`, the oldest first, with their claims, at most `limit`; returns how
    /// many. A job that still has proofs reserved stays.
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
    /// Whether the job is finished: its retention begins. A later step may open it again.
    pub finished: bool,
    /// Counters that the job uses; a conflict when one is not as expected, or would go back.
    pub counter: Option<CounterAdvance>,
    /// Proofs of others to spend, claimed until the job is removed or gives them up; a conflict if one has a claim.
    pub claims: Vec<ProofId>,
    /// Gives up all claims of the job from before this step: it failed, and somebody may try again.
    pub release_claims: bool,
    /// Proofs that join the wallet; a conflict when one is there already, or its amount is above `i64::MAX`.
    pub add: Vec<StoredProof>,
    /// Own proofs that the job will spend; a conflict when one is not there or is reserved, also by the job itself.
    pub reserve: Vec<ProofId>,
    /// Proofs that the job had reserved before this step and that are set aside: kept, and neither free nor reserved, until
    /// [`return_set_aside`](TicketStore::return_set_aside). A conflict when the job has not reserved one.
    pub set_aside: Vec<ProofId>,
    /// Makes all proofs that the job had reserved before this step free again: it failed, and they are not spent.
    pub release_reserved: bool,
    /// Removes all proofs that the job had reserved before this step: they are spent. Stronger than `release_reserved`.
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

/// Why a [`TicketCommit`] changed nothing: the first of these, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketConflict {
    /// The job is at another revision (for 0: it exists already).
    Revision,
    /// Another counter is stored.
    Counter,
    /// This job claimed one of the proofs.
    Claimed(TicketJobId),
    /// An own proof is gone, reserved or set aside, one to be set aside is not reserved by the job, or one to be added is
    /// there already.
    Proof,
    /// The amount of a proof to be added is above `i64::MAX`, which no store can keep.
    Amount,
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
