//! The rules of age verification.

use std::time::Duration;

use crate::ports::{MintAuthToken, MintTerms};

/// The settings of age verification.
#[derive(Clone, Debug)]
pub struct VerificationRules {
    /// How long a session can be decided (`verification.session_ttl_seconds`).
    pub session_ttl: Duration,
    /// The minimum age, in years (`verification.minimum_age`).
    pub minimum_age: u64,
    /// The mint of the proofs in the normal form ([`usher_protocol::mint_url`]), if configured
    /// (`verification.mint_url`).
    pub mint_url: Option<String>,
    /// The auth token for this mint (`verification.mint_token`).
    pub mint_auth: Option<MintAuthToken>,
    /// The unit of the proofs (`verification.unit`).
    pub unit: String,
    /// The amount of a proof, in the unit (`verification.amount`).
    pub amount: u64,
}

impl Default for VerificationRules {
    /// Sessions of 15 minutes for a minimum age of 18, without proofs.
    fn default() -> Self {
        Self {
            session_ttl: Duration::from_secs(900),
            minimum_age: 18,
            mint_url: None,
            mint_auth: None,
            unit: "multi".to_owned(),
            amount: 1,
        }
    }
}

impl VerificationRules {
    /// The proof for a user who passes.
    pub(super) fn proof(&self) -> Option<MintTerms> {
        Some(MintTerms {
            mint_url: self.mint_url.clone()?,
            unit: self.unit.clone(),
            amount: self.amount,
            description: None,
            auth: self.mint_auth.clone(),
            repeatable: true,
        })
    }
}
