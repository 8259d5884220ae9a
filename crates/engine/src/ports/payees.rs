//! The port for payees who are named by a Lightning address.

use async_trait::async_trait;

/// Asks the servers of Lightning addresses and LNURLs for invoices.
#[async_trait]
pub trait Payees: Send + Sync {
    /// An invoice of this address, or of this LNURL in lower case, for `amount` millisats, as its server sends it: the caller
    /// checks it, and bounds how many are asked at a time. Returns within a bound of the adapter's.
    ///
    /// # Errors
    /// [`PayeeError`].
    async fn invoice(&self, address: &str, amount: u64) -> Result<String, PayeeError>;
}

/// Why a Lightning address gives no invoice. The texts quote nothing that its server sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayeeError {
    /// It is neither a Lightning address nor an LNURL.
    #[error("it is no Lightning address")]
    NoAddress,
    /// Its server does not take this amount.
    #[error("the address does not accept this amount")]
    Amount,
    /// Its server does not know it, or refuses. Trying again does not help.
    #[error("the address does not exist, or is refused")]
    Refused,
    /// Its server cannot be reached, or does not follow the protocol.
    #[error("the address gives no invoice")]
    Unavailable,
}
