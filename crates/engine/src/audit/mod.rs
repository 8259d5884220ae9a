//! The audit log, apart from how it is stored: what is added, its retention, and its verification.

mod log;
mod verification;

pub use log::{AuditLog, AuditOptions};
pub use verification::{AuditFault, AuditHead, AuditVerification, InvalidAuditHead, verify};
