//! Creates the jobs that receive a token: redeem and verify.

use std::sync::Arc;

use cashu::{Keys, Proof};
use usher_engine::ports::{ProofId, ReceiveTerms, TicketConflict, TicketJobId, TokenFault, TokenState};

use crate::attempt_history::stale;
use crate::job_creation::{FirstChanges, NewJob, TRIES, ids};
use crate::job_failure::{Failure, Refusal};
use crate::job_runtime::{AttemptError, Core};
use crate::keysets::{FRESH, fee, fee_of_new};
use crate::mint_address::{MintAddress, normal_unit};
use crate::mint_seeds::Owner;
use crate::mints::Mint;
use crate::outputs::OutputError;
use crate::running_jobs::Entry;
use crate::spending_conditions::unlock;
use crate::stored_job::{Job, Kind, Stage, Swapping};
use crate::token::{self, ReadToken};

/// The proofs of a token, checked as far as possible without querying their states.
struct Checked {
    proofs: Vec<Proof>,
    /// Its value without the fee.
    net: u64,
}

impl Core {
    pub(crate) async fn receive(self: &Arc<Self>, new: &NewJob<'_>, terms: &ReceiveTerms) -> Result<Job, AttemptError> {
        let NewJob { entry, mint, .. } = new;
        let is_verify = new.kind == Kind::Verify;
        let token = read_as_wanted(terms)?;
        let checked = self.check(entry, mint, &token).await?;
        let ys = token.ys().map_err(Refusal::from)?;
        let claims: Vec<ProofId> = ys.iter().map(token::proof_id).collect();
        let own = self.store.proofs(&claims).await.map_err(Refusal::from)?;
        if !own.is_empty() {
            // A proof is in the balance already.
            return Err(Refusal::Token(TokenFault::AlreadySpent).into());
        }
        is_enough(token.amount, checked.net, terms)?;
        mint.keysets.support().await.map_err(Refusal::from)?;
        self.refuse_spent(entry, mint, terms, &claims, ys.clone()).await?;
        let owner = if is_verify { Owner::Holder } else { Owner::Wallet };
        for _ in 0..TRIES {
            let (info, keys) = self.keyset_for_outputs(mint, &token.unit).await?;
            if is_verify {
                // Redeeming the new token costs another fee.
                let fee = fee_of_new(checked.net, &info, &keys).map_err(Refusal::from)?;
                if fee >= checked.net {
                    return Err(Refusal::Token(TokenFault::WorthNothing).into());
                }
            }
            let preparing = mint.preparing.lock().await;
            if !entry.is_awaited() {
                return Err(Refusal::Failure(Failure::TimedOut).into());
            }
            let (outputs, counter) =
                self.prepare(mint, &info, &keys, &[(checked.net, owner)], terms.auth.as_ref()).await?;
            let swapping = Swapping {
                mint_url: mint.address.as_str().to_owned(),
                unit: token.unit.clone(),
                auth: terms.auth.clone(),
                repeatable: true,
                own_inputs: false,
                inputs: checked.proofs.clone(),
                outputs,
                refused: false,
            };
            debug_assert_eq!(ids(&swapping).map(|ids| ids.len()).ok(), Some(ys.len()));
            let changes = FirstChanges { counter: Some(counter), claims: claims.clone(), reserve: Vec::new() };
            let committed = self.commit_first(new, Stage::Swapping(Box::new(swapping)), changes).await?;
            drop(preparing);
            match committed {
                Ok(job) => return Ok(job),
                Err(TicketConflict::Claimed(other)) => self.wait_for_claim(other).await?,
                Err(conflict @ TicketConflict::Revision) => return Err(stale(conflict)),
                Err(TicketConflict::Counter | TicketConflict::Proof | TicketConflict::Amount) => {}
            }
        }
        Err(Refusal::Overloaded.into())
    }

