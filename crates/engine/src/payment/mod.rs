//! Payments: requested from users, made by the service itself, and invoices requested from users.

pub(crate) mod invoice_payment;
pub(crate) mod invoice_request;
pub(crate) mod operation;
pub(crate) mod outgoing;
pub(crate) mod spending;
pub(crate) mod spending_budget;
pub(crate) mod start;
