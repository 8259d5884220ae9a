//! Age verifiers: the engine's [`AgeVerifier`](usher_engine::ports::AgeVerifier) over HTTP.
//!
//! | module | is |
//! | --- | --- |
//! | `oidc` | an OpenID Connect provider whose claims tell the age |
//! | `verification_service` | an external verification service, by a contract of ours |
//! | `age_claims` | what claims say of an age |
//! | `http` | requests, bounded in time and size |
//!
//! Nothing that a provider says about a user is kept or logged, and no error quotes a provider.

mod age_claims;
mod http;
mod oidc;
mod verification_service;

pub use oidc::{OidcOptions, OidcVerifier};
pub use verification_service::{VerificationServiceClient, VerificationServiceOptions};

#[cfg(test)]
mod tests;
