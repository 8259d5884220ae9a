//! The port of the service's own ticket wallet: it mints, redeems and checks Cashu tokens.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

use super::StoreError;
use crate::{Origin, UnixMillis};

/// The service's own ticket wallet.
///
/// Every operation on money is a *job* with an id chosen by the caller. It is stored before any request to a mint, and
/// continues after its caller has gone and after a restart. A caller that does not know the outcome repeats the call
/// with the same id, never with another: that continues the job or returns its result. Each call returns within the
/// adapter's time limit; after [`TicketError::TimedOut`] the job continues. The concurrent jobs of one API key,
/// `origin`, are limited to a share.
#[async_trait]
pub trait TicketWallet: Send + Sync {
    /// Whether requests to this mint are allowed, by its address; names are checked again at each connection.
    ///
    /// # Errors
    /// [`TicketError::AddressNotAllowed`].
    fn check_mint(&self, mint_url: &str) -> Result<(), TicketError> {
        let _ = mint_url;
        Ok(())
    }

    /// Parses a token without a request: its mint, unit and value as claimed by its sender.
    ///
    /// # Errors
    /// [`TokenFault`] if it is not a token, or exceeds a limit.
    fn read_token(&self, token: &Token) -> Result<TokenInfo, TokenFault>;

    /// Mints a token: new proofs, which nobody else has held.
    async fn mint(&self, id: TicketJobId, terms: &MintTerms, origin: Option<Origin>) -> Result<Minted, TicketError>;

    /// Swaps a token for the wallet's own proofs, and returns the received value, without the mint's input fee. Copies
    /// of the token can then no longer be spent.
    async fn redeem(&self, id: TicketJobId, terms: &ReceiveTerms, origin: Option<Origin>) -> Result<u64, TicketError>;

    /// Swaps a token for a new one of at least the required amount, which is returned. Copies of the old one can then no longer be
    /// spent.
    async fn verify(&self, id: TicketJobId, terms: &ReceiveTerms) -> Result<Token, TicketError>;

    /// Gives up a mint job without a request to the mint. Returns the token, if the mint has already signed it; what it
    /// signs later joins the wallet's own balance, also after a restart.
    ///
    /// # Errors
    /// [`TicketError::Store`].
    async fn give_up(&self, id: TicketJobId) -> Result<Option<Token>, TicketError>;

    /// Reports that the quote of a mint job will not be paid. The job ends once the mint confirms that it is unpaid,
    /// and the same id then starts it again with a new quote. Otherwise the job continues.
    async fn abandon_quote(&self, id: TicketJobId);

    /// Takes a token of exactly `amount` out of the wallet's own balance.
    ///
    /// # Errors
    /// [`TicketError`]; [`TicketError::InsufficientFunds`] if the balance does not cover the amount and the fee.
    async fn withdraw(
        &self,
        id: TicketJobId,
        terms: &WithdrawTerms,
        origin: Option<Origin>,
    ) -> Result<Token, TicketError>;

    /// The state of the token's proofs at the mint (NUT-07). Queries for tokens of one mint are batched.
    async fn token_state(&self, token: &Token) -> Result<TokenState, TicketError>;

    /// The balances, by mint and unit.
    async fn balances(&self) -> Result<Vec<TicketBalance>, StoreError>;
}

/// Identifies a job of the ticket wallet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TicketJobId(pub [u8; 32]);

impl TicketJobId {
    /// The job of `kind` for what `bytes` identifies: a request's idempotency key, or a stream.
    pub fn derive(kind: &str, bytes: &[u8]) -> Self {
        Self(Sha256::new().chain_update(kind).chain_update([0]).chain_update(bytes).finalize().into())
    }
}

impl fmt::Debug for TicketJobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TicketJobId({:02x}{:02x}{:02x}{:02x}…)", self.0[0], self.0[1], self.0[2], self.0[3])
    }
}

/// A Cashu token as text (NUT-00). Anybody who has it can spend it: `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(pub String);

usher_protocol::debug_shows!(Token(..));

/// The token that authorises minting at an operator's own mint (`Clear-auth`, NUT-21). `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MintAuthToken(pub String);

usher_protocol::debug_shows!(MintAuthToken(..));

/// The claimed content of a token, not verified.
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

/// A token to mint.
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
    /// The auth token for the mint, if required.
    pub auth: Option<MintAuthToken>,
    /// Whether the caller can repeat the call after a crash. If not, a token minted later joins the balance.
    pub repeatable: bool,
}

/// The result of a mint job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Minted {
    /// The token.
    Token(Token),
    /// The mint requires payment of its quote. Once paid, the job continues by itself; the same id waits for it.
    PaymentNeeded {
        /// The BOLT11 invoice.
        invoice: String,
        /// Until when the mint accepts the payment; `None` if unspecified.
        expires_at: Option<UnixMillis>,
    },
}

/// A received token, and its requirements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiveTerms {
    /// The token.
    pub token: Token,
    /// The required mint.
    pub mint_url: String,
    /// The required unit.
    pub unit: String,
    /// The minimum value when redeemed, in the unit, after the mint's fees; 0 accepts any.
    pub at_least: u64,
    /// The auth token for the mint, if required.
    pub auth: Option<MintAuthToken>,
}

