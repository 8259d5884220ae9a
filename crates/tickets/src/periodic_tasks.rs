//! Periodic maintenance: removes finished jobs, checks proofs that are set aside, consolidates small proofs, and swaps own
//! proofs out of keysets that are retired or expire soon.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use cashu::{KeySetInfo, Proof};
use usher_engine::UnixMillis;
use usher_engine::ports::{TicketError, TicketJobId};

use crate::job_creation::MAX_INPUTS;
use crate::job_failure::{Failure, Refusal};
use crate::job_runtime::{AttemptError, Core};
use crate::keysets::{EXPIRY_NOTICE, FRESH, fee};
use crate::mints::Mint;
use crate::own_proof;
use crate::stored_job::{RenewTerms, Terms};
use crate::token;

/// The longest time from the start to the first maintenance, so that frequent restarts do not prevent it.
const LONGEST_FIRST_PAUSE: Duration = Duration::from_secs(60);

/// Finished jobs removed per query.
const JOBS_REMOVED_AT_ONCE: usize = 500;

/// Most proofs of a mint and unit read per maintenance.
const MAX_PROOFS_READ: usize = 5000;

/// Number of own proofs of one mint and unit from which on the smallest are consolidated. Each withdrawal reads up to 500.
const CONSOLIDATED_FROM: usize = 400;

/// Proofs swapped per request: mints limit the number of inputs, and signatures take memory.
const PROOFS_SWAPPED_AT_ONCE: usize = 250;

impl Core {
    pub(crate) async fn maintain(self: &Arc<Self>) {
        let mut pause = LONGEST_FIRST_PAUSE.min(self.options.maintenance_interval);
        let (begun_at, began) = (self.now(), self.clock.monotonic());
        loop {
            tokio::select! {
                () = self.clock.sleep(pause) => {}
                () = self.closing.cancelled() => return,
            }
            pause = self.options.maintenance_interval;
            // A wall clock that leaps makes no job old: its token may not have been fetched yet.
            let passed = self.clock.monotonic().saturating_sub(began);
            self.remove_finished(self.now().min(begun_at.plus(passed))).await;
            tokio::select! {
                () = async {
                    self.maintain_set_aside().await;
                    self.renew_all().await;
                } => {}
                () = self.closing.cancelled() => return,
            }
        }
    }

    async fn remove_finished(&self, now: UnixMillis) {
        let before = now.minus(self.options.retention);
        loop {
            match self.store.remove_ticket_jobs(before, JOBS_REMOVED_AT_ONCE).await {
                Ok(removed) if removed < JOBS_REMOVED_AT_ONCE => return,
                Ok(_) if self.closing.is_cancelled() => return,
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "finished ticket jobs could not be removed; retrying later");
                    return;
                }
            }
        }
    }

    pub(crate) async fn renew_all(self: &Arc<Self>) {
        let balances = match self.store.ticket_balances().await {
            Ok(balances) => balances,
            Err(error) => {
                tracing::warn!(%error, "the balances of the ticket wallet cannot be read");
                return;
            }
        };
        for balance in balances.into_iter().filter(|balance| balance.amount > 0) {
            let Ok(mint) = self.mints.get(&balance.mint_url) else { continue };
            if let Err(error) = self.renew(&mint, &balance.unit).await {
                let (mint, unit) = (&balance.mint_url, &balance.unit);
                tracing::warn!(mint, unit, %error, "tickets of the wallet could not be renewed; retrying later");
            }
        }
    }

    pub(crate) async fn renew(self: &Arc<Self>, mint: &Arc<Mint>, unit: &str) -> Result<(), TicketError> {
        let list = mint.keysets.list(self.clock.monotonic(), FRESH).await.map_err(Refusal::from)?;
        let soon = self.now().secs().saturating_add(EXPIRY_NOTICE.as_secs());
        let stored = self.store.free_proofs(mint.address.as_str(), unit, MAX_PROOFS_READ).await?;
        let proofs = stored.iter().map(own_proof::read).collect::<Result<Vec<_>, _>>()?;
        let expires = |info: &KeySetInfo| info.final_expiry.is_some_and(|at| at != 0 && at < soon);
        let infos: HashMap<_, _> = list.iter().map(|info| (info.id, info)).collect();
        let is_retired = |proof: &Proof| infos.get(&proof.keyset_id).is_some_and(|info| !info.active || expires(info));
        let (retired, current): (Vec<_>, Vec<_>) = proofs.into_iter().partition(is_retired);
        let active = mint.keysets.active(unit, self.clock.monotonic(), self.now().secs()).await;
        let active = active.map_err(Refusal::from)?;
        let has_proofs = !current.is_empty() || !retired.is_empty();
        if has_proofs && expires(&active) {
            tracing::warn!(
                mint = %mint.address, unit, expires_at = active.final_expiry,
                "the mint's only keyset expires soon: spend its tickets before, they cannot be renewed",
            );
        } else {
            for part in retired.chunks(PROOFS_SWAPPED_AT_ONCE) {
                self.renew_these(mint, unit, &list, part.to_vec()).await?;
            }
        }
        let mut count = current.len();
        for part in current.chunks(PROOFS_SWAPPED_AT_ONCE) {
            if count < CONSOLIDATED_FROM {
                break;
            }
            count = count.saturating_sub(part.len());
            self.renew_these(mint, unit, &list, part.to_vec()).await?;
        }
        Ok(())
    }

    /// Swaps the smallest proofs for fewer, larger ones.
    pub(crate) async fn consolidate(self: &Arc<Self>, mint: &Arc<Mint>, unit: &str) -> Result<(), AttemptError> {
        let list = mint.keysets.list(self.clock.monotonic(), FRESH).await.map_err(Refusal::from)?;
        let stored = self.store.free_proofs(mint.address.as_str(), unit, MAX_INPUTS).await.map_err(Refusal::from)?;
        let proofs = stored.iter().map(own_proof::read).collect::<Result<Vec<_>, _>>().map_err(Refusal::from)?;
        match self.renew_these(mint, unit, &list, proofs).await {
            Ok(()) => Ok(()),
            Err(TicketError::TimedOut) => Err(Refusal::Failure(Failure::TimedOut).into()),
            Err(error) => Err(Refusal::Failure(Failure::Unreachable(error.to_string())).into()),
        }
    }

    async fn renew_these(
        self: &Arc<Self>,
        mint: &Arc<Mint>,
        unit: &str,
        list: &[KeySetInfo],
        proofs: Vec<Proof>,
    ) -> Result<(), TicketError> {
        if proofs.is_empty() || token::sum(&proofs) <= fee(list, &proofs) {
            return Ok(());
        }
        // Concurrent renewals of the same proofs share one job.
        let mut secrets = Vec::new();
        for proof in &proofs {
            secrets.extend_from_slice(proof.secret.as_bytes());
            secrets.push(0);
        }
        let id = TicketJobId::derive("renew", &secrets);
        let terms = RenewTerms { mint_url: mint.address.as_str().to_owned(), unit: unit.to_owned(), proofs };
        self.submit(id, Terms::Renew(terms), None).await?;
        Ok(())
    }
}
