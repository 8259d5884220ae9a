use nostr::secp256k1::{Parity, Scalar};
use nostr::{Keys, PublicKey, SECP256K1, SecretKey};
use sha2::{Digest as _, Sha256};

use super::metadata::{MAX_NAME_BYTES, Metadata};

/// The input of the hash's tag; part of the wire format.
const TAG: &[u8] = b"Portal/Subkey";

/// Why a subkey could not be derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeriveError {
    /// The name is longer than [`MAX_NAME_BYTES`].
    #[error("the subkey's name is longer than {MAX_NAME_BYTES} bytes")]
    NameTooLong,
    /// The main key is not a point on the curve.
    #[error("the main key is not a point on the curve")]
    NotAPoint,
    /// The tweak is not a scalar, or gives no key: about 1 in 2^128.
    #[error("this metadata leads to no key: take another nonce")]
    NoKey,
}

/// The public subkey of `main` for `metadata`: x(lift_x(main) + tweak·G).
pub fn derive_public(main: &PublicKey, metadata: &Metadata) -> Result<PublicKey, DeriveError> {
    let tweak = tweak(metadata)?;
    let main = main.xonly().map_err(|_| DeriveError::NotAPoint)?;
    let (subkey, _) = main.add_tweak(SECP256K1, &tweak).map_err(|_| DeriveError::NoKey)?;
    Ok(PublicKey::from(subkey))
}

/// The secret subkey of `main` for `metadata`. `Debug` of [`Keys`] shows only the public key.
pub fn derive_secret(main: &SecretKey, metadata: &Metadata) -> Result<Keys, DeriveError> {
    let tweak = tweak(metadata)?;
    let (_, parity) = main.x_only_public_key(SECP256K1);
    let main: nostr::secp256k1::SecretKey = **main;
    let even = if parity == Parity::Odd { main.negate() } else { main };
    let subkey = even.add_tweak(&tweak).map_err(|_| DeriveError::NoKey)?;
    Ok(Keys::new(SecretKey::from(subkey)))
}

/// SHA256(tag ‖ tag ‖ canonical) with tag = SHA256([`TAG`]).
fn tweak(metadata: &Metadata) -> Result<Scalar, DeriveError> {
    let tag = Sha256::digest(TAG);
    let digest = Sha256::new().chain_update(tag).chain_update(tag).chain_update(canonical(metadata)?).finalize();
    Scalar::from_be_bytes(digest.into()).map_err(|_| DeriveError::NoKey)
}

/// The hashed bytes: version, length of the name and name, nonce, validity, permissions.
fn canonical(metadata: &Metadata) -> Result<Vec<u8>, DeriveError> {
    let name = metadata.name.as_bytes();
    if name.len() > MAX_NAME_BYTES {
        return Err(DeriveError::NameTooLong);
    }
    let name_len = u16::try_from(name.len()).map_err(|_| DeriveError::NameTooLong)?;
    let mut bytes = Vec::with_capacity(1 + 2 + name.len() + 32 + 8 + 8 + 1);
    bytes.push(metadata.version);
    bytes.extend_from_slice(&name_len.to_le_bytes());
    bytes.extend_from_slice(name);
    bytes.extend_from_slice(&metadata.nonce);
    bytes.extend_from_slice(&metadata.valid_from.to_le_bytes());
    bytes.extend_from_slice(&metadata.expires_at.to_le_bytes());
    bytes.push(metadata.permissions.bits());
    Ok(bytes)
}
