//! The port of the service's own ticket wallet: it mints, redeems and checks Cashu tokens.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::StoreError;
use crate::{Origin, UnixMillis};

/// The service's own ticket wallet.
///
/// What changes money is a *job* with an id of the caller's. It is stored before a mint is asked, and runs on after its
/// caller has given up, and after a restart. A caller that does not know the outcome asks again with the same id, never
/// with another: that continues the job or gives its result. Each call returns within a bound of the adapter's;
/// [`TicketError::TimedOut`] says that the job goes on. Of the jobs at a time, those of one API key, `origin`, have a share.
#[async_trait]
pub trait TicketWallet: Send + Sync {
    /// Whether requests to this mint are allowed, by its address; what a name leads to is checked at each connection.
    ///
    /// # Errors
    /// [`TicketError::AddressNotAllowed`].
    fn check_mint(&self, mint_url: &str) -> Result<(), TicketError> {
        let _ = mint_url;
        Ok(())
    }

    /// Reads a token without asking anybody: its mint, unit and value as its sender states them.
    ///
    /// # Errors
    /// [`TokenFault`] when it is not a token, or exceeds a limit.
    fn read_token(&self, token: &Token) -> Result<TokenInfo, TokenFault>;

    /// Mints a token: the proofs that the mint signs are the token, and nobody else has held them.
    async fn mint(&self, id: TicketJobId, terms: &MintTerms, origin: Option<Origin>) -> Result<Minted, TicketError>;

    /// Swaps a token for proofs of the wallet's own, and returns what it received: the value without the mint's input
    /// fee. Whoever holds a copy of the token can no longer spend it.
    async fn redeem(&self, id: TicketJobId, terms: &ReceiveTerms, origin: Option<Origin>) -> Result<u64, TicketError>;

    /// Verifies that a token is real, unspent, and worth at least what the terms say. Returns the same token if all its
    /// proofs can be verified (NUT-12), otherwise a new one: only a swap shows that proofs are real.
    async fn verify(&self, id: TicketJobId, terms: &ReceiveTerms) -> Result<Token, TicketError>;

    /// What redeeming this token would give: its value without the mint's input fee. For a token that was verified.
    async fn worth(&self, token: &Token) -> Result<u64, TicketError>;

    /// Gives a mint job up without asking the mint. Returns the token, which is the caller's, if the mint has signed it
    /// already; what it signs later joins the wallet's own balance, also after a restart.
    ///
    /// # Errors
    /// [`TicketError::Store`].
    async fn give_up(&self, id: TicketJobId) -> Result<Option<Token>, TicketError>;

    /// The quote of a mint job will certainly not be paid. The job ends once the mint confirms that, and the same id
    /// begins again with a new quote. A job whose mint says otherwise goes on.
    async fn abandon_quote(&self, id: TicketJobId);

    /// Takes a token of exactly `amount` out of the wallet's own balance.
    ///
    /// # Errors
    /// [`TicketError`]; [`TicketError::InsufficientFunds`] when the balance does not cover the amount and the fee.
    async fn withdraw(
        &self,
        id: TicketJobId,
        terms: &WithdrawTerms,
        origin: Option<Origin>,
    ) -> Result<Token, TicketError>;

    /// Whether the mint says that the token's proofs are spent (NUT-07). Checks of tokens of one mint go out in batches.
    async fn token_state(&self, token: &Token) -> Result<TokenState, TicketError>;

    /// What the wallet holds, by mint and unit.
    async fn balances(&self) -> Result<Vec<TicketBalance>, StoreError>;
}

/// Identifies a job of the ticket wallet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TicketJobId(pub [u8; 32]);

impl TicketJobId {
    /// The job of `kind` that belongs to what `bytes` identifies: a request's idempotency key, or a stream.
    pub fn derive(kind: &str, bytes: &[u8]) -> Self {
        Self(Sha256::new().chain_update(kind).chain_update([0]).chain_update(bytes).finalize().into())
    }
}

impl fmt::Debug for TicketJobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TicketJobId({:02x}{:02x}{:02x}{:02x}…)", self.0[0], self.0[1], self.0[2], self.0[3])
    }
}

/// A Cashu token as text (NUT-00). Whoever has it can spend it: `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(pub String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The token by which an operator's own mint knows who may mint (`Clear-auth`, NUT-21). `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MintAuthToken(pub String);

impl fmt::Debug for MintAuthToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MintAuthToken(…)")
    }
}

/// A token as its sender states it: nothing of this is verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenInfo {
    /// The mint's address, in the normal form ([`usher_protocol::mint_url`]).
    pub mint_url: String,
    /// The unit, in the normal form ([`usher_protocol::ticket_unit`]).
    pub unit: String,
    /// The sum of its proofs, in its unit.
    pub amount: u64,
    /// How many proofs it has.
    pub proofs: usize,
}

/// What is to be minted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MintTerms {
    /// The mint's address, in the normal form ([`usher_protocol::mint_url`]).
    pub mint_url: String,
    /// The unit: `sat`, `msat`, `usd`, … or one of the mint's own, such as `multi`.
    pub unit: String,
    /// How much, in the unit.
    pub amount: u64,
    /// For the mint's records.
    pub description: Option<String>,
    /// Shown to the mint, if it wants one.
    pub auth: Option<MintAuthToken>,
    /// Whether the caller can ask again after a crash. If not, what is minted later joins the wallet's own balance.
    pub repeatable: bool,
}

/// The result of a mint job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Minted {
    /// The token.
    Token(Token),
    /// The mint wants its quote paid first. Once it is paid, the job continues by itself; the same id again waits for it.
    PaymentNeeded {
        /// The BOLT11 invoice.
        invoice: String,
        /// Until when the mint accepts the payment; `None` if it does not say.
        expires_at: Option<UnixMillis>,
    },
}

