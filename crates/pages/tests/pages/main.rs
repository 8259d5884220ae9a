//! The pages as a browser gets them.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod age_check;
mod any_request;
mod begin_again;
mod browser_logins;
mod console;
mod fixture;
mod handshake;
mod login;
mod login_redemption;
mod passkey;
mod remote_signer;
mod reusable_login;
mod session;
mod signer_app;
