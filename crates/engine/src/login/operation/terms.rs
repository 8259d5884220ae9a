//! What a login is started with, and what becomes of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::subkey::SubkeyProof;

use super::origin::LoginOrigin;
use crate::UnixMillis;

/// The parameters of a new login.
#[derive(Clone)]
pub struct LoginTerms {
    /// The token in the wallet's URL: random.
    pub token: String,
    /// The challenge to the wallet: random.
    pub wallet_challenge: String,
    /// The challenge to other signers: random.
    pub signer_challenge: String,
    /// The secret in its page's address: random.
    pub page_secret: String,
    /// The cookie of the browser that the page belongs to, if already known.
    pub browser: Option<String>,
    /// Who started it.
    pub origin: LoginOrigin,
    /// Where the page redirects at the end.
    pub return_url: Option<String>,
    /// Until when the user can begin.
    pub expires_at: UnixMillis,
    /// Time limit for the wallet's response to its challenge.
    pub challenge_ttl: Duration,
    /// The service's own proof, if it runs on a subkey.
    pub service_proof: Option<SubkeyProof>,
}

usher_protocol::words! {
    /// The method with which the user has proven the key.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum LoginMethod {
        /// A wallet of the wallet protocol.
        Wallet = "wallet",
        /// A browser extension (NIP-07).
        Extension = "extension",
        /// A remote signer (NIP-46).
        Signer = "signer",
        /// A key that the browser derives from a passkey (WebAuthn).
        Passkey = "passkey",
    }
}

/// The state of a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum LoginState {
    /// Not begun.
    Waiting,
    /// A wallet has scanned, and its user is asked to approve.
    Asking,
    /// The user holds this key.
    Approved {
        /// The key.
        main_key: PublicKey,
        /// The method.
        method: LoginMethod,
        /// The time.
        at: UnixMillis,
    },
    /// The user holds this key, and the app has not redeemed the code yet.
    Proven {
        /// The key.
        main_key: PublicKey,
        /// The method.
        method: LoginMethod,
        /// The time.
        at: UnixMillis,
    },
    /// The user declined.
    Declined,
    /// Expired.
    Expired,
}

impl LoginState {
    /// Whether the user can still log in.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Waiting | Self::Asking)
    }

    /// Whether it is final.
    pub const fn is_over(self) -> bool {
        !self.is_open() && !matches!(self, Self::Proven { .. })
    }
}

/// What the user has granted.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Grant {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) permissions: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) session_token: Option<String>,
}
