//! Why an address is refused.

use std::io;

/// Why an address is refused.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// The name could not be resolved.
    #[error("cannot resolve the name: {0}")]
    Unresolved(#[source] io::Error),
    /// Resolving took too long.
    #[error("resolving the name took too long")]
    TooSlow,
    /// The name has no address.
    #[error("the name has no address")]
    NoAddress,
    /// Every address is in a range that users may not point us to.
    #[error("the address is not on the public Internet")]
    NotPublic,
}
