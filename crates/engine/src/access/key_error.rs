//! Why a change of keys and operators fails.

use crate::FieldError;
use crate::ports::StoreError;

/// Why a key was not changed.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// There is no such key.
    #[error("there is no such key")]
    NotFound,
    /// The request is invalid, or not allowed for this client.
    #[error("the key may not be had")]
    Refused(Vec<FieldError>),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
