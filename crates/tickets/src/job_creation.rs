//! Creates a job: checks the request, then stores the job with everything that it needs to finish.

use std::sync::Arc;

use cashu::{KeySetInfo, Keys};
use usher_engine::ports::{CounterAdvance, ProofId, TicketConflict, TokenFault, WithdrawTerms};

use crate::attempt_history::stale;
use crate::job_failure::{Failure, Refusal};
use crate::job_runtime::{AttemptError, Core, edge};
use crate::keysets::{FRESH, fee};
use crate::mint_address::normal_unit;
use crate::mint_seeds::Owner;
use crate::mints::Mint;
use crate::own_proof;
use crate::proof_selection::{Selected, select};
use crate::running_jobs::Entry;
use crate::stored_job::{Job, Kind, Record, RenewTerms, Stage, Swapping, Terms, plain_commit};
use crate::token;

/// Most own proofs read for one withdrawal, and swapped at once.
pub(crate) const MAX_INPUTS: usize = 500;

/// Attempts to commit the first step when concurrent jobs conflict with it.
pub(crate) const TRIES: usize = 16;

/// A job that is not stored yet.
pub(crate) struct NewJob<'a> {
    pub(crate) entry: &'a Entry,
    pub(crate) mint: Arc<Mint>,
    pub(crate) kind: Kind,
    /// The stored revision: 0, or that of a failure.
    pub(crate) expected: u64,
}

/// What the first commit of a job changes beside the job itself.
#[derive(Default)]
pub(crate) struct FirstChanges {
    pub(crate) counter: Option<CounterAdvance>,
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
        let new = NewJob { entry, mint, kind: terms.kind(), expected };
        match terms {
            Terms::Mint(terms) => {
                let stage = Stage::Intent(Box::new(terms));
                self.commit_first(&new, stage, FirstChanges::default()).await?.map_err(stale)
            }
            Terms::Redeem(terms) | Terms::Verify(terms) => self.receive(&new, &terms).await,
            Terms::Withdraw(terms) => self.withdraw(&new, &terms).await,
            Terms::Renew(terms) => self.renew_proofs(&new, terms).await,
        }
    }

    /// Fills in the auth token that the mint accepted last if the caller names none. Not for minting, which is the
    /// operation that mints protect with such tokens.
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

    /// Commits the first step of a job. A store error ends the job: nothing was sent.
    pub(crate) async fn commit_first(
        &self,
        new: &NewJob<'_>,
        stage: Stage,
        changes: FirstChanges,
    ) -> Result<Result<Job, TicketConflict>, AttemptError> {
        let (id, fingerprint) = (new.entry.id, new.entry.fingerprint.clone());
        let record = Record { kind: new.kind, fingerprint, stage };
        let mut commit = plain_commit(id, new.expected, self.now(), &record).map_err(Refusal::from)?;
        commit.counter = changes.counter;
        commit.claims = changes.claims;
        commit.reserve = changes.reserve;
        edge!("tickets-before-start");
        let committed = self.commit(commit).await.map_err(Refusal::from)?;
        edge!("tickets-after-start");
        Ok(committed.map(|revision| Job { id, revision, record: Arc::new(record) }))
    }

    async fn withdraw(self: &Arc<Self>, new: &NewJob<'_>, terms: &WithdrawTerms) -> Result<Job, AttemptError> {
        let mint = &new.mint;
        let unit = normal_unit(&terms.unit);
        mint.keysets.support().await.map_err(Refusal::from)?;
        for _ in 0..TRIES {
            let (info, keys) = self.keyset_for_outputs(mint, &unit).await?;
            let list = mint.keysets.list(self.clock.monotonic(), FRESH).await.map_err(Refusal::from)?;
            let preparing = mint.preparing.lock().await;
            if !new.entry.is_awaited() {
                return Err(Refusal::Failure(Failure::TimedOut).into());
            }
            let stored = self.store.free_proofs(mint.address.as_str(), &unit, MAX_INPUTS).await;
            let stored = stored.map_err(Refusal::from)?;
            let proofs = stored.iter().map(own_proof::read).collect::<Result<Vec<_>, _>>();
            let proofs = proofs.map_err(Refusal::from)?;
            let was_cut = proofs.len() >= MAX_INPUTS;
            let (inputs, change) = match select(&list, proofs, terms.amount) {
                Selected::Enough { inputs, change } => (inputs, change),
                Selected::TooLittle { available, needed } if !was_cut => {
                    return Err(Refusal::InsufficientFunds { available, needed }.into());
                }
                Selected::TooLittle { .. } => {
                    // The wallet has more proofs than were read: consolidate the smallest, then try again.
                    drop(preparing);
                    self.consolidate(mint, &unit).await?;
                    continue;
                }
            };
            let totals = [(terms.amount, Owner::Holder), (change, Owner::Wallet)];
            let (outputs, counter) = self.prepare(mint, &info, &keys, &totals, terms.auth.as_ref()).await?;
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
            let changes = FirstChanges { counter: Some(counter), reserve: ids(&swapping)?, ..FirstChanges::default() };
            match self.commit_first(new, Stage::Swapping(Box::new(swapping)), changes).await? {
                Ok(job) => return Ok(job),
                Err(conflict @ TicketConflict::Revision) => return Err(stale(conflict)),
                // A concurrent job took a counter or a proof.
                Err(_) => drop(preparing),
            }
        }
        Err(Refusal::Overloaded.into())
    }

    /// Swaps own proofs for own proofs.
    async fn renew_proofs(self: &Arc<Self>, new: &NewJob<'_>, terms: RenewTerms) -> Result<Job, AttemptError> {
        let mint = &new.mint;
        let RenewTerms { mint_url: _, unit, proofs: inputs } = terms;
        let (info, keys) = self.keyset_for_outputs(mint, &unit).await?;
        let list = mint.keysets.list(self.clock.monotonic(), FRESH).await.map_err(Refusal::from)?;
        let rest = token::sum(&inputs).saturating_sub(fee(&list, &inputs));
        if rest == 0 {
            return Err(Refusal::Token(TokenFault::WorthNothing).into());
        }
        let _preparing = mint.preparing.lock().await;
        let auth = self.tokens.of(&mint.address).await;
        let (outputs, counter) = self.prepare(mint, &info, &keys, &[(rest, Owner::Wallet)], auth.as_ref()).await?;
        let swapping = Swapping {
            mint_url: mint.address.as_str().to_owned(),
            unit,
            auth,
            repeatable: true,
            own_inputs: true,
            inputs,
            outputs,
            refused: false,
        };
        let changes = FirstChanges { counter: Some(counter), reserve: ids(&swapping)?, ..FirstChanges::default() };
        let stage = Stage::Swapping(Box::new(swapping));
        self.commit_first(new, stage, changes).await?.map_err(|_| Refusal::Overloaded.into())
    }

    /// The keyset for new proofs of `unit`, and its keys.
    pub(crate) async fn keyset_for_outputs(&self, mint: &Mint, unit: &str) -> Result<(KeySetInfo, Arc<Keys>), Refusal> {
        let info = mint.keysets.active(unit, self.clock.monotonic(), self.now().secs()).await?;
        let keys = mint.keysets.keys(&info).await?;
        Ok((info, keys))
    }

    /// Fetches the list of keysets again; whether its keyset for new proofs of `unit` differs from `refused`.
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
}

pub(crate) fn ids(swapping: &Swapping) -> Result<Vec<ProofId>, Refusal> {
    Ok(swapping.ys()?.iter().map(token::proof_id).collect())
}
