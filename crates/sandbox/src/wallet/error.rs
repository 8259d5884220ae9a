use usher_protocol::envelope::EnvelopeError;

use super::{PaymentSourceError, Request, TicketsError};
use crate::relay_client::RelayClientError;

/// Why the wallet could not execute a command.
#[derive(Debug, thiserror::Error)]
pub enum WalletError {
    #[error("no relays: neither the handshake URL nor the wallet names one")]
    NoRelays,
    #[error("none of the relays could be reached: {}", .0.join(", "))]
    Unreachable(Vec<String>),
    #[error("the protocol has no such reply to a message of kind {0}: without a reply it expires")]
    CannotAnswer(u16),
    #[error("the wallet has no Lightning account")]
    NoPaymentSource,
    #[error(transparent)]
    PaymentSource(#[from] PaymentSourceError),
    #[error("the invoice is not for the requested amount")]
    OtherAmount,
    /// An invoice was asked in a currency that this wallet does not know.
    #[error("this wallet creates invoices in millisats only")]
    NotMillisats,
    #[error(transparent)]
    Tickets(#[from] TicketsError),
    /// The request can no longer be answered: nothing was done.
    #[error("the request has expired")]
    Expired,
    /// The user never agreed to it.
    #[error("no subscription {0}")]
    NoSuchSubscription(String),
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    #[error("too many events are waiting to be sent to the relays")]
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no request arrived in time")]
pub struct NoRequest;

pub(super) const fn cannot(request: &Request) -> WalletError {
    WalletError::CannotAnswer(request.content.kind())
}
