//! The first step of a job that receives a token: redeem, verify.

use std::sync::Arc;

use cashu::{Keys, Proof};
use usher_engine::ports::{ProofId, ReceiveTerms, TicketConflict, TicketJobId, TokenFault, TokenState};

use crate::attempt_history::stale;
use crate::job_creation::{FirstStep, ids};
use crate::job_failure::{Failure, Refusal};
use crate::job_runtime::{AttemptError, Core, edge};
use crate::keysets::{FRESH, fee, fee_of_new, is_any_expired};
use crate::mint_address::{MintAddress, normal_unit};
use crate::mint_seeds::Owner;
use crate::mints::Mint;
use crate::outputs::OutputError;
use crate::running_jobs::Entry;
use crate::spending_conditions::unlock;
use crate::stored_job::{Ending, Job, Kind, Record, Stage, Swapping};
use crate::token::{self, ReadToken};

/// How often a step is tried again because something changed meanwhile.
const TRIES: usize = 16;

/// A token whose proofs were checked as far as that is possible without asking the mint about them.
struct Checked {
    proofs: Vec<Proof>,
    /// Whether each has a valid DLEQ proof and no spending conditions: then the mint has certainly signed it for anybody.
    is_proven: bool,
    /// Its value without the fee.
    net: u64,
}

impl Core {
    pub(crate) async fn receive(
        self: &Arc<Self>,
        entry: &Entry,
        mint: &Arc<Mint>,
        terms: &ReceiveTerms,
        expected: u64,
        record: &(dyn Fn(Stage) -> Record + Sync),
    ) -> Result<Job, AttemptError> {
        let is_verify = record(Stage::Ended(Ending::Amount(0))).kind == Kind::Verify;
        let token = read_as_wanted(terms)?;
        let checked = self.check(entry, mint, &token).await?;
        let ys = token.ys().map_err(Refusal::from)?;
        let claims: Vec<ProofId> = ys.iter().map(token::proof_id).collect();
        let own = self.store.proofs(&claims).await.map_err(Refusal::from)?;
        if !own.is_empty() {
            // Nobody else should have it. It is in the balance already.
            return Err(Refusal::Token(TokenFault::AlreadySpent).into());
        }
        is_enough(token.amount, checked.net, terms)?;
        if is_verify && checked.is_proven {
            return self.verify_as_it_is(entry, mint, terms, &claims, ys, expected, record).await;
        }
        mint.keysets.support().await.map_err(Refusal::from)?;
        self.refuse_spent(entry, mint, terms, &claims, ys.clone()).await?;
        let owner = if is_verify { Owner::Holder } else { Owner::Wallet };
        let mut claims = claims;
        if is_verify {
            claims.extend(claims.clone().into_iter().map(as_verified));
        }
        for _ in 0..TRIES {
            let (info, keys) = self.keyset_for_outputs(mint, &token.unit).await?;
            if is_verify {
                // What is handed out costs a fee of its own when it is redeemed.
                let fee = fee_of_new(checked.net, &info, &keys).map_err(Refusal::from)?;
                is_enough(token.amount, checked.net.saturating_sub(fee), terms)?;
            }
            let preparing = mint.preparing.lock().await;
            if !entry.is_awaited() {
                // Nothing is stored and nobody waits: whoever asks again starts again.
                return Err(Refusal::Failure(Failure::TimedOut).into());
            }
            let (outputs, counter) =
                self.prepare(mint, &info, &keys, vec![(checked.net, owner)], terms.auth.as_ref()).await?;
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
            let step = FirstStep { swapping, counter, claims: claims.clone(), reserve: Vec::new() };
            let committed = self.first_swap(entry.id, expected, step, record).await?;
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

    /// Refuses a token that the mint says somebody has spent, or is spending, before anything is stored for it and a counter
    /// is used. What is pending now is so because of somebody else, or of another job of ours, whose result decides.
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
        let (proofs, is_proven) =
            crate::job_runtime::blocking(work).await.map_err(Refusal::from)?.map_err(Refusal::from)?;
        // Whether a mint still redeems proofs of an expired keyset is known only when it has swapped them.
        let is_proven = is_proven && !is_any_expired(&list, &proofs, self.now().secs());
        let net = token.amount.saturating_sub(fee(&list, &proofs));
        Ok(Checked { proofs, is_proven, net })
    }

    /// Verifies a token whose proofs are all proven: only whether they are spent is left to ask.
    #[allow(clippy::too_many_arguments, reason = "one caller")]
    async fn verify_as_it_is(
        self: &Arc<Self>,
        entry: &Entry,
        mint: &Arc<Mint>,
        terms: &ReceiveTerms,
        claims: &[ProofId],
        ys: Vec<cashu::PublicKey>,
        expected: u64,
        record: &(dyn Fn(Stage) -> Record + Sync),
    ) -> Result<Job, AttemptError> {
        for claim in claims {
            // A job of ours may be swapping it.
            if let Some(other) = self.store.proof_claim(*claim).await.map_err(Refusal::from)? {
                self.wait_for_claim(other).await?;
            }
        }
        let state = self.state_once(mint, ys, terms.auth.as_ref()).await?;
        if let Some(auth) = &terms.auth {
            self.tokens.keep(&mint.address, auth).await;
        }
        unspent(state)?;
        let claims: Vec<_> = claims.iter().copied().map(as_verified).collect();
        for _ in 0..TRIES {
            edge!("tickets-before-verified");
            let record = record(Stage::Ended(Ending::Token(terms.token.clone())));
            match self.first_and_last(entry.id, expected, record, claims.clone()).await? {
                Ok(job) => return Ok(job),
                Err(TicketConflict::Claimed(other)) => self.wait_for_claim(other).await?,
                Err(conflict) => return Err(stale(conflict)),
            }
        }
        Err(Refusal::Overloaded.into())
    }

    /// Another job has claimed a proof: waits until it is decided. [`TokenFault::AlreadySpent`] if it succeeded;
    /// `TimedOut` if it takes too long.
    async fn wait_for_claim(self: &Arc<Self>, other: TicketJobId) -> Result<(), Refusal> {
        if self.is_done_by(other).await? {
            return Err(Refusal::Token(TokenFault::AlreadySpent));
        }
        Ok(())
    }
}

/// Refuses any other state.
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

/// Refuses a token of which too little is left after the mint's fees, or nothing.
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

/// Verifies DLEQ proofs (NUT-12) and signs what is locked to our key. Returns the proofs, and whether each is proven.
fn check_proofs(resolved: Vec<(Proof, Arc<Keys>)>, key: &cashu::SecretKey) -> Result<(Vec<Proof>, bool), TokenFault> {
    let mut is_proven = true;
    let mut proofs = Vec::with_capacity(resolved.len());
    for (mut proof, keys) in resolved {
        let amount_key = keys.amount_key(proof.amount).ok_or(TokenFault::Forged)?;
        if proof.dleq.is_some() {
            proof.verify_dleq(amount_key).map_err(|_| TokenFault::Forged)?;
        } else {
            is_proven = false;
        }
        if unlock(&mut proof, key)? {
            is_proven = false;
        }
        proofs.push(proof);
    }
    Ok((proofs, is_proven))
}

/// The claim by which one token is verified only once. It differs from the claim of those who spend it: a verified token
/// can still be redeemed. The first byte of a point is 2 or 3.
fn as_verified(ProofId(mut bytes): ProofId) -> ProofId {
    if let Some(first) = bytes.first_mut() {
        *first |= 0x80;
    }
    ProofId(bytes)
}
