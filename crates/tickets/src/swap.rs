//! Attempts of a swap.

use std::sync::Arc;

use cashu::{BlindSignature, Proof};
use usher_engine::ports::TokenState;

use crate::attempt_history::{Attempt, Attempts, LATE_EFFECTS, stale, wrong};
use crate::job_failure::{Failure, Refusal};
use crate::job_runtime::{AttemptError, Core, edge};
use crate::mint_address::MintAddress;
use crate::mint_error::MintError;
use crate::mint_seeds::Owner;
use crate::mints::Mint;
use crate::outputs::Outputs;
use crate::proof_states::together;
use crate::running_jobs::Entry;
use crate::stored_job::{Ending, Job, Kind, Record, Stage, Swapping, plain_commit};
use crate::token;

/// Why a job ends whose outputs the mint claims to have signed for another request, also after they were made anew.
pub(crate) const SIGNED_BEFORE: &str = "it has signed these outputs before: another service uses the same key with it";

impl Core {
    /// Asks the mint to swap, and takes the result, however it can be had.
    pub(crate) async fn swap(
        self: &Arc<Self>,
        entry: &Arc<Entry>,
        job: &Job,
        swapping: &Swapping,
        attempts: &mut Attempts,
    ) -> Result<Attempt, AttemptError> {
        let mint = self.mints.get(&swapping.mint_url)?;
        let _slot = mint.slots.acquire().await.map_err(|_| AttemptError::Stopped)?;
        if attempts.any
            && let Some(signatures) = self.restored(&mint, &swapping.outputs, swapping).await?
        {
            return self.finish_swap(entry, job, swapping, &mint, signatures).await;
        }
        let is_first = !attempts.any;
        attempts.any = true;
        let blinded = self.blinded(&swapping.outputs).await?;
        edge!("tickets-before-swap");
        let error = match mint.client.swap(swapping.inputs.clone(), blinded, swapping.auth.as_ref()).await {
            Ok(signatures) => {
                edge!("tickets-after-swap");
                match self.finish_swap(entry, job, swapping, &mint, signatures).await {
                    Err(AttemptError::Mint(error)) => error,
                    other => return other,
                }
            }
            Err(error) => error,
        };
        edge!("tickets-after-failed-swap");
        if !error.is_definite() {
            // What was asked before says nothing about this request.
            (attempts.uncertain, attempts.refused_since) = (true, None);
        }
        if let MintError::Refused(refusal) = &error
            && is_first
            && error.concerns_auth()
        {
            // Nothing was done, and nothing can be asked with this token either. With another one it can be tried again.
            return self.fail(job, Failure::Refused(refusal.text.clone()), true).await;
        }
        if error.concerns_outputs() && self.is_settled(attempts) && !self.is_any_spent(&mint, swapping).await? {
            mint.forget_first_unused(swapping.outputs.keyset);
            if attempts.has_skipped {
                return self.fail(job, Failure::Refused(SIGNED_BEFORE.to_owned()), true).await;
            }
            let anew = self.swap_anew(job, swapping, &mint).await?;
            *attempts = Attempts { has_skipped: true, ..Attempts::NONE };
            return Ok(anew);
        }
        if let Some(signatures) = self.restored(&mint, &swapping.outputs, swapping).await? {
            return self.finish_swap(entry, job, swapping, &mint, signatures).await;
        }
        match self.state_of_inputs(&mint, swapping).await? {
            TokenState::Unspent => {}
            // Nothing was done, and somebody else spends them. It is stored, so that it is known after a restart as well.
            TokenState::Pending | TokenState::Spent
                if matches!(error, MintError::Refused(_)) && !attempts.uncertain =>
            {
                return self.store_refused(job, swapping, true).await;
            }
            TokenState::Pending => return Ok(self.is_pending(attempts)),
            TokenState::Spent => {
                // Whether it was us is known only now: the mint marks inputs as spent after it has kept its signatures.
                if let Some(signatures) = self.restored(&mint, &swapping.outputs, swapping).await? {
                    return self.finish_swap(entry, job, swapping, &mint, signatures).await;
                }
                attempts.warn_of_lost_signatures(job, &swapping.mint_url, token::sum(&swapping.inputs), &swapping.unit);
                return Ok(self.is_pending(attempts));
            }
        }
        if error.concerns_keyset() && self.has_other_keyset(&mint, &swapping.unit, swapping.outputs.keyset).await? {
            let anew = self.swap_anew(job, swapping, &mint).await?;
            *attempts = Attempts { has_skipped: attempts.has_skipped, ..Attempts::NONE };
            return Ok(anew);
        }
        let MintError::Refused(refusal) = &error else { return Err(error.into()) };
        if !self.is_settled(attempts) {
            return Err(error.into());
        }
        edge!("tickets-before-failure");
        if error.concerns_proof() && !swapping.own_inputs {
            return self.fail(job, Failure::Forged, false).await;
        }
        // Nothing was done. The mint may think better of it: the same id is another attempt.
        self.fail(job, Failure::Refused(refusal.text.clone()), true).await
    }

