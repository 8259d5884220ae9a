use std::fmt;

pub use usher_passkey::Credential as PasskeyCredential;
use usher_protocol::PublicKey;

use crate::UnixMillis;

/// A passkey with which a user logs in.
#[derive(Clone, PartialEq, Eq)]
pub struct Passkey {
    /// Its credential.
    pub credential: PasskeyCredential,
    /// The user's key: derived in their browser, or wrapped for this passkey there.
    pub main_key: PublicKey,
    /// The user's secret key, encrypted in the browser for this passkey; `None` if the key is derived from it.
    pub wrapped_key: Option<Vec<u8>>,
    /// When it was registered.
    pub created_at: UnixMillis,
    /// When it was last used.
    pub used_at: UnixMillis,
}

usher_protocol::debug_shows!(Passkey { main_key });

/// A change of a passkey by a login.
#[derive(Clone, PartialEq, Eq)]
pub enum PasskeyChange {
    /// Store it, unless one with the same id exists.
    Add(Box<Passkey>),
    /// Record a use, if it is stored.
    Use {
        /// Its id.
        credential_id: Vec<u8>,
        /// Its new state.
        state: Vec<u8>,
    },
}

impl fmt::Debug for PasskeyChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Add(_) => "Add",
            Self::Use { .. } => "Use",
        })
    }
}

/// The numbers of stored passkeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasskeyCount {
    /// Of all users.
    pub in_all: u64,
    /// Of one user.
    pub of_user: u64,
}
