//! Invoices of others: paid, and asked for.

pub(crate) mod pay;
pub(crate) mod request;
