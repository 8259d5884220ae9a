use std::sync::Arc;
use std::time::Duration;

use crate::UnixMillis;
use crate::ports::{MintTerms, Minted, ReceiveTerms, TicketError, Token, TokenState};

/// How long the ticket wallet's reply is awaited: longer than the bounds of adapters, so only after a crash.
const LEASE: Duration = Duration::from_secs(60);

/// A request of an operation to the ticket wallet; the reply is [`Input::Ticket`](crate::operations::Input::Ticket).
/// The job's id follows from stream and kind: the same call again continues the same job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TicketCall {
    /// Mints a token. Answered by [`TicketReply::Minted`].
    Mint(MintTerms),
    /// Redeems a token into the wallet's own balance. Answered by [`TicketReply::Redeemed`].
    Redeem(ReceiveTerms),
    /// Verifies a token. Answered by [`TicketReply::Verified`].
    Verify(ReceiveTerms),
    /// Gives the operation's mint job up. Answered by [`TicketReply::GivenUp`].
    GiveUp {
        /// The mint of the job.
        mint_url: String,
    },
    /// Asks the mint whether the token is spent. Answered by [`TicketReply::State`].
    CheckState {
        /// The token.
        token: Token,
        /// Its mint: calls to one mint do not delay calls to another.
        mint_url: String,
    },
}

/// What the ticket wallet replied to a [`TicketCall`].
#[derive(Clone, Debug)]
pub enum TicketReply {
    /// To [`TicketCall::Mint`].
    Minted(Result<Minted, Arc<TicketError>>),
    /// To [`TicketCall::Redeem`]: what the wallet received, in the token's unit.
    Redeemed(Result<u64, Arc<TicketError>>),
    /// To [`TicketCall::Verify`].
    Verified(Result<VerifiedToken, Arc<TicketError>>),
    /// To [`TicketCall::GiveUp`]: the token, if the mint has signed it already.
    GivenUp(Result<Option<Token>, Arc<TicketError>>),
    /// To [`TicketCall::CheckState`].
    State(Result<TokenState, Arc<TicketError>>),
}

/// A token that was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedToken {
    /// The token: the user's, or the one for which it was swapped.
    pub token: Token,
    /// What redeeming it gives, in its unit, after the mint's fee.
    pub amount: u64,
}

impl TicketCall {
    /// The mint that is asked.
    pub fn mint_url(&self) -> &str {
        match self {
            Self::Mint(terms) => &terms.mint_url,
            Self::Redeem(terms) | Self::Verify(terms) => &terms.mint_url,
            Self::GiveUp { mint_url } | Self::CheckState { mint_url, .. } => mint_url,
        }
    }
}

pub(crate) fn lease(now: UnixMillis) -> UnixMillis {
    now.plus(LEASE)
}

/// When to ask again after the `tries`th failure: 2, 4, 8, … seconds later, `longest` at most.
pub(crate) fn retry_at(tries: u32, longest: Duration, now: UnixMillis) -> UnixMillis {
    now.plus(Duration::from_secs(1 << tries.clamp(1, 20)).min(longest))
}
