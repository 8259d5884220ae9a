use rand::RngCore as _;
use usher_protocol::subkey::{self, DeriveError, Metadata, Permission, SubkeyProof};
use usher_protocol::{Keys, PublicKey};

/// The key of a wallet. `Debug` shows only the public key.
#[derive(Clone, Debug)]
pub enum Identity {
    Main(Keys),
    /// A device: a subkey and the proof that it belongs to a main key, which the device does not hold.
    Device {
        keys: Keys,
        proof: Box<SubkeyProof>,
    },
}

/// What a main key allows a device. Tests set an expired time or omit a permission.
#[derive(Clone, Debug)]
pub struct DeviceTerms {
    pub name: String,
    /// Unix seconds from which the proof is valid.
    pub valid_from: u64,
    /// Unix seconds from which the proof is no longer valid.
    pub expires_at: u64,
    pub permissions: Vec<Permission>,
}

impl DeviceTerms {
    /// All permissions, without an end.
    pub fn unlimited(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            valid_from: 0,
            // The year 2286; far enough, and all JSON parsers take it.
            expires_at: 9_999_999_999,
            permissions: vec![Permission::Auth, Permission::Payment],
        }
    }
}

impl Identity {
    pub fn generate() -> Self {
        Self::Main(Keys::generate())
    }

    /// A new device of this user.
    ///
    /// # Errors
    /// [`DeriveError::NameTooLong`].
    pub fn device(&self, terms: DeviceTerms) -> Result<Self, DeriveError> {
        let mut nonce = [0; 32];
        rand::rng().fill_bytes(&mut nonce);
        let metadata = Metadata {
            name: terms.name,
            nonce,
            valid_from: terms.valid_from,
            expires_at: terms.expires_at,
            permissions: terms.permissions.into_iter().collect(),
            version: subkey::VERSION,
        };
        let keys = subkey::derive_secret(self.keys().secret_key(), &metadata)?;
        // A device can have devices: their keys are derived from its subkey.
        let proof = Box::new(SubkeyProof { main_key: self.public_key(), metadata });
        Ok(Self::Device { keys, proof })
    }

    pub const fn keys(&self) -> &Keys {
        match self {
            Self::Main(keys) | Self::Device { keys, .. } => keys,
        }
    }

    pub fn public_key(&self) -> PublicKey {
        self.keys().public_key()
    }

    pub fn main_key(&self) -> PublicKey {
        match self {
            Self::Main(keys) => keys.public_key(),
            Self::Device { proof, .. } => proof.main_key,
        }
    }

    pub fn proof(&self) -> Option<&SubkeyProof> {
        match self {
            Self::Main(_) => None,
            Self::Device { proof, .. } => Some(proof),
        }
    }
}