/// A token that was received, and what it must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiveTerms {
    /// The token.
    pub token: Token,
    /// The mint it must be of.
    pub mint_url: String,
    /// The unit it must be in.
    pub unit: String,
    /// What must be left of it, in the unit, when it is redeemed, after the mint's fees; 0 accepts any value.
    pub at_least: u64,
    /// Shown to the mint, if it wants one.
    pub auth: Option<MintAuthToken>,
}

/// What is to be taken out of the wallet's own balance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WithdrawTerms {
    /// The mint's address.
    pub mint_url: String,
    /// The unit.
    pub unit: String,
    /// How much, in the unit.
    pub amount: u64,
    /// Shown to the mint, if it wants one.
    pub auth: Option<MintAuthToken>,
    /// As in [`MintTerms::repeatable`].
    pub repeatable: bool,
}

/// What the mint says of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenState {
    /// None of its proofs is spent.
    Unspent,
    /// At least one is being spent right now.
    Pending,
    /// At least one is spent.
    Spent,
}

/// What the ticket wallet holds of one mint and unit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TicketBalance {
    /// The mint's address.
    pub mint_url: String,
    /// The unit.
    pub unit: String,
    /// How much can be spent, in the unit.
    pub amount: u64,
    /// How much is set aside, in the unit: the mint calls it spent, although the wallet has not spent it. Not in `amount`.
    pub set_aside: u64,
}

/// What is wrong with a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// It is no Cashu token of version 3 or 4.
    #[error("it is not a Cashu token")]
    Malformed,
    /// It is too long, or has too many proofs.
    #[error("it has more than {limit} {of}")]
    TooLarge {
        /// The limit.
        limit: usize,
        /// Of what: `bytes`, `proofs`, `mints`.
        of: &'static str,
    },
    /// It is of another mint.
    #[error("it is of another mint")]
    OtherMint,
    /// It is in another unit.
    #[error("it is in another unit")]
    OtherUnit,
    /// It is worth less than was asked for.
    #[error("it is worth {amount}{}, less than {at_least}", less(*fee))]
    TooLittle {
        /// What it contains.
        amount: u64,
        /// What of that goes to the mint when it is redeemed.
        fee: u64,
        /// What was asked for.
        at_least: u64,
    },
    /// The mint's fee for redeeming it takes all of it.
    #[error("the mint's fee takes all of it")]
    WorthNothing,
    /// It is of a keyset that the mint does not know, or whose short id is ambiguous.
    #[error("the mint does not know its keyset")]
    UnknownKeyset,
    /// It has spending conditions that this service cannot fulfil (NUT-10).
    #[error("it is locked to somebody else")]
    Locked,
    /// A proof contains the same secret twice, a wrong signature or a wrong DLEQ proof.
    #[error("the mint has not signed it")]
    Forged,
    /// It is spent.
    #[error("it is already spent")]
    AlreadySpent,
    /// Somebody else is spending it at this moment: the mint may call it spent or unspent later.
    #[error("it is pending at the mint: somebody is spending it")]
    Pending,
}

fn less(fee: u64) -> String {
    if fee == 0 { String::new() } else { format!(" less the mint's fee of {fee}") }
}

/// Why the ticket wallet did not do it.
#[derive(Debug, thiserror::Error)]
pub enum TicketError {
    /// The token is not what it must be. Definite; nothing was changed.
    #[error("the token is refused: {0}")]
    Token(#[from] TokenFault),
    /// The mint's address leads to a network that is not allowed (`cashu.allow_private_mints`). Definite.
    #[error("the mint's address is not allowed: {0}")]
    AddressNotAllowed(String),
    /// The mint refused, in its words, cleaned and cut. Definite; nothing was changed.
    #[error("the mint refused: {0}")]
    Refused(String),
    /// The mint's response breaks the protocol, in our words. The job goes on if the mint may have done it.
    #[error("the mint's response is invalid: {0}")]
    InvalidResponse(String),
    /// The mint could not be reached. The job goes on if the mint may have done it.
    #[error("the mint cannot be reached: {0}")]
    Unreachable(String),
    /// There was no result in time. The job goes on.
    #[error("the mint did not respond in time")]
    TimedOut,
    /// The mint holds what the job spends as pending (NUT-07), perhaps because of the job's own request. The job goes on.
    #[error("it is pending at the mint, which has not decided yet whether it is spent")]
    Pending,
    /// The wallet's balance does not cover it. Definite.
    #[error("the ticket wallet holds {available}, which does not cover {needed} with the mint's fee")]
    InsufficientFunds {
        /// What it holds.
        available: u64,
        /// What is needed.
        needed: u64,
    },
    /// The id belongs to a job with other terms. Definite.
    #[error("the id belongs to another job")]
    OtherJob,
    /// Too many jobs are waiting. Definite: nothing was stored.
    #[error("too many jobs are waiting for mints")]
    Overloaded,
    /// The store failed: nothing is known.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl TicketError {
    /// Whether nothing was done and asking again changes nothing; otherwise the outcome is unknown or may change.
    pub const fn is_definite(&self) -> bool {
        match self {
            Self::Token(_)
            | Self::AddressNotAllowed(_)
            | Self::Refused(_)
            | Self::InsufficientFunds { .. }
            | Self::OtherJob => true,
            Self::InvalidResponse(_)
            | Self::Unreachable(_)
            | Self::TimedOut
            | Self::Pending
            | Self::Overloaded
            | Self::Store(_) => false,
        }
    }
}
