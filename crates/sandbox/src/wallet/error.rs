//! What can go wrong in a wallet.

use usher_protocol::envelope::EnvelopeError;

use super::{PaymentSourceError, Request};
use crate::relay_client::RelayClientError;

/// Why the wallet did not do it.
#[derive(Debug, thiserror::Error)]
pub enum WalletError {
    /// Neither the URL nor the wallet names a relay.
    #[error("there is no relay: neither the handshake URL nor the wallet names one")]
    NoRelays,
    /// No relay could be reached in time.
    #[error("none of the relays could be reached: {}", .0.join(", "))]
    Unreachable(Vec<String>),
    /// The wallet does not know an answer of that sort to this request.
    #[error("this wallet cannot answer a message of kind {0} so")]
    CannotAnswer(u16),
    /// There is no Lightning account to pay with.
    #[error("the wallet has no Lightning account")]
    NoPaymentSource,
    /// It could not pay, or make an invoice.
    #[error(transparent)]
    PaymentSource(#[from] PaymentSourceError),
    /// The invoice is for another amount than the request says.
    #[error("the invoice is not for the amount that is asked")]
    OtherAmount,
    /// An invoice was asked in a currency that this wallet does not know.
    #[error("this wallet makes invoices in millisats only")]
    NotMillisats,
    /// The user never agreed to it.
    #[error("there is no subscription {0}")]
    NoSuchSubscription(String),
    /// The message could not be put into an event.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// Too many events are on their way to relays.
    #[error("too many events are on their way to the relays already")]
    Busy,
}

impl From<RelayClientError> for WalletError {
    fn from(error: RelayClientError) -> Self {
        match error {
            RelayClientError::NoRelays => Self::NoRelays,
            RelayClientError::Unreachable(relays) => Self::Unreachable(relays),
            RelayClientError::Busy => Self::Busy,
        }
    }
}

/// No request came in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no request came in time")]
pub struct NoRequest;

/// The error that this request cannot be answered so.
pub(super) const fn cannot(request: &Request) -> WalletError {
    WalletError::CannotAnswer(request.asked.kind())
}
