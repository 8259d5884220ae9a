use std::sync::Arc;
use std::time::Duration;

use crate::UnixMillis;
use crate::ports::{MintTerms, Minted, ReceiveTerms, TicketError, Token, TokenState};

/// How long to wait for the ticket wallet's reply: longer than the adapters' limits, so exceeded only after a crash.
const LEASE: Duration = Duration::from_secs(60);

/// A request of an operation to the ticket wallet; the reply is [`Input::Ticket`](super::Input::Ticket).
/// The job's id is derived from stream and kind: the same request continues the same job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TicketCall {
    /// Mints a token. The reply is [`TicketReply::Minted`].
    Mint(MintTerms),
    /// Redeems a token into the wallet's own balance. The reply is [`TicketReply::Redeemed`].
    Redeem(ReceiveTerms),
    /// Verifies a token. The reply is [`TicketReply::Verified`].
    Verify(ReceiveTerms),
    /// Gives up the operation's mint job. The reply is [`TicketReply::GivenUp`].
    GiveUp {
        /// The mint of the job.
        mint_url: String,
    },
    /// Queries the mint whether the token is spent. The reply is [`TicketReply::State`].
    CheckState {
        /// The token.
        token: Token,
        /// Its mint: requests to one mint do not delay those to another.
        mint_url: String,
    },
}

/// The ticket wallet's reply to a [`TicketCall`].
#[derive(Clone, Debug)]
pub enum TicketReply {
    /// To [`TicketCall::Mint`].
    Minted(Result<Minted, Arc<TicketError>>),
    /// To [`TicketCall::Redeem`]: the received amount, in the token's unit.
    Redeemed(Result<u64, Arc<TicketError>>),
    /// To [`TicketCall::Verify`].
    Verified(Result<VerifiedToken, Arc<TicketError>>),
    /// To [`TicketCall::GiveUp`]: the token, if the mint has already signed it.
    GivenUp(Result<Option<Token>, Arc<TicketError>>),
    /// To [`TicketCall::CheckState`].
    State(Result<TokenState, Arc<TicketError>>),
}

/// A verified token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedToken {
    /// The token for which the user's was swapped.
    pub token: Token,
    /// Its value in its unit.
    pub amount: u64,
}

impl TicketCall {
    /// The mint of the request.
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

/// The time of the next attempt after the `tries`th failure: 2, 4, 8, … seconds later, `longest` at most.
pub(crate) fn retry_at(tries: u32, longest: Duration, now: UnixMillis) -> UnixMillis {
    now.plus(Duration::from_secs(1 << tries.clamp(1, 20)).min(longest))
}
