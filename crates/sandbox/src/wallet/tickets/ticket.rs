//! Mints, and tickets that the user received or gives.

use serde::{Deserialize, Serialize};
use usher_engine::ports::MintAuthToken;

use crate::wallet::Secret;

/// A mint that requires a token of its users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownMint {
    pub mint_url: String,
    /// The token (`Clear-auth`, NUT-21).
    pub auth_token: Secret,
}

/// A ticket that the user received: nobody else can spend it any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedTicket {
    pub mint_url: String,
    pub unit: String,
    /// What was received, in its unit: the token's value without the mint's fee.
    pub amount: u64,
    /// It was received before: the balance has not changed now.
    pub again: bool,
}

/// How much of what to give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TicketAmount {
    /// How much, in the unit.
    pub amount: u64,
    /// The unit; may be left out when the user holds tickets of one unit only.
    pub unit: Option<String>,
    /// The mint; may be left out when the user holds tickets of one mint only.
    pub mint_url: Option<String>,
}

impl KnownMint {
    pub(super) fn auth(mints: &[Self], mint_url: &str) -> Option<MintAuthToken> {
        let same = |known: &&Self| known.mint_url.trim_end_matches('/') == mint_url.trim_end_matches('/');
        mints.iter().find(same).map(|known| MintAuthToken(known.auth_token.0.clone()))
    }
}