    /// Whether no earlier attempt can still have an effect, now that the mint has refused one.
    pub(crate) fn is_settled(&self, attempts: &mut Attempts) -> bool {
        let now = self.clock.monotonic();
        let since = *attempts.refused_since.get_or_insert(now);
        !attempts.uncertain || now.saturating_sub(since) >= LATE_EFFECTS
    }

    /// Ends a job whose requests were all refused, because of what the mint says of its inputs.
    pub(crate) async fn end_refused(
        &self,
        entry: &Entry,
        job: &Job,
        swapping: &Swapping,
        mint: &Mint,
        failure: Failure,
    ) -> Result<Attempt, AttemptError> {
        let _slot = mint.slots.acquire().await.map_err(|_| AttemptError::Stopped)?;
        if let Some(signatures) = self.restored(mint, &swapping.outputs, swapping).await? {
            return self.finish_swap(entry, job, swapping, mint, signatures).await;
        }
        edge!("tickets-before-failure");
        if failure != Failure::AlreadySpent || !swapping.own_inputs {
            // That is the mint's word: the same id asks again.
            return self.fail(job, failure, true).await;
        }
        let states = mint.client.check_state(swapping.ys()?, swapping.auth.as_ref()).await?;
        let spent = states.iter().filter(|state| state.state == cashu::State::Spent);
        let spent: Vec<_> = spent.map(|state| token::proof_id(&state.y)).collect();
        if spent.is_empty() {
            return Err(wrong("it says that tickets are spent, and then that they are not").into());
        }
        self.set_aside(job, swapping, spent).await
    }

    async fn state_of_inputs(&self, mint: &Mint, swapping: &Swapping) -> Result<TokenState, AttemptError> {
        let states = mint.client.check_state(swapping.ys()?, swapping.auth.as_ref()).await?;
        Ok(together(states.iter().map(|state| state.state)))
    }

    /// Whether the mint says that an input is spent, or is being spent.
    async fn is_any_spent(&self, mint: &Mint, swapping: &Swapping) -> Result<bool, AttemptError> {
        Ok(self.state_of_inputs(mint, swapping).await? != TokenState::Unspent)
    }

    /// The signatures of all outputs, if the mint has signed them for this swap.
    ///
    /// While all inputs are unspent, it has signed them for another request: one that this record does not know, because
    /// it is an old copy. Taking those signatures would hand out what somebody holds already.
    async fn restored(
        &self,
        mint: &Mint,
        outputs: &Outputs,
        swapping: &Swapping,
    ) -> Result<Option<Vec<BlindSignature>>, AttemptError> {
        let signatures = self.restore_outputs(mint, outputs, swapping.auth.as_ref()).await?;
        if signatures.is_some() && !self.is_any_spent(mint, swapping).await? {
            return Ok(None);
        }
        Ok(signatures)
    }

    async fn finish_swap(
        &self,
        entry: &Entry,
        job: &Job,
        swapping: &Swapping,
        mint: &Mint,
        signatures: Vec<BlindSignature>,
    ) -> Result<Attempt, AttemptError> {
        let proofs = self.unblinded(mint, &swapping.outputs, signatures).await?;
        let (mint_url, unit) = (&swapping.mint_url, &swapping.unit);
        let (handed_out, kept): (Vec<_>, Vec<_>) = proofs.into_iter().partition(|(owner, _)| *owner == Owner::Holder);
        let handed_out: Vec<Proof> = handed_out.into_iter().map(|(_, proof)| proof).collect();
        let mut kept: Vec<Proof> = kept.into_iter().map(|(_, proof)| proof).collect();
        let ending = if handed_out.is_empty() {
            Ending::Amount(token::sum(&kept))
        } else {
            self.hand_out(entry, job, mint_url, unit, handed_out, &mut kept)?
        };
        self.end(entry, job, ending, mint_url, unit, &kept, swapping.own_inputs).await
    }

    /// Decides who gets new proofs: the caller, as a token, or the balance, if nobody can get the token any more.
    pub(crate) fn hand_out(
        &self,
        entry: &Entry,
        job: &Job,
        mint_url: &str,
        unit: &str,
        proofs: Vec<Proof>,
        kept: &mut Vec<Proof>,
    ) -> Result<Ending, AttemptError> {
        if !job.repeatable() && !entry.promise() {
            let amount = token::sum(&proofs);
            kept.extend(proofs);
            return Ok(Ending::AddedToBalance(amount));
        }
        let token = token::write(mint_url, unit, proofs).map_err(|_| wrong("its address cannot be written"))?;
        Ok(Ending::Token(token))
    }

