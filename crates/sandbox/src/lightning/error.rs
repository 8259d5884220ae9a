use usher_protocol::bolt11::InvoiceError;

/// Why an invoice was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MakeError {
    /// The amount is zero.
    #[error("the amount is zero")]
    ZeroAmount,
    /// The amount is larger than BOLT 11 allows.
    #[error("the amount is too large for an invoice")]
    AmountTooLarge,
    /// BOLT 11 has room for 639 bytes.
    #[error("the description is too long for an invoice")]
    DescriptionTooLong,
    /// A time is later than BOLT 11 allows.
    #[error("the time or the expiry is too large for an invoice")]
    BadTime,
    #[error("too many open invoices")]
    Full,
}

/// Why an invoice was not paid. In every case nothing was moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayError {
    #[error("the invoice {0}")]
    NotAnInvoice(#[from] InvoiceError),
    #[error("the invoice is for another network")]
    OtherNetwork,
    /// No account of this network made it, or not with these terms.
    #[error("no route to the payee")]
    NoRoute,
    #[error("the invoice has expired")]
    Expired,
    #[error("the invoice was cancelled")]
    Cancelled,
    #[error("the invoice is already paid")]
    AlreadyPaid,
    #[error("a payment of this invoice is already in flight")]
    InFlight,
    /// The invoice names no amount and the payer neither, or zero.
    #[error("the invoice has no amount, and none was given")]
    AmountMissing,
    /// The payer names another amount than the invoice.
    #[error("the amount differs from the invoice's")]
    OtherAmount,
    /// The account has less than amount and fee.
    #[error("insufficient balance")]
    InsufficientBalance,
    #[error("no such payment is in flight")]
    NoSuchPayment,
}
