//! Age verifiers: the engine's [`AgeVerifier`](usher_engine::ports::AgeVerifier) over HTTP.
//!
//! | module | is |
//! | --- | --- |
//! | `oidc` | an OpenID Connect provider with claims about the age |
//! | `verification_service` | an external verification service, by Usher's own contract |
//! | `age_claims` | evaluation of claims about an age |
//! | `http` | requests, bounded in time and size |
//!
//! Nothing about a user is kept or logged, and errors do not quote the provider.

mod age_claims;
mod http;
mod oidc;
mod verification_service;

pub use oidc::{OidcOptions, OidcVerifier};
pub use verification_service::{VerificationServiceClient, VerificationServiceOptions};

#[cfg(test)]
mod tests;
