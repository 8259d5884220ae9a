//! Authentication (docs/protocol.md, Authentication).

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use super::sensitive::Hidden;
use crate::subkey::SubkeyProof;
use crate::{serde_helpers, text};

/// Most permissions kept of a list; dropping others only grants less.
pub const MAX_PERMISSIONS: usize = 32;

const MAX_PERMISSION_BYTES: usize = 64;

/// Longest session token, in bytes.
pub const MAX_SESSION_TOKEN_BYTES: usize = 8 * 1024;

/// Kind 27000: asks the user to prove who they are.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthChallenge {
    /// 32 random alphanumerics.
    #[serde(deserialize_with = "serde_helpers::id")]
    pub challenge: String,
    /// Unix seconds until which a reply is valid.
    #[serde(with = "serde_helpers::timestamp")]
    pub expires_at: u64,
    /// The requested permissions; the user may grant less.
    #[serde(default, deserialize_with = "permissions")]
    pub required_permissions: Vec<String>,
    /// The service's proof, if it runs on a subkey.
    #[serde(default)]
    pub subkey_proof: Option<SubkeyProof>,
}

/// Kind 27001: the user's reply to a challenge.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthResponse {
    /// The challenge.
    #[serde(deserialize_with = "serde_helpers::id")]
    pub challenge: String,
    /// The author's proof, if the author is a subkey. An unreadable one is omitted: the reply is then its author's.
    #[serde(default, deserialize_with = "serde_helpers::if_readable")]
    pub subkey_proof: Option<SubkeyProof>,
    /// The decision.
    pub status: AuthStatus,
}

/// The decision of the user.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum AuthStatus {
    /// The user approved.
    Approved {
        /// Permissions the wallet granted; at most [`MAX_PERMISSIONS`].
        #[serde(default, deserialize_with = "permissions")]
        granted_permissions: Vec<String>,
        /// May be a JWT that the wallet issued; at most [`MAX_SESSION_TOKEN_BYTES`] of visible ASCII.
        #[serde(default, deserialize_with = "session_token")]
        session_token: Option<String>,
    },
    /// The user declined.
    Declined {
        /// The reason, in the user's or wallet's words; at most [`text::MAX_REASON_CHARS`].
        #[serde(default, deserialize_with = "serde_helpers::optional_words::<_, { text::MAX_REASON_CHARS }>")]
        reason: Option<String>,
    },
}

fn permissions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    serde_helpers::some_of(deserializer, MAX_PERMISSIONS, |name| serde_helpers::is_visible(name, MAX_PERMISSION_BYTES))
}

/// An empty token counts as none: some wallets cannot omit a field.
fn session_token<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    match Option::<String>::deserialize(deserializer)? {
        Some(token) if token.is_empty() => Ok(None),
        Some(token) if !serde_helpers::is_visible(&token, MAX_SESSION_TOKEN_BYTES) => {
            Err(serde::de::Error::custom("the session token is too long or not visible ASCII"))
        }
        token => Ok(token),
    }
}

impl fmt::Debug for AuthChallenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthChallenge")
            .field("challenge", &Hidden)
            .field("expires_at", &self.expires_at)
            .field("required_permissions", &self.required_permissions)
            .field("subkey_proof", &self.subkey_proof)
            .finish()
    }
}

impl fmt::Debug for AuthResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthResponse")
            .field("challenge", &Hidden)
            .field("subkey_proof", &self.subkey_proof)
            .field("status", &self.status)
            .finish()
    }
}

impl fmt::Debug for AuthStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Approved { granted_permissions, session_token } => f
                .debug_struct("Approved")
                .field("granted_permissions", granted_permissions)
                .field("session_token", &session_token.as_ref().map(|_| Hidden))
                .finish(),
            Self::Declined { reason } => f.debug_struct("Declined").field("reason", reason).finish(),
        }
    }
}
