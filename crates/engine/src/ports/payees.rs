//! The port for payees with a Lightning address.

use async_trait::async_trait;

/// Gets invoices from the servers of Lightning addresses and LNURLs.
#[async_trait]
pub trait Payees: Send + Sync {
    /// An invoice of this address, or of this LNURL in lower case, for `amount` millisats, as sent by its server: the
    /// caller validates it, and limits concurrent calls. Returns within the adapter's time limit.
    async fn invoice(&self, address: &str, amount: u64) -> Result<String, PayeeError>;
}

/// Why a Lightning address gives no invoice. Contains nothing that its server sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayeeError {
    /// It is neither a Lightning address nor an LNURL.
    #[error("it is no Lightning address")]
    NoAddress,
    /// Its server does not accept this amount.
    #[error("the address does not accept this amount")]
    Amount,
    /// Its server does not know it, or refuses. A retry does not help.
    #[error("the address does not exist, or is refused")]
    Refused,
    /// Its server is unreachable, or violates the protocol.
    #[error("the address gives no invoice")]
    Unavailable,
}
