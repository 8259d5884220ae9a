//! The stored form of jobs.

use std::sync::Arc;

use cashu::{Proof, PublicKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use usher_engine::UnixMillis;
use usher_engine::ports::{
    MintAuthToken, MintTerms, ReceiveTerms, State, StoreError, StoredTicketJob, TicketCommit, TicketJobId, Token,
    WithdrawTerms,
};

use crate::job_failure::Failure;
use crate::outputs::Outputs;

#[derive(Clone, Debug)]
pub(crate) enum Terms {
    Mint(MintTerms),
    Redeem(ReceiveTerms),
    Verify(ReceiveTerms),
    Withdraw(WithdrawTerms),
    /// Swaps own proofs for own proofs: out of expiring keysets, or many small ones into few.
    Renew(RenewTerms),
}

#[derive(Clone, Debug)]
pub(crate) struct RenewTerms {
    pub(crate) mint_url: String,
    pub(crate) unit: String,
    pub(crate) proofs: Vec<Proof>,
}

impl Terms {
    pub(crate) fn mint_url(&self) -> &str {
        match self {
            Self::Mint(terms) => &terms.mint_url,
            Self::Redeem(terms) | Self::Verify(terms) => &terms.mint_url,
            Self::Withdraw(terms) => &terms.mint_url,
            Self::Renew(terms) => &terms.mint_url,
        }
    }

    pub(crate) const fn kind(&self) -> Kind {
        match self {
            Self::Mint(_) => Kind::Mint,
            Self::Redeem(_) => Kind::Redeem,
            Self::Verify(_) => Kind::Verify,
            Self::Withdraw(_) => Kind::Withdraw,
            Self::Renew(_) => Kind::Renew,
        }
    }

    pub(crate) fn auth(&self) -> Option<&MintAuthToken> {
        match self {
            Self::Mint(terms) => terms.auth.as_ref(),
            Self::Redeem(terms) | Self::Verify(terms) => terms.auth.as_ref(),
            Self::Withdraw(terms) => terms.auth.as_ref(),
            Self::Renew(_) => None,
        }
    }

    /// A hash of everything that must be the same when an id is used again. The auth token may change.
    pub(crate) fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |part: &str| {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        };
        match self {
            Self::Mint(terms) => {
                add("mint");
                add(&terms.mint_url);
                add(&terms.unit);
                add(&terms.amount.to_string());
                add(terms.description.as_deref().unwrap_or_default());
            }
            Self::Redeem(terms) | Self::Verify(terms) => {
                add(if matches!(self, Self::Redeem(_)) { "redeem" } else { "verify" });
                add(&terms.mint_url);
                add(&terms.unit);
                add(&terms.at_least.to_string());
                add(&terms.token.0);
            }
            Self::Withdraw(terms) => {
                add("withdraw");
                add(&terms.mint_url);
                add(&terms.unit);
                add(&terms.amount.to_string());
            }
            Self::Renew(terms) => {
                add("renew");
                add(&terms.mint_url);
                add(&terms.unit);
            }
        }
        hex::encode(hash.finalize())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Mint,
    Redeem,
    Verify,
    Withdraw,
    Renew,
    Restore,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) kind: Kind,
    /// See [`Terms::fingerprint`].
    pub(crate) fingerprint: String,
    pub(crate) stage: Stage,
}

