//! Why a payer gets no invoice.

use std::time::Duration;

use super::LinkState;
use crate::ports::{CurrencyCode, StoreError};

/// Why a payer gets no invoice.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// There is no such link, or the secret is wrong.
    #[error("there is no such payment link")]
    NotFound,
    /// It issues no more invoices.
    #[error("the payment link is {}", .0.as_str())]
    Over(LinkState),
    /// The amount is out of range, in the payer's unit.
    #[error("the amount must be from {least} to {most}")]
    Outside {
        /// The minimum.
        least: u64,
        /// The maximum.
        most: u64,
    },
    /// It has a fraction of a sat.
    #[error("whole sats only: the amount must be a multiple of 1000 millisats")]
    FractionOfSat,
    /// It exceeds the service's maximum.
    #[error("the amount comes to more than limits.max_amount_millisats")]
    TooMuch,
    /// There is no reliable exchange rate.
    #[error("there is no exchange rate for {0} now")]
    NoRate(CurrencyCode),
    /// The comment is too long, or has control characters.
    #[error("the comment must have at most 255 characters and no control characters")]
    Comment,
    /// Too many invoices are open or requested.
    #[error("too many invoices are asked for")]
    Busy {
        /// When to retry.
        retry_after: Duration,
    },
    /// The Lightning backend refused to create it.
    #[error("the Lightning backend refuses to make the invoice")]
    Refused,
    /// The Lightning backend created none in time.
    #[error("the Lightning backend makes no invoice")]
    NoInvoice,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl LinkError {
    pub(super) const fn outside((least, most): (u64, u64)) -> Self {
        Self::Outside { least, most }
    }
}
