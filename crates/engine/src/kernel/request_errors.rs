use crate::access::Scope;
use crate::machine::Budget;
use crate::ports::{NodeError, RateUnavailable, StoreError, TicketError};
use crate::{FieldError, StreamId};

/// Why an operation was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Invalid fields: all of them.
    #[error("some fields are invalid")]
    Invalid(Vec<FieldError>),
    /// It needs a further scope, which the client lacks.
    #[error("the client lacks the scope {}", .0.as_str())]
    ScopeMissing(Scope),
    /// It needs a Lightning backend, and none is configured.
    #[error("no Lightning backend is configured")]
    NoLightning,
    /// It needs a Lightning node run by the service, and there is none.
    #[error("the service runs no Lightning node of its own")]
    NoNode,
    /// The Lightning node refused or failed.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// It needs a mint of proofs of age, and none is configured (`verification.mint_url`) or given.
    #[error("no mint of proofs of age is configured")]
    NoVerificationMint,
    /// It needs a webhook, and none is configured (`webhook.url`).
    #[error("no webhook is configured")]
    NoWebhook,
    /// It needs the ticket wallet, and there is none.
    #[error("there is no ticket wallet")]
    NoTicketWallet,
    /// The idempotent request was executed before; see [`IdempotencyRecords::get`](crate::IdempotencyRecords::get).
    #[error("the request was done before")]
    Repeated,
    /// `limits.max_open_streams` operations are open.
    #[error("too many streams are open")]
    TooManyOpen,
    /// Twice `limits.max_open_streams` operations are open, or payments that ended within the last day.
    #[error("too many payments have ended within the last day")]
    TooManyEnded,
    /// The remaining budget is too small.
    #[error("{budget} is spent")]
    BudgetExhausted {
        /// The budget.
        budget: Budget,
        /// Seconds until it suffices, if nothing else is paid meanwhile.
        retry_after: u64,
    },
    /// There is no exchange rate for the amount's currency.
    #[error(transparent)]
    RateUnavailable(#[from] RateUnavailable),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl StartError {
    pub(crate) fn invalid(pointer: &'static str, detail: impl Into<String>) -> Self {
        Self::Invalid(vec![FieldError { pointer: pointer.to_owned(), detail: detail.into() }])
    }
}

/// Why a request that waits for the ticket wallet has no result.
#[derive(Debug, thiserror::Error)]
pub enum TicketCallError {
    /// The request, or the payment of the mint's quote, was refused.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The ticket wallet failed, or the outcome is unknown.
    #[error(transparent)]
    Ticket(#[from] TicketError),
    /// There is no delivery with this stream id, or it was removed after its retention.
    #[error("no such outgoing ticket")]
    NotFound,
    /// A key whose payments are limited by approvals or a budget requested a withdrawal, for which these do not count.
    #[error("only the token may withdraw")]
    TokenRequired,
    /// The mint requires payment of its quote, and the payment waits for an approval.
    #[error("the payment of the mint's quote waits for an approval")]
    ApprovalRequired {
        /// The payment's stream.
        payment: StreamId,
    },
    /// The mint requires payment of its quote, and the Lightning backend did not pay.
    #[error("the mint's quote was not paid: {reason}")]
    NotPaid {
        /// The reason, in the backend's words, cleaned and truncated, or ours.
        reason: String,
        /// Whether it is certain that nothing was paid. If it was paid after all, the token joins the wallet's own balance,
        /// or is the result of the same request with its idempotency key.
        is_certain: bool,
    },
}

/// Why events could not be read.
#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    /// There is no such stream, or it was removed after its retention.
    #[error("no such stream")]
    NotFound,
    /// The requested events were removed after their retention.
    #[error("events before {first} of the stream were removed")]
    Removed {
        /// The index of the first remaining event.
        first: u64,
    },
    /// The requested event is damaged; those before and after it can be read.
    #[error("event {index} of the stream is damaged")]
    Damaged {
        /// Its index.
        index: u64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<StoreError> for TicketCallError {
    fn from(error: StoreError) -> Self {
        Self::Start(error.into())
    }
}

impl ModifyError for TicketCallError {
    fn repeated() -> Self {
        Self::Start(StartError::Repeated)
    }
}

pub(crate) trait ModifyError: From<StoreError> {
    fn repeated() -> Self {
        StoreError::Unexpected("a request without an idempotency key was done before").into()
    }
}
