//! The first step of a job: everything is checked, then it is stored with what it needs to finish.

use std::sync::Arc;

use cashu::{KeySetInfo, Keys};
use usher_engine::ports::{CounterAdvance, MintAuthToken, ProofId, TicketConflict, TicketJobId, WithdrawTerms};

use crate::attempt_history::stale;
use crate::job_failure::{Failure, Refusal};
use crate::job_runtime::{AttemptError, Core, edge};
use crate::keysets::FRESH;
use crate::mint_address::normal_unit;
use crate::mints::Mint;
use crate::outputs::Outputs;
use crate::proof_selection::{Selected, select};
use crate::running_jobs::Entry;
use crate::stored_job::{Ending, Job, Kind, Record, Stage, Swapping, Terms, plain_commit};
use crate::token;

/// Most own proofs that are considered for one withdrawal, and swapped at once.
pub(crate) const MAX_INPUTS: usize = 500;

/// How often a step is tried again because something changed meanwhile.
const TRIES: usize = 16;

pub(crate) struct FirstStep {
    pub(crate) swapping: Swapping,
    pub(crate) counter: CounterAdvance,
    pub(crate) claims: Vec<ProofId>,
    pub(crate) reserve: Vec<ProofId>,
}

impl Core {
    /// Creates the job and commits its first step. `expected` is the stored revision: 0, or that of a failure.
    pub(crate) async fn create(
        self: &Arc<Self>,
        entry: &Entry,
        terms: Terms,
        expected: u64,
    ) -> Result<Job, AttemptError> {
        let mint = self.mints.get(terms.mint_url())?;
        let terms = self.with_token(&mint, terms).await;
        let record = |kind, stage| Record { kind, fingerprint: terms.fingerprint(), stage };
        match &terms {
            Terms::Mint(terms) => {
                let record = record(Kind::Mint, Stage::Intent(Box::new(terms.clone())));
                self.first(entry.id, expected, record, None, Vec::new(), Vec::new()).await?.map_err(stale)
            }
            Terms::Redeem(received) => {
                self.receive(entry, &mint, received, expected, &|stage| record(Kind::Redeem, stage)).await
            }
            Terms::Verify(received) => {
                self.receive(entry, &mint, received, expected, &|stage| record(Kind::Verify, stage)).await
            }
            Terms::Withdraw(withdrawn) => {
                self.take_out(entry, &mint, withdrawn, expected, &|stage| record(Kind::Withdraw, stage)).await
            }
            Terms::Renew(renewed) => {
                self.take_over(entry, &mint, renewed, expected, &|stage| record(Kind::Renew, stage)).await
            }
        }
    }

    /// A caller who names no token gets the one that the mint accepted last, but not for minting: this is what an operator's
    /// mint has its token for, so the caller must name it.
    async fn with_token(&self, mint: &Mint, mut terms: Terms) -> Terms {
        let auth = match &mut terms {
            Terms::Redeem(terms) | Terms::Verify(terms) => &mut terms.auth,
            Terms::Withdraw(terms) => &mut terms.auth,
            Terms::Mint(_) | Terms::Renew(_) => return terms,
        };
        if auth.is_none() {
            *auth = self.tokens.of(&mint.address).await;
        }
        terms
    }

    /// Commits a first step. Store errors end the job: nothing is known of it, and nothing was sent.
    pub(crate) async fn first(
        &self,
        id: TicketJobId,
        expected: u64,
        record: Record,
        counter: Option<CounterAdvance>,
        claims: Vec<ProofId>,
        reserve: Vec<ProofId>,
    ) -> Result<Result<Job, TicketConflict>, AttemptError> {
        let mut commit = plain_commit(id, expected, self.now(), &record).map_err(Refusal::from)?;
        commit.counter = counter;
        commit.claims = claims;
        commit.reserve = reserve;
        edge!("tickets-before-start");
        let committed = self.commit(commit).await.map_err(Refusal::from)?;
        edge!("tickets-after-start");
        Ok(committed.map(|revision| Job { id, revision, record: Arc::new(record) }))
    }

    /// Commits the first step of a swap. `None` when something changed meanwhile: it must be prepared again.
    pub(crate) async fn first_swap(
        self: &Arc<Self>,
        id: TicketJobId,
        expected: u64,
        step: FirstStep,
        record: &(dyn Fn(Stage) -> Record + Sync),
    ) -> Result<Result<Job, TicketConflict>, AttemptError> {
        let stage = Stage::Swapping(Box::new(step.swapping));
        self.first(id, expected, record(stage), Some(step.counter), step.claims, step.reserve).await
    }

