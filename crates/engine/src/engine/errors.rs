//! Why the engine refuses a request.

use super::field_errors::FieldError;
use crate::ports::StoreError;

/// Why an operation did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Fields are invalid: all of those that are.
    #[error("some fields are invalid")]
    Invalid(Vec<FieldError>),
    /// It needs a Lightning backend, and none is configured.
    #[error("no Lightning backend is configured")]
    NoLightning,
    /// The idempotent request was done before:
    /// [`Engine::idempotency_record`](super::Engine::idempotency_record) has its response.
    #[error("the request was done before")]
    Repeated,
    /// `limits.max_open_streams` are open already.
    #[error("too many streams are open")]
    TooManyOpen,
    /// Twice as many as `limits.max_open_streams` are open, or are payments that have ended within the last day.
    #[error("too many payments have ended within the last day")]
    TooManyEnded,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl StartError {
    pub(super) fn invalid(pointer: &'static str, detail: impl Into<String>) -> Self {
        Self::Invalid(vec![FieldError { pointer: pointer.to_owned(), detail: detail.into() }])
    }
}

/// Why events could not be read.
#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    /// There is no such stream, or it was removed after retention.
    #[error("no such stream")]
    NotFound,
    /// The events asked for were removed after their retention.
    #[error("events before {first} of the stream were removed")]
    Removed {
        /// The index of the first event that is left.
        first: u64,
    },
    /// The event asked for is damaged; those before and after it can be read.
    #[error("event {index} of the stream is damaged")]
    Damaged {
        /// Its index.
        index: u64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
