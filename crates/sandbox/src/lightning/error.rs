//! Why an account did not do it.

use usher_protocol::bolt11::InvoiceError;

/// Why an invoice was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MakeError {
    /// Zero is no amount; an invoice without one leaves it to the payer.
    #[error("the amount is zero")]
    ZeroAmount,
    /// More than BOLT 11 can say.
    #[error("the amount is too large for an invoice")]
    AmountTooLarge,
    /// BOLT 11 has room for 639 bytes.
    #[error("the description is longer than an invoice can carry")]
    DescriptionTooLong,
    /// A time beyond what BOLT 11 can say.
    #[error("the time or the expiry is more than an invoice can carry")]
    BadTime,
    /// Too many invoices are open.
    #[error("there are too many open invoices")]
    Full,
}

/// Why an invoice was not paid. In every case nothing was moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayError {
    /// It is no invoice.
    #[error("it {0}")]
    NotAnInvoice(#[from] InvoiceError),
    /// It is for a network that is not this one.
    #[error("the invoice is for another network")]
    OtherNetwork,
    /// Nobody here made it, or not like this.
    #[error("there is no route to the payee")]
    NoRoute,
    /// Its time is over.
    #[error("the invoice is expired")]
    Expired,
    /// The payee no longer wants it.
    #[error("the invoice is cancelled")]
    Cancelled,
    /// Somebody paid it.
    #[error("the invoice is paid already")]
    AlreadyPaid,
    /// A payment of it is in flight.
    #[error("a payment of the invoice is in flight")]
    InFlight,
    /// The invoice names no amount and the payer neither, or zero.
    #[error("the invoice leaves the amount to the payer, who names none")]
    AmountMissing,
    /// The payer names another amount than the invoice.
    #[error("the invoice names another amount")]
    OtherAmount,
    /// It is more than the account has.
    #[error("the balance is too small")]
    InsufficientBalance,
    /// There is no such payment, or it is over.
    #[error("no such payment is in flight")]
    NoSuchPayment,
}
