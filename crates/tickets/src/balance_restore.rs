//! Restores the balance at a mint from the service's key (NUT-09, NUT-13).

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use cashu::{KeySetInfo, Proof, State};
use usher_engine::ports::{CounterAdvance, MintAuthToken, StoreError, TicketError, TicketJobId};

use crate::CashuWallet;
use crate::attempt_history::wrong;
use crate::job_failure::Refusal;
use crate::job_runtime::{AttemptError, Core, blocking};
use crate::keysets::FRESH;
use crate::mint_address::{MintAddress, normal_unit};
use crate::mint_error::MintError;
use crate::mint_seeds::{MintSeeds, Owner};
use crate::mints::Mint;
use crate::outputs::Outputs;
use crate::signatures::in_order;
use crate::stored_job::{Ending, Job, Kind, Record, Stage, plain_commit};
use crate::{own_proof, token};

const BATCH: u32 = 100;

/// The restore of a keyset ends after this many batches without a signature, as in other wallets.
const EMPTY_BATCHES: u32 = 3;

/// Most counters of a keyset.
const MAX_COUNTERS: u32 = 100_000;

/// Which secrets a restore looks for. They are derived from the service's key and the address under which it used the mint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SecretsOf {
    /// The secrets for the mint's present address.
    #[default]
    ThisAddress,
    /// The secrets for an earlier address of the mint. The operator must be sure that it is the same mint: a different one
    /// would learn the secrets of the first one's tickets.
    FormerAddress(String),
    /// The secrets of development builds before 0.1.0, which were the same at all mints. The operator must be sure that the
    /// tickets are of this mint.
    AnyAddress,
}

/// What was restored in one unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoredTickets {
    /// The unit.
    pub unit: String,
    /// The amount added to the balance, in the unit, without proofs that the database had already.
    pub amount: u64,
    /// The number of proofs added.
    pub proofs: usize,
    /// The value of pending proofs. A keyset with pending proofs is not restored, so that the restore can be repeated later.
    pub pending: u64,
    /// The number of signed proofs of tokens that were handed out. They belong to their holders and are not restored.
    pub handed_out: usize,
}

/// Why a restore failed.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// Jobs at this mint are unfinished. They may add the same proofs themselves.
    #[error(
        "the ticket wallet has unfinished jobs at this mint: start the service, and restore when they have finished \
         (usher_ticket_jobs_unfinished)"
    )]
    Unfinished,
    /// Another process changed the database at the same time.
    #[error("the record of this mint was changed meanwhile; try again")]
    Changed,
    /// The mint or the store failed. Keysets restored before stay restored; a repeated restore continues.
    #[error(transparent)]
    Ticket(#[from] TicketError),
}

impl From<AttemptError> for RestoreError {
    fn from(halt: AttemptError) -> Self {
        Self::Ticket(match halt {
            AttemptError::Mint(error) => Refusal::from(error).into(),
            AttemptError::Refused(refusal) => refusal.into(),
            AttemptError::Stale => TicketError::Store(StoreError::Unreadable("the ticket wallet's records")),
            AttemptError::Stopped => TicketError::TimedOut,
        })
    }
}

impl From<MintError> for RestoreError {
    fn from(error: MintError) -> Self {
        AttemptError::from(error).into()
    }
}

impl From<Refusal> for RestoreError {
    fn from(refusal: Refusal) -> Self {
        AttemptError::from(refusal).into()
    }
}

impl From<StoreError> for RestoreError {
    fn from(error: StoreError) -> Self {
        Self::Ticket(error.into())
    }
}

