//! One file per kind of record: its statements, row formats and decisions.

pub(crate) mod api_keys;
pub(crate) mod audit_log;
pub(crate) mod deliveries;
pub(crate) mod hourly_sums;
pub(crate) mod idempotency_records;
pub(crate) mod login_records;
pub(crate) mod openid_records;
pub(crate) mod operations;
pub(crate) mod passkeys;
pub(crate) mod payment_records;
pub(crate) mod settings;
pub(crate) mod store;
pub(crate) mod ticket_commit;
pub(crate) mod ticket_rows;
pub(crate) mod tickets;
mod users;