    async fn take_out(
        self: &Arc<Self>,
        entry: &Entry,
        mint: &Arc<Mint>,
        terms: &WithdrawTerms,
        expected: u64,
        record: &(dyn Fn(Stage) -> Record + Sync),
    ) -> Result<Job, AttemptError> {
        let unit = normal_unit(&terms.unit);
        mint.keysets.support().await.map_err(Refusal::from)?;
        for _ in 0..TRIES {
            let (info, keys) = self.keyset_for_outputs(mint, &unit).await?;
            let list = mint.keysets.list(self.clock.monotonic(), FRESH).await.map_err(Refusal::from)?;
            let preparing = mint.preparing.lock().await;
            if !entry.is_awaited() {
                // Nothing is stored and nobody waits: whoever asks again starts again.
                return Err(Refusal::Failure(Failure::TimedOut).into());
            }
            let stored = self.store.free_proofs(mint.address.as_str(), &unit, MAX_INPUTS).await;
            let stored = stored.map_err(Refusal::from)?;
            let proofs = stored.iter().map(crate::own_proof::read).collect::<Result<Vec<_>, _>>();
            let proofs = proofs.map_err(Refusal::from)?;
            let was_cut = proofs.len() >= MAX_INPUTS;
            let (inputs, change) = match select(&list, proofs, terms.amount) {
                Selected::Enough { inputs, change } => (inputs, change),
                Selected::TooLittle { available, needed } if !was_cut => {
                    return Err(Refusal::InsufficientFunds { available, needed }.into());
                }
                Selected::TooLittle { .. } => {
                    // The smallest proofs do not suffice, but there are larger ones: many become few first.
                    drop(preparing);
                    self.consolidate(mint, &unit).await?;
                    continue;
                }
            };
            let totals =
                vec![(terms.amount, crate::mint_seeds::Owner::Holder), (change, crate::mint_seeds::Owner::Wallet)];
            let (outputs, counter) = self.prepare(mint, &info, &keys, totals, terms.auth.as_ref()).await?;
            let swapping = Swapping {
                mint_url: mint.address.as_str().to_owned(),
                unit: unit.clone(),
                auth: terms.auth.clone(),
                repeatable: terms.repeatable,
                own_inputs: true,
                inputs,
                outputs,
                refused: false,
            };
            let reserve = ids(&swapping)?;
            let step = FirstStep { swapping, counter, claims: Vec::new(), reserve };
            match self.first_swap(entry.id, expected, step, record).await? {
                Ok(job) => return Ok(job),
                Err(conflict @ TicketConflict::Revision) => return Err(stale(conflict)),
                // Somebody else took a counter or a proof.
                Err(_) => drop(preparing),
            }
        }
        Err(Refusal::Overloaded.into())
    }

    /// Swaps these own proofs for own proofs.
    async fn take_over(
        self: &Arc<Self>,
        entry: &Entry,
        mint: &Arc<Mint>,
        terms: &crate::stored_job::RenewTerms,
        expected: u64,
        record: &(dyn Fn(Stage) -> Record + Sync),
    ) -> Result<Job, AttemptError> {
        let (info, keys) = self.keyset_for_outputs(mint, &terms.unit).await?;
        let list = mint.keysets.list(self.clock.monotonic(), FRESH).await.map_err(Refusal::from)?;
        let fee = crate::keysets::fee(&list, &terms.proofs);
        let rest = token::sum(&terms.proofs).saturating_sub(fee);
        if rest == 0 {
            return Err(Refusal::Token(usher_engine::ports::TokenFault::WorthNothing).into());
        }
        let totals = vec![(rest, crate::mint_seeds::Owner::Wallet)];
        let _preparing = mint.preparing.lock().await;
        let auth = self.tokens.of(&mint.address).await;
        let (outputs, counter) = self.prepare(mint, &info, &keys, totals, auth.as_ref()).await?;
        let swapping = Swapping {
            mint_url: mint.address.as_str().to_owned(),
            unit: terms.unit.clone(),
            auth,
            repeatable: true,
            own_inputs: true,
            inputs: terms.proofs.clone(),
            outputs,
            refused: false,
        };
        let reserve = ids(&swapping)?;
        let step = FirstStep { swapping, counter, claims: Vec::new(), reserve };
        self.first_swap(entry.id, expected, step, record).await?.map_err(|_| Refusal::Overloaded.into())
    }

    /// The keyset that new proofs of `unit` are made of, and its keys.
    pub(crate) async fn keyset_for_outputs(&self, mint: &Mint, unit: &str) -> Result<(KeySetInfo, Arc<Keys>), Refusal> {
        let info = mint.keysets.active(unit, self.clock.monotonic(), self.now().secs()).await?;
        let keys = mint.keysets.keys(&info).await?;
        Ok((info, keys))
    }

    /// Whether the mint, asked now, names another keyset for new proofs of `unit` than the one that it has refused.
    pub(crate) async fn has_other_keyset(
        &self,
        mint: &Mint,
        unit: &str,
        refused: cashu::Id,
    ) -> Result<bool, AttemptError> {
        mint.keysets.forget();
        let info = mint.keysets.active(unit, self.clock.monotonic(), self.now().secs()).await?;
        Ok(info.id != refused)
    }

    /// Prepares the same totals again, with a keyset that the mint signs with: its keyset was rotated before it signed
    /// anything. The fee may differ, so what goes to the wallet is calculated again.
    pub(crate) async fn outputs_anew(
        &self,
        mint: &Mint,
        unit: &str,
        totals: Vec<(u64, crate::mint_seeds::Owner)>,
        auth: Option<&MintAuthToken>,
    ) -> Result<(Outputs, CounterAdvance), Refusal> {
        let (info, keys) = self.keyset_for_outputs(mint, unit).await?;
        self.prepare(mint, &info, &keys, totals, auth).await
    }

    /// Ends a job with its first step: there is nothing to do.
    pub(crate) async fn first_and_last(
        &self,
        id: TicketJobId,
        expected: u64,
        record: Record,
        claims: Vec<ProofId>,
    ) -> Result<Result<Job, TicketConflict>, AttemptError> {
        debug_assert!(matches!(record.stage, Stage::Ended(Ending::Token(_))));
        self.first(id, expected, record, None, claims, Vec::new()).await
    }
}

/// The ids of a swap's inputs.
pub(crate) fn ids(swapping: &Swapping) -> Result<Vec<ProofId>, Refusal> {
    Ok(swapping.ys()?.iter().map(token::proof_id).collect())
}