    /// Commits the end of a job: proofs join the balance, own inputs leave it.
    #[allow(clippy::too_many_arguments, reason = "all of one step")]
    pub(crate) async fn end(
        &self,
        entry: &Entry,
        job: &Job,
        ending: Ending,
        mint_url: &str,
        unit: &str,
        kept: &[Proof],
        own_inputs: bool,
    ) -> Result<Attempt, AttemptError> {
        let record = Record { stage: Stage::Ended(ending), ..(*job.record).clone() };
        let mut commit = plain_commit(job.id, job.revision, self.now(), &record)?;
        commit.add = kept.iter().map(|proof| crate::own_proof::row(mint_url, unit, proof)).collect::<Result<_, _>>()?;
        commit.remove_reserved = own_inputs;
        if let (Some(auth), Ok(mint)) = (job.auth(), MintAddress::parse(mint_url)) {
            self.tokens.keep(&mint, auth).await;
        }
        edge!("tickets-before-end");
        let committed = self.commit(commit).await;
        let revision = match committed {
            Ok(Ok(revision)) => revision,
            Ok(Err(conflict)) => {
                entry.withdraw_promise();
                return Err(stale(conflict));
            }
            Err(error) => {
                entry.withdraw_promise();
                return Err(error.into());
            }
        };
        edge!("tickets-after-end");
        Ok(Attempt::Changed(Job { id: job.id, revision, record: Arc::new(record) }))
    }

    /// Prepares new outputs in the same job: the mint no longer signs with the keyset, or has signed the old outputs for
    /// another request. It has signed nothing for this one, and the inputs are unspent.
    async fn swap_anew(&self, job: &Job, swapping: &Swapping, mint: &Mint) -> Result<Attempt, AttemptError> {
        let list = mint.keysets.list(self.clock.monotonic(), crate::keysets::FRESH).await?;
        let rest = token::sum(&swapping.inputs).saturating_sub(crate::keysets::fee(&list, &swapping.inputs));
        let old = swapping.outputs.totals();
        let handed_out = old.iter().find(|(_, owner)| *owner == Owner::Holder).map_or(0, |(total, _)| *total);
        let totals = match (job.record.kind, swapping.own_inputs) {
            // What was promised to the caller stays; the change is what is left.
            (Kind::Withdraw, _) => {
                let Some(change) = rest.checked_sub(handed_out) else {
                    return self.fail(job, Failure::Refused("its fee has risen".to_owned()), true).await;
                };
                vec![(handed_out, Owner::Holder), (change, Owner::Wallet)]
            }
            _ if rest == 0 => {
                return self.fail(job, Failure::Refused("its fee takes all of it".to_owned()), true).await;
            }
            (Kind::Verify, _) if rest < handed_out => {
                return self.fail(job, Failure::Refused("its fee has risen".to_owned()), true).await;
            }
            (Kind::Verify, _) => vec![(rest, Owner::Holder)],
            _ => vec![(rest, Owner::Wallet)],
        };
        let _preparing = mint.preparing.lock().await;
        let prepared = self.outputs_anew(mint, &swapping.unit, totals, swapping.auth.as_ref()).await;
        let (outputs, counter) = prepared.map_err(no_new_outputs)?;
        let stage = Stage::Swapping(Box::new(Swapping { outputs, ..swapping.clone() }));
        let record = Record { stage, ..(*job.record).clone() };
        let mut commit = plain_commit(job.id, job.revision, self.now(), &record)?;
        commit.counter = Some(counter);
        edge!("tickets-before-new-outputs");
        let revision = self.commit(commit).await?.map_err(stale)?;
        edge!("tickets-after-new-outputs");
        Ok(Attempt::Anew(Job { id: job.id, revision, record: Arc::new(record) }))
    }
}

/// Why a job that needs new outputs waits: it goes on when the mint or the store is well again.
pub(crate) fn no_new_outputs(refusal: Refusal) -> AttemptError {
    match refusal {
        Refusal::Failure(failure) => wrong(&format!("no new outputs: {failure:?}")).into(),
        other => refusal_of_store(other),
    }
}

fn refusal_of_store(refusal: Refusal) -> AttemptError {
    match refusal {
        Refusal::Store(_) | Refusal::Overloaded => AttemptError::Stale,
        other => AttemptError::Refused(other),
    }
}
