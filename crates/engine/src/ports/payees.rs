//! The port for payees who are named by a Lightning address.

use async_trait::async_trait;

/// Asks the servers of Lightning addresses for invoices.
#[async_trait]
pub trait Payees: Send + Sync {
    /// An invoice of this address for `amount` millisats, as its server sends it: the caller checks it. Returns within a bound of the
    /// adapter's.
    ///
    /// # Errors
    /// [`PayeeError`].
    async fn invoice(&self, address: &str, amount: u64) -> Result<String, PayeeError>;
}

/// Why a Lightning address gives no invoice. The texts quote nothing that its server sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayeeError {
    /// It is no Lightning address.
    #[error("it is no Lightning address")]
    NoAddress,
    /// Its server does not take this amount.
    #[error("the address does not accept this amount")]
    Amount,
    /// Its server cannot be reached, does not know it, refuses, or does not follow the protocol; or too many are asked at once.
    #[error("the address gives no invoice")]
    Unavailable,
}
