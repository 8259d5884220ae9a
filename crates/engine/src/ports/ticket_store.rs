use async_trait::async_trait;

use super::{SettingStore, State, StoreError, TicketBalance, TicketJobId};
use crate::UnixMillis;

/// The records of the ticket wallet: jobs, proofs, and the counters from which secrets are derived (NUT-13).
///
/// Each [`TicketCommit`] is one transaction. A damaged row is [`StoreError::Unreadable`], never treated as missing: a
/// lost claim, counter or proof is money spent twice or lost. Settings hold only what the wallet can do without.
#[async_trait]
pub trait TicketStore: SettingStore {
    /// Writes one step of a job, or nothing.
    async fn commit_tickets(&self, commit: TicketCommit) -> Result<TicketCommitted, StoreError>;

    /// The job with this id; an error if its row is damaged.
    async fn ticket_job(&self, id: TicketJobId) -> Result<Option<StoredTicketJob>, StoreError>;

    /// Ids of at most `limit` unfinished jobs after `after`, in order. Jobs with damaged rows are included;
    /// [`ticket_job`](Self::ticket_job) fails for them.
    async fn unfinished_ticket_jobs(
        &self,
        after: Option<TicketJobId>,
        limit: usize,
    ) -> Result<Vec<TicketJobId>, StoreError>;

    /// The job that claimed this proof.
    async fn proof_claim(&self, proof: ProofId) -> Result<Option<TicketJobId>, StoreError>;

    /// The next unused counter of a keyset of a mint; 0 if none was used. An error if none is stored although a proof
    /// of the keyset is: the counter is lost, and secrets must not be reused.
    async fn ticket_counter(&self, mint_url: &str, keyset: &str) -> Result<u32, StoreError>;

    /// At most `limit` free proofs of this mint and unit, smallest amount first, without damaged ones.
    async fn free_proofs(&self, mint_url: &str, unit: &str, limit: usize) -> Result<Vec<StoredProof>, StoreError>;

    /// These proofs, as far as stored, in the order of `ids`, whether or not reserved or set aside; an error if one is
    /// damaged.
    async fn proofs(&self, ids: &[ProofId]) -> Result<Vec<StoredProof>, StoreError>;

    /// Sums of the proofs that no job has reserved, by mint and unit, in that order. Sums saturate at `u64::MAX`: a
    /// mint can sign any amount, and must not hide the balances at others.
    async fn ticket_balances(&self) -> Result<Vec<TicketBalance>, StoreError>;

    /// At most `limit` proofs that are set aside, after `after`, in order of id, without damaged ones.
    async fn set_aside_proofs(&self, after: Option<ProofId>, limit: usize) -> Result<Vec<StoredProof>, StoreError>;

    /// Makes those of these proofs that are set aside free again; returns how many.
    async fn return_set_aside(&self, ids: &[ProofId]) -> Result<usize, StoreError>;

    /// Removes at most `limit` jobs finished before `before`, oldest first, with their claims; returns how many. A job
    /// with reserved proofs stays.
    async fn remove_ticket_jobs(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError>;
}

/// Identifies a proof, also to its mint: its point Y = hash_to_curve(secret) (NUT-00), compressed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProofId(pub [u8; 33]);

usher_protocol::debug_shows!(ProofId(..));

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
    /// Counters that the job uses; a conflict if the stored one differs, or would decrease.
    pub counter: Option<CounterAdvance>,
    /// Proofs of others to spend, claimed until the job is removed or gives them up; a conflict if one has a claim.
    pub claims: Vec<ProofId>,
    /// Releases all claims of the job from before this step: it failed, and may be retried by anybody.
    pub release_claims: bool,
    /// Proofs that join the wallet; a conflict if one exists, or its amount is above `i64::MAX`.
    pub add: Vec<StoredProof>,
    /// Own proofs that the job will spend; a conflict if one is missing or reserved, even by the job itself.
    pub reserve: Vec<ProofId>,
    /// Proofs reserved by the job before this step that are set aside: neither free nor reserved until
    /// [`return_set_aside`](TicketStore::return_set_aside). A conflict if the job has not reserved one.
    pub set_aside: Vec<ProofId>,
    /// Frees all proofs reserved by the job before this step: it failed, and they are not spent.
    pub release_reserved: bool,
    /// Removes all proofs reserved by the job before this step: they are spent. Overrides `release_reserved`.
    pub remove_reserved: bool,
}

/// Counters of a keyset that a job uses: from `from` to `to`, exclusive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterAdvance {
    /// The keyset's mint.
    pub mint_url: String,
    /// The keyset's id in hex.
    pub keyset: String,
    /// The expected stored counter.
    pub from: u32,
    /// The new counter.
    pub to: u32,
}

/// The result of a [`TicketCommit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketCommitted {
    /// On disk; the job's new revision.
    Done(u64),
    /// Nothing was changed.
    Conflict(TicketConflict),
}

/// Why a [`TicketCommit`] changed nothing: the first that applies, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketConflict {
    /// The job is at another revision (for 0: it exists already).
    Revision,
    /// Another counter is stored.
    Counter,
    /// This job claimed one of the proofs.
    Claimed(TicketJobId),
    /// An own proof is missing, reserved or set aside; one to be set aside is not reserved by the job; or one to be
    /// added exists.
    Proof,
    /// The amount of a proof to be added is above `i64::MAX`.
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

/// One of the wallet's own proofs. `Debug` hides the proof, which anybody who has it can spend.
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

usher_protocol::debug_shows!(StoredProof { unit, amount });