impl CashuWallet {
    /// Restores the wallet's own balance at this mint, in all units, from the service's key: for `usher tickets restore
    /// <mint>`, after a loss of the database or with an old copy of it. It can be repeated, does not require
    /// [`start`](Self::start), and is refused while a job at this mint is unfinished.
    ///
    /// For each keyset it takes two requests per 100 used counters, and six more.
    pub async fn restore(
        &self,
        mint_url: &str,
        secrets: &SecretsOf,
        auth: Option<&MintAuthToken>,
    ) -> Result<Vec<RestoredTickets>, RestoreError> {
        let core = &self.core;
        let mint = core.mints.get(mint_url)?;
        let seeds = Arc::new(match secrets {
            SecretsOf::ThisAddress => core.seeds.of(&mint.address),
            SecretsOf::FormerAddress(former) => core.seeds.of(&core.mints.check(former)?),
            SecretsOf::AnyAddress => core.seeds.of_any_mint(),
        });
        let list = mint.keysets.list(core.clock.monotonic(), FRESH).await?;
        let _preparing = mint.preparing.lock().await;
        core.check_that_jobs_have_finished(&mint).await?;
        mint.keysets.support().await?;
        let mut seen = HashSet::new();
        let mut restored = BTreeMap::new();
        for info in list.iter().filter(|info| seen.insert(info.id)) {
            let unit = normal_unit(&info.unit.to_string());
            let of_unit = restored.entry(unit.clone()).or_insert(RestoredTickets { unit, ..Default::default() });
            let of_keyset = RestoredKeyset { mint: &mint, info, auth, seeds: Arc::clone(&seeds) };
            core.restore_keyset(&of_keyset, *secrets == SecretsOf::ThisAddress, of_unit).await?;
        }
        if let Some(auth) = auth {
            core.tokens.keep(&mint.address, auth).await;
        }
        Ok(restored.into_values().collect())
    }
}

struct RestoredKeyset<'a> {
    mint: &'a Mint,
    info: &'a KeySetInfo,
    auth: Option<&'a MintAuthToken>,
    seeds: Arc<MintSeeds>,
}

impl Core {
    async fn check_that_jobs_have_finished(&self, mint: &Mint) -> Result<(), RestoreError> {
        let mut after = None;
        loop {
            let page = self.store.unfinished_ticket_jobs(after, 256).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(*last);
            for id in page {
                let job = self.store.ticket_job(id).await?.as_ref().map(Job::read).transpose()?;
                if job.is_some_and(|job| job.mint_url().is_some_and(|url| is_address(url, mint))) {
                    return Err(RestoreError::Unfinished);
                }
            }
        }
    }

    /// Restores the missing proofs of one keyset. `are_counters`: the seeds are those in use, so the stored counter advances.
    async fn restore_keyset(
        &self,
        of: &RestoredKeyset<'_>,
        are_counters: bool,
        restored: &mut RestoredTickets,
    ) -> Result<(), RestoreError> {
        let RestoredKeyset { mint, info, auth, .. } = of;
        let mint_url = mint.address.as_str().to_owned();
        let used = self.store.ticket_counter(&mint_url, &info.id.to_string()).await?;
        let keys = mint.keysets.keys(info).await?;
        let mut rows = Vec::new();
        let mut pending = 0_u64;
        let (mut next, mut from, mut empty) = (used, 0, 0);
        loop {
            // Up to the stored counter, signatures may follow any gap.
            let may_have_more = empty < EMPTY_BATCHES || (are_counters && from < used);
            if !may_have_more || from >= MAX_COUNTERS {
                break;
            }
            let to = from + BATCH;
            let own = self.signed_outputs(of, from, to, Owner::Wallet).await?;
            let others = self.signed_outputs(of, from, to, Owner::Holder).await?;
            empty = if own.is_empty() && others.is_empty() { empty + 1 } else { 0 };
            let last = own.last_counter(from).max(others.last_counter(from));
            if let Some(last) = last.filter(|_| are_counters) {
                next = next.max(last + 1);
            }
            restored.handed_out += others.signatures.len();
            from = to;
            if own.is_empty() {
                continue;
            }
            let keys = Arc::clone(&keys);
            let work = move || Ok(own.outputs.unblind(own.signatures, &keys));
            let proofs = blocking(work).await.map_err(|error| wrong(&error.to_string()))?.map_err(wrong)?;
            let proofs = self.missing(proofs.into_iter().map(|(_, proof)| proof).collect()).await?;
            let ys = proofs.iter().map(Proof::y).collect::<Result<Vec<_>, _>>();
            let ys = ys.map_err(|_| wrong("a restored proof has no point"))?;
            if ys.is_empty() {
                continue;
            }
            let states = mint.client.check_state(ys, *auth).await?;
            for (proof, state) in proofs.iter().zip(states) {
                match state.state {
                    State::Unspent | State::Reserved => {
                        rows.push(own_proof::row(&mint_url, &restored.unit, proof)?);
                    }
                    State::Pending | State::PendingSpent => {
                        pending = pending.saturating_add(proof.amount.into());
                    }
                    State::Spent => {}
                }
            }
        }
        restored.pending = restored.pending.saturating_add(pending);
        if pending > 0 || (rows.is_empty() && next == used) {
            return Ok(());
        }
        let amount = rows.iter().map(|row| row.amount).fold(0, u64::saturating_add);
        let stage = Stage::Ended(Ending::Amount(amount));
        let record = Record { kind: Kind::Restore, fingerprint: String::new(), stage };
        let id = restore_id(&mint_url, info);
        let revision = self.store.ticket_job(id).await?.map_or(0, |job| job.revision);
        let mut commit = plain_commit(id, revision, self.now(), &record)?;
        commit.counter = Some(CounterAdvance { mint_url, keyset: info.id.to_string(), from: used, to: next });
        let proofs = rows.len();
        commit.add = rows;
        match self.commit(commit).await? {
            Ok(_) => {
                restored.amount = restored.amount.saturating_add(amount);
                restored.proofs += proofs;
                Ok(())
            }
            Err(_) => Err(RestoreError::Changed),
        }
    }

