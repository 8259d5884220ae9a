//! The service's identity on Nostr.

use std::fmt;

use usher_protocol::subkey::SubkeyProof;
use usher_protocol::{Keys, PublicKey};

/// The service's keys.
#[derive(Clone)]
pub struct Identity {
    /// The key that signs and decrypts.
    pub keys: Keys,
    /// The service's main key: that of `keys`, or, when the service runs on a subkey, the key from which the subkey was derived.
    pub main_key: PublicKey,
    /// The proof that `keys` belong to `main_key`, when the service runs on a subkey.
    pub subkey_proof: Option<SubkeyProof>,
}

impl Identity {
    /// A service that runs on its main key.
    pub fn of_main_key(keys: Keys) -> Self {
        Self { main_key: keys.public_key(), keys, subkey_proof: None }
    }

    /// The key that signs.
    pub fn own_key(&self) -> PublicKey {
        self.keys.public_key()
    }

    /// The keys to which messages for us are addressed: our own, and the main key if it differs.
    pub(crate) fn addressed_by(&self) -> Vec<PublicKey> {
        let own = self.own_key();
        if own == self.main_key { vec![own] } else { vec![own, self.main_key] }
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("main_key", &self.main_key.to_hex()).finish_non_exhaustive()
    }
}
