//! The memory store's records of the ticket wallet.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use usher_engine::UnixMillis;
use usher_engine::ports::{
    ProofId, StoreError, StoredProof, StoredTicketJob, TicketBalance, TicketCommit, TicketCommitted, TicketConflict,
    TicketJobId, TicketStore,
};

use super::{MemoryStore, oldest};

/// The rows of the ticket wallet.
#[derive(Default)]
pub(super) struct Tickets {
    jobs: BTreeMap<TicketJobId, StoredTicketJob>,
    claims: BTreeMap<ProofId, TicketJobId>,
    /// Each with the job that has reserved it.
    proofs: BTreeMap<ProofId, (StoredProof, Option<TicketJobId>)>,
    counters: BTreeMap<(String, String), u32>,
    /// Proofs that are set aside.
    aside: BTreeSet<ProofId>,
}

impl Tickets {
    fn counter(&self, mint_url: &str, keyset: &str) -> Result<u32, StoreError> {
        let is_of = |proof: &StoredProof| {
            let value = serde_json::from_str::<serde_json::Value>(&proof.proof).unwrap_or_default();
            proof.mint_url == mint_url && value["id"] == keyset
        };
        match self.counters.get(&(mint_url.to_owned(), keyset.to_owned())) {
            Some(next) => Ok(*next),
            None if self.proofs.values().any(|(proof, _)| is_of(proof)) => Err(StoreError::Unreadable("a counter")),
            None => Ok(0),
        }
    }

    fn conflict(&self, commit: &TicketCommit) -> Result<Option<TicketConflict>, StoreError> {
        if self.jobs.get(&commit.job).map_or(0, |job| job.revision) != commit.expected {
            return Ok(Some(TicketConflict::Revision));
        }
        if let Some(advance) = &commit.counter
            && (self.counter(&advance.mint_url, &advance.keyset)? != advance.from || advance.to < advance.from)
        {
            return Ok(Some(TicketConflict::Counter));
        }
        let claimed = |proof| self.claims.get(proof).filter(|job| **job != commit.job);
        if let Some(job) = commit.claims.iter().find_map(claimed) {
            return Ok(Some(TicketConflict::Claimed(*job)));
        }
        let mut seen = BTreeSet::new();
        let mut is_new = |id: &ProofId| seen.insert(*id);
        let is_free =
            |id| self.proofs.get(id).is_some_and(|(_, reserved)| reserved.is_none()) && !self.aside.contains(id);
        let is_own = |id| self.proofs.get(id).is_some_and(|(_, reserved)| *reserved == Some(commit.job));
        if !commit.set_aside.iter().all(|id| is_new(id) && is_own(id)) {
            return Ok(Some(TicketConflict::Proof));
        }
        if !commit.reserve.iter().all(|id| is_new(id) && is_free(id))
            || !commit.add.iter().all(|proof| is_new(&proof.id) && !self.proofs.contains_key(&proof.id))
        {
            return Ok(Some(TicketConflict::Proof));
        }
        Ok(commit.add.iter().any(|proof| i64::try_from(proof.amount).is_err()).then_some(TicketConflict::Amount))
    }

    fn apply(&mut self, commit: TicketCommit) -> u64 {
        let job = commit.job;
        if commit.release_claims {
            self.claims.retain(|_, owner| *owner != job);
        }
        self.claims.extend(commit.claims.into_iter().map(|proof| (proof, job)));
        if let Some(advance) = commit.counter {
            self.counters.insert((advance.mint_url, advance.keyset), advance.to);
        }
        for id in commit.set_aside {
            if let Some((_, reserved)) = self.proofs.get_mut(&id) {
                *reserved = None;
                self.aside.insert(id);
            }
        }
        if commit.remove_reserved {
            self.proofs.retain(|_, (_, reserved)| *reserved != Some(job));
        } else if commit.release_reserved {
            self.proofs.values_mut().filter(|(_, by)| *by == Some(job)).for_each(|(_, reserved)| *reserved = None);
        }
        for id in commit.reserve {
            if let Some((_, reserved)) = self.proofs.get_mut(&id) {
                *reserved = Some(job);
            }
        }
        self.proofs.extend(commit.add.into_iter().map(|proof| (proof.id, (proof, None))));
        let revision = commit.expected + 1;
        let finished_at = commit.finished.then_some(commit.at);
        self.jobs.insert(job, StoredTicketJob { id: job, revision, state: commit.state, finished_at });
        revision
    }
}

