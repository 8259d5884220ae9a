//! Own proofs that a mint reports as spent although the wallet has not spent them.
//!
//! The report alone never deletes them. The transaction that ends their job sets them aside, out of the balance. The
//! maintenance and `usher tickets check` query their mints again and return unspent proofs to the balance.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cashu::{PublicKey, State};
use usher_engine::ports::{ProofId, StoreError, StoredProof, TicketBalance};

use crate::CashuWallet;
use crate::attempt_history::Attempt;
use crate::job_creation::ids;
use crate::job_failure::Failure;
use crate::job_runtime::{AttemptError, Core, edge};
use crate::stored_job::{Job, Swapping};

/// Most proofs in a request.
const AT_ONCE: usize = 300;

/// The result of checking the proofs that are set aside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetAsideCheck {
    /// Amounts returned to the balance, by mint and unit.
    pub returned: Vec<TicketBalance>,
    /// The balances that still have proofs set aside.
    pub set_aside: Vec<TicketBalance>,
    /// The mints that did not respond.
    pub not_asked: Vec<String>,
}

impl CashuWallet {
    /// Queries the state of all proofs that are set aside, and returns the unspent ones to the balance. Does not require
    /// [`start`](Self::start).
    pub async fn check_set_aside(&self) -> Result<SetAsideCheck, StoreError> {
        let mut check = self.core.check_set_aside().await?;
        check.set_aside = self.core.store.ticket_balances().await?;
        check.set_aside.retain(|balance| balance.set_aside > 0);
        Ok(check)
    }
}

impl Core {
    /// Ends a job some of whose own inputs the mint reports as spent, though not by this job: sets those aside and releases the
    /// others.
    pub(crate) async fn set_aside(
        &self,
        job: &Job,
        swapping: &Swapping,
        spent: Vec<ProofId>,
    ) -> Result<Attempt, AttemptError> {
        let inputs = ids(swapping)?;
        let amounts = inputs.iter().zip(&swapping.inputs).filter(|(id, _)| spent.contains(id));
        let amount = amounts.map(|(_, proof)| u64::from(proof.amount)).fold(0, u64::saturating_add);
        tracing::error!(
            mint = swapping.mint_url,
            unit = swapping.unit,
            amount,
            "the mint says that proofs of the ticket wallet are spent, which the wallet has not spent; they are set aside",
        );
        let reason = "it says that some of the service's own tickets are spent, which the service has not spent; they are \
                      set aside, try again";
        edge!("tickets-before-set-aside");
        let failed = self.fail_with(job, Failure::Refused(reason.to_owned()), true, spent).await?;
        edge!("tickets-after-set-aside");
        Ok(failed)
    }

    pub(crate) async fn check_set_aside(&self) -> Result<SetAsideCheck, StoreError> {
        let mut not_asked = BTreeSet::new();
        let mut returned = BTreeMap::<_, u64>::new();
        let mut after = None;
        loop {
            let page = self.store.set_aside_proofs(after, AT_ONCE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.id);
            let mut by_mint = BTreeMap::<_, Vec<_>>::new();
            for proof in page {
                by_mint.entry(proof.mint_url.clone()).or_default().push(proof);
            }
            for (mint_url, proofs) in by_mint {
                if not_asked.contains(&mint_url) {
                    continue;
                }
                match self.return_unspent(&mint_url, proofs).await {
                    Ok(proofs) => {
                        for proof in proofs {
                            let sum = returned.entry((proof.mint_url, proof.unit)).or_default();
                            *sum = sum.saturating_add(proof.amount);
                        }
                    }
                    Err(_) => {
                        not_asked.insert(mint_url);
                    }
                }
            }
        }
        let balance = |((mint_url, unit), amount)| TicketBalance { mint_url, unit, amount, set_aside: 0 };
        let returned: Vec<_> = returned.into_iter().map(balance).collect();
        for TicketBalance { mint_url, unit, amount, .. } in &returned {
            tracing::info!(mint = mint_url, unit, amount, "proofs that were set aside are unspent: they are back");
        }
        Ok(SetAsideCheck { returned, set_aside: Vec::new(), not_asked: not_asked.into_iter().collect() })
    }

    /// Returns those of a mint's proofs to the balance that it reports as unspent.
    async fn return_unspent(&self, mint_url: &str, proofs: Vec<StoredProof>) -> Result<Vec<StoredProof>, AttemptError> {
        let mint = self.mints.get(mint_url)?;
        let ys = proofs.iter().map(|proof| PublicKey::from_slice(&proof.id.0)).collect::<Result<Vec<_>, _>>();
        let ys = ys.map_err(|_| StoreError::Unreadable("the point of a proof of the ticket wallet"))?;
        let auth = self.tokens.of(&mint.address).await;
        let states = mint.client.check_state(ys, auth.as_ref()).await?;
        let unspent = proofs.into_iter().zip(states).filter(|(_, state)| state.state == State::Unspent);
        let unspent: Vec<_> = unspent.map(|(proof, _)| proof).collect();
        if !unspent.is_empty() {
            let ids: Vec<_> = unspent.iter().map(|proof| proof.id).collect();
            edge!("tickets-before-return");
            self.store.return_set_aside(&ids).await?;
            edge!("tickets-after-return");
        }
        Ok(unspent)
    }

    /// [`Self::check_set_aside`] for the maintenance, which repeats it after a failure.
    pub(crate) async fn maintain_set_aside(self: &Arc<Self>) {
        match self.check_set_aside().await {
            Ok(check) if check.not_asked.is_empty() => {}
            Ok(check) => tracing::debug!(mints = check.not_asked.len(), "mints were not asked about what is set aside"),
            Err(error) => tracing::warn!(%error, "what the ticket wallet has set aside cannot be read"),
        }
    }
}
