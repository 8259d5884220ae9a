//! Age verifiers at real providers and services.
#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod hostile_provider;
mod oidc;
mod verification_service;
