//! Restoring the balance at a mint with the service's key alone (NUT-09, NUT-13).

use std::collections::{BTreeMap, HashMap};

use cashu::{KeySetInfo, Proof, State};
use usher_engine::ports::{CounterAdvance, MintAuthToken, StoreError, TicketError, TicketJobId};

use crate::CashuWallet;
use crate::core::{Core, Halt, blocking};
use crate::drive::wrong;
use crate::failure::Refusal;
use crate::job::{Ending, Job, Kind, Record, Stage, plain_commit};
use crate::keysets::FRESH;
use crate::mint_error::MintError;
use crate::mints::Mint;
use crate::outputs::Outputs;
use crate::own_proof;
use crate::seed::Owner;

/// How many counters are looked at with one request. Each has two outputs: one of each seed.
const BATCH: u32 = 100;

/// After so many batches without a signature there are no more (as other wallets do it).
const EMPTY_BATCHES: u32 = 3;

/// Most counters of a keyset that are looked at.
const MAX_COUNTERS: u32 = 100_000;

/// What was restored in one unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoredTickets {
    /// The unit.
    pub unit: String,
    /// What joined the balance, in the unit.
    pub amount: u64,
    /// How many proofs that are.
    pub proofs: usize,
    /// The value of proofs that the mint reports as pending. While a keyset has any, nothing of it is restored, so that the
    /// restore can be repeated when the mint has decided.
    pub pending: u64,
    /// How many proofs of tokens that were handed out the mint has signed. They belong to those who hold them, and are not
    /// restored.
    pub handed_out: usize,
}

