//! Reasons why jobs fail or are refused.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use usher_engine::ports::{StoreError, TicketError, TokenFault};

use crate::mint_error::MintError;
use crate::outputs::OutputError;

/// Why a job failed, or its last attempt did. Stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Failure {
    AlreadySpent,
    Forged,
    AddressNotAllowed(String),
    Refused(String),
    InvalidResponse(String),
    Unreachable(String),
    TimedOut,
    /// The mint held its inputs as pending for too long.
    Pending,
}

impl From<MintError> for Failure {
    fn from(error: MintError) -> Self {
        match error {
            MintError::AddressNotAllowed(reason) => Self::AddressNotAllowed(reason),
            MintError::Refused(refusal) => Self::Refused(refusal.text),
            MintError::Invalid(reason) => Self::InvalidResponse(reason),
            MintError::Unreachable { reason, .. } => Self::Unreachable(reason),
            MintError::Failed(status) => Self::Unreachable(format!("it responds with status {status}")),
            MintError::TimedOut => Self::TimedOut,
        }
    }
}

impl Failure {
    /// The error for a caller of an unfinished job: nothing is definite.
    pub(crate) fn of_unfinished_job(self) -> TicketError {
        match self {
            Self::Refused(reason) => {
                TicketError::InvalidResponse(format!("it refuses what it may have done before: {reason}"))
            }
            Self::AddressNotAllowed(reason) => TicketError::Unreachable(reason),
            // Unreachable: these end a job.
            Self::AlreadySpent | Self::Forged | Self::Pending => TicketError::TimedOut,
            failure @ (Self::InvalidResponse(_) | Self::Unreachable(_) | Self::TimedOut) => failure.into(),
        }
    }
}

impl From<Failure> for TicketError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::AlreadySpent => Self::Token(TokenFault::AlreadySpent),
            Failure::Forged => Self::Token(TokenFault::Forged),
            Failure::AddressNotAllowed(reason) => Self::AddressNotAllowed(reason),
            Failure::Refused(reason) => Self::Refused(reason),
            Failure::InvalidResponse(reason) => Self::InvalidResponse(reason),
            Failure::Unreachable(reason) => Self::Unreachable(reason),
            Failure::TimedOut => Self::TimedOut,
            Failure::Pending => Self::Token(TokenFault::Pending),
        }
    }
}

/// Why a job was not started, or why its caller gets no result. Nothing was stored.
#[derive(Clone, Debug)]
pub(crate) enum Refusal {
    Token(TokenFault),
    Failure(Failure),
    InsufficientFunds {
        available: u64,
        needed: u64,
    },
    /// Another job of the wallet spends the token, which is pending at the mint.
    Pending,
    Overloaded,
    Store(Arc<StoreError>),
}

impl From<MintError> for Refusal {
    fn from(error: MintError) -> Self {
        Self::Failure(error.into())
    }
}

impl From<TokenFault> for Refusal {
    fn from(fault: TokenFault) -> Self {
        Self::Token(fault)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Store(Arc::new(error))
    }
}

impl From<OutputError> for Refusal {
    fn from(error: OutputError) -> Self {
        Self::Failure(Failure::Refused(error.to_string()))
    }
}

impl From<Refusal> for TicketError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Token(fault) => Self::Token(fault),
            Refusal::Failure(failure) => failure.into(),
            Refusal::InsufficientFunds { available, needed } => Self::InsufficientFunds { available, needed },
            Refusal::Pending => Self::Pending,
            Refusal::Overloaded => Self::Overloaded,
            Refusal::Store(error) => Self::Store(match &*error {
                StoreError::Unreadable(what) => StoreError::Unreadable(what),
                StoreError::Unexpected(what) => StoreError::Unexpected(what),
                StoreError::DamagedEvent { index } => StoreError::DamagedEvent { index: *index },
                StoreError::NotActive => StoreError::NotActive,
                StoreError::Closed => StoreError::Closed,
                StoreError::Failed(source) => StoreError::Failed(source.to_string().into()),
            }),
        }
    }
}
