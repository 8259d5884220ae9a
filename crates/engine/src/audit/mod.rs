//! The audit log above the store: entries, retention, and verification.

mod log;
mod verification;

pub use log::{AuditLog, AuditOptions};
pub use verification::{AuditFault, AuditHead, AuditVerification, InvalidAuditHead, verify};