    async fn missing(&self, proofs: Vec<Proof>) -> Result<Vec<Proof>, RestoreError> {
        let id = |proof: &Proof| proof.y().map(|y| token::proof_id(&y)).map_err(|_| wrong("a proof has no point"));
        let ids = proofs.iter().map(id).collect::<Result<Vec<_>, _>>()?;
        let stored: HashSet<_> = self.store.proofs(&ids).await?.into_iter().map(|stored| stored.id).collect();
        let missing = ids.iter().zip(proofs).filter(|(id, _)| !stored.contains(id));
        Ok(missing.map(|(_, proof)| proof).collect())
    }

    /// The outputs of these counters that the mint has signed, with the signatures.
    async fn signed_outputs(
        &self,
        of: &RestoredKeyset<'_>,
        from: u32,
        to: u32,
        owner: Owner,
    ) -> Result<SignedOutputs, RestoreError> {
        let (seeds, id) = (Arc::clone(&of.seeds), of.info.id);
        let outputs = blocking(move || Outputs::unknown(&seeds, id, from, to, owner)).await.map_err(Refusal::from)?;
        let blinded = self.blinded(&outputs).await?;
        let restored = of.mint.client.restore(blinded.clone(), of.auth).await?;
        let signatures = in_order(&blinded, restored);
        let positions: Vec<usize> =
            signatures.iter().enumerate().filter(|(_, found)| found.is_some()).map(|(position, _)| position).collect();
        let last = positions.last().and_then(|last| u32::try_from(*last).ok());
        let signatures = signatures.into_iter().flatten().collect();
        Ok(SignedOutputs { outputs: outputs.only(&positions), signatures, last })
    }
}

struct SignedOutputs {
    outputs: Outputs,
    signatures: Vec<cashu::BlindSignature>,
    /// The position of the last one in the batch.
    last: Option<u32>,
}

impl SignedOutputs {
    fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    fn last_counter(&self, from: u32) -> Option<u32> {
        self.last.map(|last| from + last)
    }
}

/// Whether a stored address, in the caller's spelling, is that of this mint.
fn is_address(stored: &str, mint: &Mint) -> bool {
    MintAddress::parse(stored).is_ok_and(|stored| stored == mint.address)
}

/// The id of the job that records the restore of a keyset.
fn restore_id(mint_url: &str, info: &KeySetInfo) -> TicketJobId {
    TicketJobId::derive("restore", format!("{mint_url}\0{}", info.id).as_bytes())
}