/// Why nothing was restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The record of this mint is in use. A restore would bring back proofs that were spent or handed out meanwhile.
    #[error(
        "the ticket wallet has used this mint before ({0}); a restore is only possible into an empty record, \
         for example after the database was lost"
    )]
    InUse(&'static str),
    /// The mint or the store failed. What was restored of other keysets until then stays; a repeated restore continues.
    #[error(transparent)]
    Ticket(#[from] TicketError),
}

impl From<Halt> for RestoreError {
    fn from(halt: Halt) -> Self {
        Self::Ticket(match halt {
            Halt::Mint(error) => Refusal::from(error).into(),
            Halt::Refused(refusal) => refusal.into(),
            Halt::Stale => TicketError::Store(StoreError::Unreadable("the ticket wallet's records")),
            Halt::Stopped => TicketError::TimedOut,
        })
    }
}

impl From<MintError> for RestoreError {
    fn from(error: MintError) -> Self {
        Halt::from(error).into()
    }
}

impl From<Refusal> for RestoreError {
    fn from(refusal: Refusal) -> Self {
        Halt::from(refusal).into()
    }
}

impl From<StoreError> for RestoreError {
    fn from(error: StoreError) -> Self {
        Self::Ticket(error.into())
    }
}

impl CashuWallet {
    /// Restores the wallet's own balance at this mint, in all units, from the service's key: for `usher tickets restore
    /// <mint>`, after the database was lost.
    ///
    /// The record of this mint must be empty: no counter used, no proof, no unfinished job. It takes one request for each
    /// 100 counters that were used, and three more, for each keyset of the mint. If it is interrupted, it can be repeated,
    /// and continues with the keysets that are left. The wallet need not be [started](Self::start).
    ///
    /// Tokens that were handed out are not restored: they belong to those who hold them.
    ///
    /// # Errors
    /// [`RestoreError`].
    pub async fn restore(
        &self,
        mint_url: &str,
        auth: Option<&MintAuthToken>,
    ) -> Result<Vec<RestoredTickets>, RestoreError> {
        let core = &self.core;
        let mint = core.mints.get(mint_url)?;
        let list = mint.keysets.list(core.clock.monotonic(), FRESH).await?;
        let _preparing = mint.preparing.lock().await;
        let left = core.keysets_to_restore(&mint, &list).await?;
        mint.keysets.support().await?;
        let mut restored = BTreeMap::new();
        for info in left {
            let unit = info.unit.to_string();
            let of_unit = restored.entry(unit.clone()).or_insert(RestoredTickets { unit, ..Default::default() });
            core.restore_keyset(&mint, &info, auth, of_unit).await?;
        }
        if let Some(auth) = auth {
            core.tokens.keep(&mint.address, auth).await;
        }
        Ok(restored.into_values().collect())
    }
}

impl Core {
    /// The keysets that were not restored yet.
    async fn keysets_to_restore(&self, mint: &Mint, list: &[KeySetInfo]) -> Result<Vec<KeySetInfo>, RestoreError> {
        let mint_url = mint.address.as_str();
        let mut after = None;
        loop {
            let page = self.store.unfinished_ticket_jobs(after, 256).await?;
            let Some(last) = page.last() else { break };
            after = Some(*last);
            for id in page {
                let job = self.store.ticket_job(id).await?.as_ref().map(Job::read).transpose()?;
                if job.is_some_and(|job| job.mint_url().is_some_and(|url| url == mint_url)) {
                    return Err(RestoreError::InUse("it has unfinished jobs"));
                }
            }
        }
        let mut left: Vec<KeySetInfo> = Vec::new();
        let mut is_continued = false;
        for info in list {
            if self.store.ticket_job(restore_id(mint_url, info)).await?.is_some() {
                is_continued = true;
            } else if self.store.ticket_counter(mint_url, &info.id.to_string()).await? > 0 {
                return Err(RestoreError::InUse("counters of its keysets are used"));
            } else if left.iter().all(|other| other.id != info.id) {
                left.push(info.clone());
            }
        }
        if !is_continued && self.store.ticket_balances().await?.iter().any(|balance| balance.mint_url == mint_url) {
            return Err(RestoreError::InUse("there is a balance"));
        }
        Ok(left)
    }

    async fn restore_keyset(
        &self,
        mint: &Mint,
        info: &KeySetInfo,
        auth: Option<&MintAuthToken>,
        restored: &mut RestoredTickets,
    ) -> Result<(), RestoreError> {
        let keys = mint.keysets.keys(info).await?;
        let mut rows = Vec::new();
        let mut pending = 0_u64;
        let (mut next, mut from, mut empty) = (0, 0, 0);
        while empty < EMPTY_BATCHES && from < MAX_COUNTERS {
            let to = from + BATCH;
            let own = self.signed_outputs(mint, info, from, to, Owner::Wallet, auth).await?;
            let others = self.signed_outputs(mint, info, from, to, Owner::Holder, auth).await?;
            empty = if own.is_empty() && others.is_empty() { empty + 1 } else { 0 };
            next = own.last_counter(from).max(others.last_counter(from)).map_or(next, |last| last + 1);
            restored.handed_out += others.signatures.len();
            from = to;
            if own.is_empty() {
                continue;
            }
            let keys = std::sync::Arc::clone(&keys);
            let work = move || Ok(own.outputs.unblind(own.signatures, &keys));
            let proofs = blocking(work).await.map_err(|error| wrong(&error.to_string()))?.map_err(wrong)?;
            let proofs: Vec<Proof> = proofs.into_iter().map(|(_, proof)| proof).collect();
            let ys = proofs.iter().map(Proof::y).collect::<Result<Vec<_>, _>>();
            let ys = ys.map_err(|_| wrong("a restored proof has no point"))?;
            let states = mint.client.check_state(ys, auth).await?;
            for (proof, state) in proofs.iter().zip(states) {
                match state.state {
                    State::Unspent | State::Reserved => {
                        rows.push(own_proof::row(mint.address.as_str(), &restored.unit, proof)?);
                    }
                    State::Pending | State::PendingSpent => {
                        pending = pending.saturating_add(proof.amount.into());
                    }
                    State::Spent => {}
                }
            }
        }
        restored.pending = restored.pending.saturating_add(pending);
        if next == 0 || pending > 0 {
            return Ok(());
        }
        let amount = rows.iter().map(|row| row.amount).fold(0, u64::saturating_add);
        let stage = Stage::Ended(Ending::Amount(amount));
        let record = Record { kind: Kind::Restore, fingerprint: String::new(), stage };
        let mint_url = mint.address.as_str().to_owned();
        let mut commit = plain_commit(restore_id(&mint_url, info), 0, self.now(), &record)?;
        commit.counter = Some(CounterAdvance { mint_url, keyset: info.id.to_string(), from: 0, to: next });
        let proofs = rows.len();
        commit.add = rows;
        match self.commit(commit).await? {
            Ok(_) => {
                restored.amount = restored.amount.saturating_add(amount);
                restored.proofs += proofs;
                Ok(())
            }
            Err(_) => Err(RestoreError::InUse("it was used meanwhile")),
        }
    }

    /// Whether the mint has signed outputs of the first counters of a keyset: then this key was used with it before. Looked
    /// at before a keyset's first use: the same outputs again would be tokens that others hold already, and after it the
    /// balance could not be restored any more.
    pub(crate) async fn is_used(
        &self,
        mint: &Mint,
        info: &KeySetInfo,
        auth: Option<&MintAuthToken>,
    ) -> Result<bool, Refusal> {
        for owner in [Owner::Wallet, Owner::Holder] {
            let (seeds, id) = (std::sync::Arc::clone(&self.seeds), info.id);
            let blinded = blocking(move || Outputs::unknown(&seeds, id, 0, BATCH, owner)?.blinded()).await?;
            if !mint.client.restore(blinded, auth).await?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Which outputs of these counters the mint has signed, with its signatures.
    async fn signed_outputs(
        &self,
        mint: &Mint,
        info: &KeySetInfo,
        from: u32,
        to: u32,
        owner: Owner,
        auth: Option<&MintAuthToken>,
    ) -> Result<SignedOutputs, RestoreError> {
        let (seeds, id) = (std::sync::Arc::clone(&self.seeds), info.id);
        let outputs = blocking(move || Outputs::unknown(&seeds, id, from, to, owner)).await.map_err(Refusal::from)?;
        let blinded = self.blinded(&outputs).await?;
        let restored = mint.client.restore(blinded.clone(), auth).await?;
        let mut signed: HashMap<_, _> =
            restored.into_iter().map(|(output, signature)| (output.blinded_secret.to_bytes(), signature)).collect();
        let signatures: Vec<_> =
            blinded.iter().map(|output| signed.remove(&output.blinded_secret.to_bytes())).collect();
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
    /// The position of the last one in its batch.
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

/// The job that records the restore of a keyset.
fn restore_id(mint_url: &str, info: &KeySetInfo) -> TicketJobId {
    TicketJobId::derive("restore", format!("{mint_url}\0{}", info.id).as_bytes())
}
