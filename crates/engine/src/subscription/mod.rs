//! Subscriptions: requested from users, charged when due, closed by either side.

pub(crate) mod find_subscription;
pub(crate) mod operation;
pub(crate) mod relay_keeper;
pub(crate) mod request;
pub(crate) mod subscriptions;