#[async_trait]
impl TicketStore for MemoryStore {
    async fn commit_tickets(&self, commit: TicketCommit) -> Result<TicketCommitted, StoreError> {
        let tickets = &mut self.rows.lock().tickets;
        Ok(match tickets.conflict(&commit)? {
            Some(conflict) => TicketCommitted::Conflict(conflict),
            None => TicketCommitted::Done(tickets.apply(commit)),
        })
    }

    async fn ticket_job(&self, id: TicketJobId) -> Result<Option<StoredTicketJob>, StoreError> {
        Ok(self.rows.lock().tickets.jobs.get(&id).cloned())
    }

    async fn unfinished_ticket_jobs(
        &self,
        after: Option<TicketJobId>,
        limit: usize,
    ) -> Result<Vec<TicketJobId>, StoreError> {
        let rows = self.rows.lock();
        let open = rows.tickets.jobs.values().filter(|job| job.finished_at.is_none()).map(|job| job.id);
        Ok(open.filter(|id| after.is_none_or(|after| *id > after)).take(limit).collect())
    }

    async fn proof_claim(&self, proof: ProofId) -> Result<Option<TicketJobId>, StoreError> {
        Ok(self.rows.lock().tickets.claims.get(&proof).copied())
    }

    async fn ticket_counter(&self, mint_url: &str, keyset: &str) -> Result<u32, StoreError> {
        self.rows.lock().tickets.counter(mint_url, keyset)
    }

    async fn free_proofs(&self, mint_url: &str, unit: &str, limit: usize) -> Result<Vec<StoredProof>, StoreError> {
        let rows = self.rows.lock();
        let is_free = |(proof, reserved): &&(StoredProof, Option<TicketJobId>)| {
            reserved.is_none() && !rows.tickets.aside.contains(&proof.id)
        };
        let free = rows.tickets.proofs.values().filter(is_free).map(|(proof, _)| proof);
        let mut free: Vec<_> = free.filter(|proof| proof.mint_url == mint_url && proof.unit == unit).cloned().collect();
        free.sort_by_key(|proof| (proof.amount, proof.id));
        free.truncate(limit);
        Ok(free)
    }

    async fn proofs(&self, ids: &[ProofId]) -> Result<Vec<StoredProof>, StoreError> {
        let rows = self.rows.lock();
        Ok(ids.iter().filter_map(|id| rows.tickets.proofs.get(id)).map(|(proof, _)| proof.clone()).collect())
    }

    async fn ticket_balances(&self) -> Result<Vec<TicketBalance>, StoreError> {
        let rows = self.rows.lock();
        let mut sums = BTreeMap::<_, [u64; 2]>::new();
        for (proof, _) in rows.tickets.proofs.values().filter(|(_, reserved)| reserved.is_none()) {
            let sums = sums.entry((proof.mint_url.clone(), proof.unit.clone())).or_default();
            let [free, aside] = sums;
            let sum = if rows.tickets.aside.contains(&proof.id) { aside } else { free };
            *sum = sum.saturating_add(proof.amount);
        }
        sums.retain(|_, sums| *sums != [0, 0]);
        let balances = sums.into_iter().map(|((mint_url, unit), [amount, set_aside])| TicketBalance {
            mint_url,
            unit,
            amount,
            set_aside,
        });
        Ok(balances.collect())
    }

    async fn set_aside_proofs(&self, after: Option<ProofId>, limit: usize) -> Result<Vec<StoredProof>, StoreError> {
        let tickets = &self.rows.lock().tickets;
        let aside = tickets.aside.iter().filter(|id| after.is_none_or(|after| **id > after)).take(limit);
        Ok(aside.filter_map(|id| tickets.proofs.get(id)).map(|(proof, _)| proof.clone()).collect())
    }

    async fn return_set_aside(&self, ids: &[ProofId]) -> Result<usize, StoreError> {
        let tickets = &mut self.rows.lock().tickets;
        Ok(ids.iter().filter(|id| tickets.aside.remove(*id)).count())
    }

    async fn remove_ticket_jobs(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        let tickets = &mut self.rows.lock().tickets;
        let finished = tickets.jobs.values().filter_map(|job| Some((job.finished_at?, job.id)));
        let finished = finished.filter(|(_, id)| tickets.proofs.values().all(|(_, reserved)| *reserved != Some(*id)));
        let old = oldest(finished, before, limit);
        for id in &old {
            tickets.jobs.remove(id);
            tickets.claims.retain(|_, owner| owner != id);
        }
        Ok(old.len())
    }
}