    /// Refuses a token that is spent or pending, before anything is stored for it and a counter is used. If another job of the
    /// wallet has claimed a proof, the result of that job decides.
    async fn refuse_spent(
        self: &Arc<Self>,
        entry: &Entry,
        mint: &Arc<Mint>,
        terms: &ReceiveTerms,
        claims: &[ProofId],
        ys: Vec<cashu::PublicKey>,
    ) -> Result<(), Refusal> {
        let state = self.state_once(mint, ys, terms.auth.as_ref()).await?;
        if state == TokenState::Unspent {
            return Ok(());
        }
        for claim in claims {
            if let Some(other) = self.store.proof_claim(*claim).await?
                && other != entry.id
            {
                self.wait_for_claim(other).await?;
            }
        }
        unspent(state)
    }

    /// Checks a token against its mint's keysets, and the DLEQ proofs that it has.
    async fn check(&self, entry: &Entry, mint: &Mint, token: &ReadToken) -> Result<Checked, AttemptError> {
        let _slot = mint.slots.acquire().await.map_err(|_| AttemptError::Stopped)?;
        if !entry.is_awaited() {
            return Err(Refusal::Failure(Failure::TimedOut).into());
        }
        let now = self.clock.monotonic();
        let resolved = mint.keysets.resolve(token, now).await.map_err(Refusal::from)?.map_err(Refusal::from)?;
        let list = mint.keysets.list(now, FRESH).await.map_err(Refusal::from)?;
        let key = self.key.clone();
        let work = move || Ok::<_, OutputError>(check_proofs(resolved, &key));
        let proofs = crate::job_runtime::blocking(work).await.map_err(Refusal::from)?.map_err(Refusal::from)?;
        let net = token.amount.saturating_sub(fee(&list, &proofs));
        Ok(Checked { proofs, net })
    }

    /// Waits for another job that has claimed a proof. [`TokenFault::AlreadySpent`] if it succeeds; `TimedOut` if it takes too
    /// long.
    async fn wait_for_claim(self: &Arc<Self>, other: TicketJobId) -> Result<(), Refusal> {
        if self.is_done_by(other).await? {
            return Err(Refusal::Token(TokenFault::AlreadySpent));
        }
        Ok(())
    }
}

fn unspent(state: TokenState) -> Result<(), Refusal> {
    match state {
        TokenState::Unspent => Ok(()),
        TokenState::Pending => Err(TokenFault::Pending.into()),
        TokenState::Spent => Err(TokenFault::AlreadySpent.into()),
    }
}

fn read_as_wanted(terms: &ReceiveTerms) -> Result<ReadToken, Refusal> {
    let token = token::read(&terms.token)?;
    let not_allowed = |reason: &str| Refusal::Failure(Failure::AddressNotAllowed(reason.to_owned()));
    if token.mint != MintAddress::parse(&terms.mint_url).map_err(not_allowed)? {
        return Err(TokenFault::OtherMint.into());
    }
    if token.unit != normal_unit(&terms.unit) {
        return Err(TokenFault::OtherUnit.into());
    }
    if token.amount < terms.at_least {
        return Err(TokenFault::TooLittle { amount: token.amount, fee: 0, at_least: terms.at_least }.into());
    }
    Ok(token)
}

/// Refuses a token of which nothing, or less than requested, is left after the mint's fees.
fn is_enough(amount: u64, left: u64, terms: &ReceiveTerms) -> Result<(), Refusal> {
    if left == 0 {
        return Err(TokenFault::WorthNothing.into());
    }
    if left < terms.at_least {
        let fee = amount.saturating_sub(left);
        return Err(TokenFault::TooLittle { amount, fee, at_least: terms.at_least }.into());
    }
    Ok(())
}

/// Verifies DLEQ proofs (NUT-12) and signs proofs that are locked to `key`.
fn check_proofs(resolved: Vec<(Proof, Arc<Keys>)>, key: &cashu::SecretKey) -> Result<Vec<Proof>, TokenFault> {
    let mut proofs = Vec::with_capacity(resolved.len());
    for (mut proof, keys) in resolved {
        let amount_key = keys.amount_key(proof.amount).ok_or(TokenFault::Forged)?;
        if proof.dleq.is_some() {
            proof.verify_dleq(amount_key).map_err(|_| TokenFault::Forged)?;
        }
        unlock(&mut proof, key)?;
        proofs.push(proof);
    }
    Ok(proofs)
}