/// A withdrawal from the wallet's own balance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WithdrawTerms {
    /// The mint's address.
    pub mint_url: String,
    /// The unit.
    pub unit: String,
    /// How much, in the unit.
    pub amount: u64,
    /// The auth token for the mint, if required.
    pub auth: Option<MintAuthToken>,
    /// As in [`MintTerms::repeatable`].
    pub repeatable: bool,
}

/// The state of a token at its mint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenState {
    /// None of its proofs is spent.
    Unspent,
    /// At least one is being spent.
    Pending,
    /// At least one is spent.
    Spent,
}

/// What the service's own ticket wallet holds of one mint and unit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
pub struct TicketBalance {
    /// The mint.
    #[schema(example = "https://mint.example")]
    pub mint_url: String,
    /// The unit.
    #[schema(example = "multi")]
    pub unit: String,
    /// How much can be spent, in the unit.
    #[schema(example = 42)]
    pub amount: u64,
    /// How much is set aside, in the unit: the mint says that it is spent, and the service has not spent it. It is not in
    /// `amount`, and comes back when the mint says that it is unspent. Left out when it is 0.
    #[serde(skip_serializing_if = "is_nothing")]
    #[schema(value_type = Option<u64>, example = 21)]
    pub set_aside: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
const fn is_nothing(amount: &u64) -> bool {
    *amount == 0
}

/// A fault of a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// Not a Cashu token of version 3 or 4.
    #[error("it is not a Cashu token")]
    Malformed,
    /// It is too long, or has too many proofs.
    #[error("it has more than {limit} {of}")]
    TooLarge {
        /// The limit.
        limit: usize,
        /// The limited quantity: `bytes`, `proofs`, `mints`.
        of: &'static str,
    },
    /// It is of another mint.
    #[error("it is of another mint")]
    OtherMint,
    /// It is in another unit.
    #[error("it is in another unit")]
    OtherUnit,
    /// It is worth less than required.
    #[error("it is worth {amount}{}, less than {at_least}", less(*fee))]
    TooLittle {
        /// What it contains.
        amount: u64,
        /// The mint's fee for redeeming it.
        fee: u64,
        /// The required value.
        at_least: u64,
    },
    /// The mint's fee for redeeming it exceeds its value.
    #[error("the mint's fee takes all of it")]
    WorthNothing,
    /// Its keyset is unknown to the mint, or its short keyset id is ambiguous.
    #[error("the mint does not know its keyset")]
    UnknownKeyset,
    /// It has spending conditions that this service cannot fulfil (NUT-10).
    #[error("it is locked to somebody else")]
    Locked,
    /// A secret occurs twice, or a signature or DLEQ proof is invalid.
    #[error("the mint has not signed it")]
    Forged,
    /// It is spent.
    #[error("it is already spent")]
    AlreadySpent,
    /// It is being spent: the mint may later report it as spent or unspent.
    #[error("it is pending at the mint: somebody is spending it")]
    Pending,
}

fn less(fee: u64) -> String {
    if fee == 0 { String::new() } else { format!(" less the mint's fee of {fee}") }
}

/// Why a request to the ticket wallet failed.
#[derive(Debug, thiserror::Error)]
pub enum TicketError {
    /// The token does not meet the requirements. Definite; nothing was changed.
    #[error("the token is refused: {0}")]
    Token(#[from] TokenFault),
    /// The mint's address is in a network that is not allowed (`cashu.allow_private_mints`). Definite.
    #[error("the mint's address is not allowed: {0}")]
    AddressNotAllowed(String),
    /// The mint refused; its words, cleaned and truncated. Definite; nothing was changed.
    #[error("the mint refused: {0}")]
    Refused(String),
    /// The mint's response violates the protocol; our words. The job continues if the mint may have executed it.
    #[error("the mint's response is invalid: {0}")]
    InvalidResponse(String),
    /// The mint is unreachable. The job continues if the mint may have executed it.
    #[error("the mint cannot be reached: {0}")]
    Unreachable(String),
    /// There was no result in time. The job continues.
    #[error("the mint did not respond in time")]
    TimedOut,
    /// The mint holds the job's inputs as pending (NUT-07), perhaps because of the job's own request. The job
    /// continues.
    #[error("it is pending at the mint, which has not decided yet whether it is spent")]
    Pending,
    /// The wallet's balance does not cover it. Definite.
    #[error("the ticket wallet holds {available}, which does not cover {needed} with the mint's fee")]
    InsufficientFunds {
        /// The balance.
        available: u64,
        /// The required amount.
        needed: u64,
    },
    /// The id belongs to a job with other terms. Definite.
    #[error("the id belongs to another job")]
    OtherJob,
    /// Too many jobs are waiting. Definite; nothing was stored.
    #[error("too many jobs are waiting for mints")]
    Overloaded,
    /// The store failed; the outcome is unknown.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl TicketError {
    /// Whether nothing was done and a retry changes nothing; otherwise the outcome is unknown or may change.
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
