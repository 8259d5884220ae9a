//! Logins: key handshakes, key authentications, and both as one operation with a page.

pub(crate) mod authentication;
pub(crate) mod browser_logins;
pub(crate) mod browser_requests;
pub(crate) mod codes;
pub(crate) mod follow_up;
pub(crate) mod handshake_urls;
pub(crate) mod key_handshake;
pub(crate) mod new_logins;
pub(crate) mod operation;
pub(crate) mod pages;
pub(crate) mod reusable_logins;
pub(crate) mod scan_limits;
pub(crate) mod signer_request;
pub(crate) mod start;
pub(crate) mod tables;
pub(crate) mod visitor_shares;
