use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cashu::nuts::nut01::SecretKey;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::Origin;
use usher_engine::ports::{
    Clock, MintTerms, Minted, ReceiveTerms, StoreError, TicketBalance, TicketError, TicketJobId, TicketStore,
    TicketWallet, Token, TokenFault, TokenInfo, TokenState, WithdrawTerms,
};

use crate::TicketOptions;
use crate::job_failure::{Failure, Refusal};
use crate::job_runtime::{Core, JobResult};
use crate::keysets::fee_of_new;
use crate::mint_address::normal_unit;
use crate::mint_auth_tokens::MintTokens;
use crate::mint_seeds::Seeds;
use crate::mints::Mints;
use crate::outputs::MAX_OUTPUTS;
use crate::running_jobs::Jobs;
use crate::stored_job::{Ending, Job, Terms};
use crate::token;

/// Stored jobs read per query at the start.
const PAGE: usize = 256;

/// How long running requests to mints may delay a stop.
const CLOSE_WITHIN: Duration = Duration::from_secs(5);

/// The service's ticket wallet.
pub struct CashuWallet {
    pub(crate) core: Arc<Core>,
}

impl CashuWallet {
    /// A wallet on `store`, not [started](Self::start). `secret_key` is the service's Nostr secret key: the secrets of proofs
    /// are derived from it, and tokens that are locked to it can be redeemed.
    ///
    /// # Errors
    /// [`InvalidKey`].
    pub fn new(
        secret_key: &[u8; 32],
        store: Arc<dyn TicketStore>,
        clock: Arc<dyn Clock>,
        options: TicketOptions,
    ) -> Result<Self, InvalidKey> {
        let core = Core {
            tokens: MintTokens::new(Arc::clone(&store)),
            store,
            clock,
            seeds: Seeds::new(secret_key),
            key: SecretKey::from_slice(secret_key).map_err(|_| InvalidKey)?,
            mints: Mints::new(&options),
            options,
            jobs: Jobs::default(),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            aborting: CancellationToken::new(),
        };
        Ok(Self { core: Arc::new(core) })
    }

    /// Resumes unfinished jobs and starts the maintenance. Returns the number of resumed jobs. Jobs that cannot be read are
    /// logged and skipped.
    pub async fn start(&self) -> Result<usize, StoreError> {
        let mut after = None;
        let mut resumed = 0;
        loop {
            let page = self.core.store.unfinished_ticket_jobs(after, PAGE).await?;
            for id in &page {
                after = Some(*id);
                let stored = self.core.store.ticket_job(*id).await;
                match stored.and_then(|stored| stored.as_ref().map(Job::read).transpose()) {
                    Ok(None) => {}
                    Ok(Some(job)) => resumed += usize::from(matches!(self.core.resume(job), Ok(Some(_)))),
                    Err(error) => tracing::error!(job = ?id, %error, "a ticket job cannot be continued"),
                }
            }
            if page.len() < PAGE {
                break;
            }
        }
        let core = Arc::clone(&self.core);
        self.core.tasks.spawn(async move { core.maintain().await });
        Ok(resumed)
    }

    /// The number of unfinished jobs, including those that wait for a payment.
    pub fn unfinished_jobs(&self) -> usize {
        self.core.jobs.len()
    }

    /// The mints at which the wallet has a balance or unfinished jobs, by address. Sends no requests.
    pub async fn mints(&self) -> Result<Vec<MintStatus>, StoreError> {
        let mut jobs = self.core.jobs.by_mint();
        for balance in self.balances().await? {
            jobs.entry(balance.mint_url).or_default();
        }
        let status = |(mint_url, unfinished_jobs): (String, usize)| {
            let responds = self.core.mints.responds(&mint_url);
            MintStatus { mint_url, unfinished_jobs, responds }
        };
        Ok(jobs.into_iter().map(status).collect())
    }

    /// Stops all jobs, after a few seconds even those with a running request. Unfinished jobs resume at the next
    /// [`start`](Self::start).
    pub async fn close(&self) {
        self.core.closing.cancel();
        self.core.tasks.close();
        if tokio::time::timeout(CLOSE_WITHIN, self.core.tasks.wait()).await.is_err() {
            self.core.aborting.cancel();
            self.core.tasks.wait().await;
        }
    }

    /// The value, in the unit, of a token of which `amount` is left after the mint's fee (NUT-02).
    ///
    /// # Errors
    /// [`TicketError`], also if there is no such value.
    pub async fn with_fee(&self, mint_url: &str, unit: &str, amount: u64) -> Result<u64, TicketError> {
        let mint = self.core.mints.get(mint_url)?;
        let (info, keys) = self.core.keyset_for_outputs(&mint, &normal_unit(unit)).await?;
        let mut total = amount;
        // A larger token may have a larger fee.
        for _ in 0..MAX_OUTPUTS {
            let needed = amount.saturating_add(fee_of_new(total, &info, &keys).map_err(Refusal::from)?);
            if needed <= total {
                return Ok(total);
            }
            total = needed;
        }
        Err(TokenFault::WorthNothing.into())
    }