/// The state of a job; see the crate's documentation for the transitions.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stage {
    /// A mint job that has no quote yet.
    Intent(Box<MintTerms>),
    /// A mint job with a quote and prepared outputs.
    Quoted(Box<Minting>),
    /// A swap with its inputs and prepared outputs.
    Swapping(Box<Swapping>),
    Ended(Ending),
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Minting {
    pub(crate) terms: MintTerms,
    pub(crate) quote: String,
    pub(crate) invoice: String,
    /// Unix seconds.
    pub(crate) expires_at: Option<u64>,
    /// Whether the mint ever reported the quote as unpaid: it may then have been paid with the service's money.
    pub(crate) unpaid_seen: bool,
    /// When the quote was created, in Unix seconds.
    pub(crate) quoted_at: u64,
    pub(crate) outputs: Outputs,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Swapping {
    pub(crate) mint_url: String,
    pub(crate) unit: String,
    pub(crate) auth: Option<MintAuthToken>,
    /// As in `WithdrawTerms`; true for jobs that hand out nothing.
    pub(crate) repeatable: bool,
    /// Whether the inputs are the wallet's own, which are reserved; otherwise they are claimed.
    pub(crate) own_inputs: bool,
    pub(crate) inputs: Vec<Proof>,
    pub(crate) outputs: Outputs,
    /// The mint has definitely refused every request sent so far, so that none takes effect. Reset before the next request.
    #[serde(default)]
    pub(crate) refused: bool,
}

impl Swapping {
    pub(crate) fn ys(&self) -> Result<Vec<PublicKey>, StoreError> {
        let ys = self.inputs.iter().map(Proof::y).collect::<Result<_, _>>();
        ys.map_err(|_| StoreError::Unreadable("an input of a ticket job"))
    }
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ending {
    Token(Token),
    /// This amount joined the balance, as requested.
    Amount(u64),
    /// The token has no recipient any more: this amount joined the balance.
    #[serde(rename = "joined")]
    AddedToBalance(u64),
    /// It failed without effect.
    Failed {
        failure: Failure,
        /// Whether the same id starts it again.
        again: bool,
    },
}

#[derive(Clone)]
pub(crate) struct Job {
    pub(crate) id: TicketJobId,
    pub(crate) revision: u64,
    pub(crate) record: Arc<Record>,
}

impl Job {
    pub(crate) fn read(stored: &StoredTicketJob) -> Result<Self, StoreError> {
        let record =
            serde_json::from_str(&stored.state.0).map_err(|_| StoreError::Unreadable("the state of a ticket job"))?;
        Ok(Self { id: stored.id, revision: stored.revision, record: Arc::new(record) })
    }

    pub(crate) fn ending(&self) -> Option<&Ending> {
        match &self.record.stage {
            Stage::Ended(ending) => Some(ending),
            _ => None,
        }
    }

    pub(crate) fn mint_url(&self) -> Option<&str> {
        match &self.record.stage {
            Stage::Intent(terms) => Some(&terms.mint_url),
            Stage::Quoted(minting) => Some(&minting.terms.mint_url),
            Stage::Swapping(swapping) => Some(&swapping.mint_url),
            Stage::Ended(_) => None,
        }
    }

    pub(crate) fn auth(&self) -> Option<&MintAuthToken> {
        match &self.record.stage {
            Stage::Intent(terms) => terms.auth.as_ref(),
            Stage::Quoted(minting) => minting.terms.auth.as_ref(),
            Stage::Swapping(swapping) => swapping.auth.as_ref(),
            Stage::Ended(_) => None,
        }
    }

    /// Whether a caller can ask for the result after a restart.
    pub(crate) fn repeatable(&self) -> bool {
        match &self.record.stage {
            Stage::Intent(terms) => terms.repeatable,
            Stage::Quoted(minting) => minting.terms.repeatable,
            Stage::Swapping(swapping) => swapping.repeatable,
            Stage::Ended(_) => true,
        }
    }
}

impl Record {
    /// The record of a mint job that its caller has given up; `None` for other jobs.
    pub(crate) fn given_up(&self) -> Option<Self> {
        let mut record = self.clone();
        match &mut record.stage {
            Stage::Intent(terms) => terms.repeatable = false,
            Stage::Quoted(minting) => minting.terms.repeatable = false,
            Stage::Swapping(_) | Stage::Ended(_) => return None,
        }
        Some(record)
    }

    pub(crate) fn to_state(&self) -> Result<State, StoreError> {
        serde_json::to_string(self).map(State).map_err(|_| StoreError::Unreadable("a ticket job cannot be written"))
    }
}

/// A commit of `record` that changes nothing else.
pub(crate) fn plain_commit(
    id: TicketJobId,
    expected: u64,
    at: UnixMillis,
    record: &Record,
) -> Result<TicketCommit, StoreError> {
    Ok(TicketCommit {
        job: id,
        expected,
        at,
        state: record.to_state()?,
        finished: matches!(record.stage, Stage::Ended(_)),
        counter: None,
        claims: Vec::new(),
        release_claims: false,
        add: Vec::new(),
        reserve: Vec::new(),
        set_aside: Vec::new(),
        release_reserved: false,
        remove_reserved: false,
    })
}
