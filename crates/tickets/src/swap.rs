use std::sync::Arc;

use cashu::{BlindSignature, Proof};
use usher_engine::ports::TokenState;

use crate::attempt_history::{Attempt, Attempts, LATE_EFFECTS, wrong};
use crate::job_failure::{Failure, Refusal};
use crate::job_runtime::{AttemptError, Core, edge};
use crate::keysets::{FRESH, fee};
use crate::mint_address::MintAddress;
use crate::mint_error::MintError;
use crate::mint_seeds::Owner;
use crate::mints::Mint;
use crate::own_proof;
use crate::running_jobs::Entry;
use crate::state_requests::together;
use crate::stored_job::{Ending, Job, Kind, Stage, Swapping};
use crate::token;

/// The failure of a job when the mint claims to have signed even the new outputs for another request.
pub(crate) const SIGNED_BEFORE: &str = "it has signed these outputs before: another service uses the same key with it";

impl Core {
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
            && let Some(signatures) = self.restored(&mint, swapping).await?
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
            // Earlier look-ups do not cover this request.
            (attempts.uncertain, attempts.refused_since) = (true, None);
        }
        if let MintError::Refused(refusal) = &error
            && is_first
            && error.concerns_auth()
        {
            // Nothing was done, and look-ups with this token would fail too. The same id can be used with another token.
            return self.fail(job, Failure::Refused(refusal.text.clone()), true).await;
        }
        if error.concerns_outputs() && self.is_settled(attempts) && !self.is_any_spent(&mint, swapping).await? {
            mint.forget_first_unused(swapping.outputs.keyset);
            if attempts.has_skipped {
                return self.fail(job, Failure::Refused(SIGNED_BEFORE.to_owned()), true).await;
            }
            let anew = self.swap_anew(job, swapping, &mint).await?;
            *attempts = Attempts { has_skipped: true, ..Attempts::default() };
            return Ok(anew);
        }
        if let Some(signatures) = self.restored(&mint, swapping).await? {
            return self.finish_swap(entry, job, swapping, &mint, signatures).await;
        }
        match self.state_of_inputs(&mint, swapping).await? {
            TokenState::Unspent => {}
            // Nothing was done, and another request spends the inputs. Stored, so that it is known after a restart.
            TokenState::Pending | TokenState::Spent
                if matches!(error, MintError::Refused(_)) && !attempts.uncertain =>
            {
                return self.store_refused(job, swapping, true).await;
            }
            TokenState::Pending => return Ok(self.pending(attempts)),
            TokenState::Spent => {
                // Checked again: the mint stores its signatures before it marks the inputs as spent.
                if let Some(signatures) = self.restored(&mint, swapping).await? {
                    return self.finish_swap(entry, job, swapping, &mint, signatures).await;
                }
                attempts.warn_of_lost_signatures(job, &swapping.mint_url, token::sum(&swapping.inputs), &swapping.unit);
                return Ok(self.pending(attempts));
            }
        }
        if error.concerns_keyset() && self.has_other_keyset(&mint, &swapping.unit, swapping.outputs.keyset).await? {
            let anew = self.swap_anew(job, swapping, &mint).await?;
            *attempts = Attempts { has_skipped: attempts.has_skipped, ..Attempts::default() };
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
        self.fail(job, Failure::Refused(refusal.text.clone()), true).await
    }

    /// Whether no earlier attempt can still have an effect, now that the mint has refused one.
    pub(crate) fn is_settled(&self, attempts: &mut Attempts) -> bool {
        let now = self.clock.monotonic();
        let since = *attempts.refused_since.get_or_insert(now);
        !attempts.uncertain || now.saturating_sub(since) >= LATE_EFFECTS
    }

    /// Ends a job whose requests were all refused, because its inputs are pending or spent (`failure`).
    pub(crate) async fn end_refused(
        &self,
        entry: &Entry,
        job: &Job,
        swapping: &Swapping,
        mint: &Mint,
        failure: Failure,
    ) -> Result<Attempt, AttemptError> {
        let _slot = mint.slots.acquire().await.map_err(|_| AttemptError::Stopped)?;
        if let Some(signatures) = self.restored(mint, swapping).await? {
            return self.finish_swap(entry, job, swapping, mint, signatures).await;
        }
        edge!("tickets-before-failure");
        if failure != Failure::AlreadySpent || !swapping.own_inputs {
            // Only the mint claims this: the same id tries again.
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

    async fn is_any_spent(&self, mint: &Mint, swapping: &Swapping) -> Result<bool, AttemptError> {
        Ok(self.state_of_inputs(mint, swapping).await? != TokenState::Unspent)
    }

    /// The signatures of all outputs, if the mint has signed them for this swap.
    ///
    /// While all inputs are unspent, signatures belong to another request, which is missing in this database because it is an
    /// old copy. They are not used: their proofs may be in circulation.
    async fn restored(&self, mint: &Mint, swapping: &Swapping) -> Result<Option<Vec<BlindSignature>>, AttemptError> {
        let signatures = self.restore_outputs(mint, &swapping.outputs, swapping.auth.as_ref()).await?;
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

    /// Makes a token of new proofs for the caller; if no caller can get it any more, moves them to `kept`, for the
    /// balance.
    pub(crate) fn hand_out(
        &self,
        entry: &Entry,
        job: &Job,
        mint_url: &str,
        unit: &str,
        proofs: Vec<Proof>,
        kept: &mut Vec<Proof>,
    ) -> Result<Ending, AttemptError> {
        if !job.repeatable() && !entry.promise(self.options.wait) {
            let amount = token::sum(&proofs);
            kept.extend(proofs);
            return Ok(Ending::AddedToBalance(amount));
        }
        let token = token::write(mint_url, unit, proofs).map_err(|_| wrong("its address cannot be written"))?;
        Ok(Ending::Token(token))
    }

    /// Commits the end of a job: `kept` joins the balance, own inputs leave it.
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
        let add = kept.iter().map(|proof| own_proof::row(mint_url, unit, proof)).collect::<Result<_, _>>()?;
        if let (Some(auth), Ok(mint)) = (job.auth(), MintAddress::parse(mint_url)) {
            self.tokens.keep(&mint, auth).await;
        }
        edge!("tickets-before-end");
        let ended = self.advance(job, Stage::Ended(ending), |commit| {
            commit.add = add;
            commit.remove_reserved = own_inputs;
        });
        let job = ended.await.inspect_err(|_| entry.withdraw_promise())?;
        edge!("tickets-after-end");
        Ok(Attempt::Changed(job))
    }

    /// Prepares new outputs in the same job: the mint has retired the keyset, or has signed the old outputs for another request
    /// and nothing for this one, and the inputs are unspent. The fee may have changed.
    async fn swap_anew(&self, job: &Job, swapping: &Swapping, mint: &Mint) -> Result<Attempt, AttemptError> {
        let list = mint.keysets.list(self.clock.monotonic(), FRESH).await?;
        let rest = token::sum(&swapping.inputs).saturating_sub(fee(&list, &swapping.inputs));
        let old = swapping.outputs.totals();
        let handed_out = old.iter().find(|(_, owner)| *owner == Owner::Holder).map_or(0, |(total, _)| *total);
        let totals = match (job.record.kind, swapping.own_inputs) {
            // The caller gets the amount as requested; only the change varies.
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
        let (info, keys) = self.keyset_for_outputs(mint, &swapping.unit).await.map_err(no_new_outputs)?;
        let prepared = self.prepare(mint, &info, &keys, &totals, swapping.auth.as_ref()).await;
        let (outputs, counter) = prepared.map_err(no_new_outputs)?;
        let stage = Stage::Swapping(Box::new(Swapping { outputs, ..swapping.clone() }));
        self.replace_outputs(job, stage, counter).await
    }
}

/// Converts a failure to prepare new outputs: the job is tried again when the mint or the store works again.
pub(crate) fn no_new_outputs(refusal: Refusal) -> AttemptError {
    match refusal {
        Refusal::Failure(failure) => wrong(&format!("no new outputs: {failure:?}")).into(),
        Refusal::Store(_) | Refusal::Overloaded => AttemptError::Stale,
        other => AttemptError::Refused(other),
    }
}