    async fn submit(&self, id: TicketJobId, terms: Terms, origin: Option<Origin>) -> Result<JobResult, TicketError> {
        if self.core.closing.is_cancelled() {
            return Err(TicketError::Overloaded);
        }
        self.core.submit(id, terms, origin).await
    }
}

impl Drop for CashuWallet {
    fn drop(&mut self) {
        self.core.closing.cancel();
        self.core.aborting.cancel();
    }
}

#[async_trait]
impl TicketWallet for CashuWallet {
    fn check_mint(&self, mint_url: &str) -> Result<(), TicketError> {
        Ok(self.core.mints.check(mint_url).map(drop)?)
    }

    fn read_token(&self, token: &Token) -> Result<TokenInfo, TokenFault> {
        token::read_token(token)
    }

    async fn mint(&self, id: TicketJobId, terms: &MintTerms, origin: Option<Origin>) -> Result<Minted, TicketError> {
        match self.submit(id, Terms::Mint(terms.clone()), origin).await? {
            JobResult::Ended(Ending::Token(token)) => Ok(Minted::Token(token)),
            JobResult::Ended(Ending::AddedToBalance(_)) if !terms.repeatable => Err(TicketError::TimedOut),
            JobResult::Ended(_) => Err(TicketError::OtherJob),
            JobResult::PaymentNeeded { invoice, expires_at } => Ok(Minted::PaymentNeeded { invoice, expires_at }),
        }
    }

    async fn redeem(&self, id: TicketJobId, terms: &ReceiveTerms, origin: Option<Origin>) -> Result<u64, TicketError> {
        match self.submit(id, Terms::Redeem(terms.clone()), origin).await? {
            JobResult::Ended(Ending::Amount(amount)) => Ok(amount),
            JobResult::Ended(_) | JobResult::PaymentNeeded { .. } => Err(TicketError::OtherJob),
        }
    }

    async fn verify(&self, id: TicketJobId, terms: &ReceiveTerms) -> Result<Token, TicketError> {
        match self.submit(id, Terms::Verify(terms.clone()), None).await? {
            JobResult::Ended(Ending::Token(token)) => Ok(token),
            JobResult::Ended(_) | JobResult::PaymentNeeded { .. } => Err(TicketError::OtherJob),
        }
    }

    async fn give_up(&self, id: TicketJobId) -> Result<Option<Token>, TicketError> {
        self.core.give_up(id).await
    }

    async fn abandon_quote(&self, id: TicketJobId) {
        self.core.abandon_quote(id).await;
    }

    async fn withdraw(
        &self,
        id: TicketJobId,
        terms: &WithdrawTerms,
        origin: Option<Origin>,
    ) -> Result<Token, TicketError> {
        match self.submit(id, Terms::Withdraw(terms.clone()), origin).await? {
            JobResult::Ended(Ending::Token(token)) => Ok(token),
            JobResult::Ended(Ending::AddedToBalance(_)) if !terms.repeatable => Err(TicketError::TimedOut),
            JobResult::Ended(_) | JobResult::PaymentNeeded { .. } => Err(TicketError::OtherJob),
        }
    }

    async fn token_state(&self, token: &Token) -> Result<TokenState, TicketError> {
        let token = token::read(token)?;
        let ys = token.ys()?;
        let mint = self.core.mints.get(token.mint.as_str())?;
        match tokio::time::timeout(self.core.options.wait, self.core.state_once(&mint, ys, None)).await {
            Ok(state) => Ok(state?),
            Err(_) => Err(Failure::TimedOut.into()),
        }
    }

    async fn balances(&self) -> Result<Vec<TicketBalance>, StoreError> {
        self.core.store.ticket_balances().await
    }
}

impl fmt::Debug for CashuWallet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CashuWallet").field("options", &self.core.options).finish_non_exhaustive()
    }
}

/// A mint in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MintStatus {
    /// Its address in the normal form ([`usher_protocol::mint_url`]).
    pub mint_url: String,
    /// Unfinished jobs, including those that wait for a payment.
    pub unfinished_jobs: usize,
    /// Whether it responded to the last request other than with a server error; `None` if none was sent since the start.
    pub responds: Option<bool>,
}

/// The bytes are not a secret key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the ticket wallet's key is not a secret key")]
pub struct InvalidKey;
