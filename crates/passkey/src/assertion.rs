//! Verifies the use of a passkey (WebAuthn, section 7.2). Implemented here because the signature covers the bytes that
//! the authenticator sent, including extensions that `webauthn_rp` refuses and the service ignores.

use p256::ecdsa::signature::Verifier as _;
use p256::elliptic_curve::point::DecompressPoint as _;
use serde::Deserialize;
use serde::de::IgnoredAny;
use sha2::{Digest as _, Sha256};
use webauthn_rp::response::Backup;
use webauthn_rp::response::register::{CompressedPubKey, DynamicState};

use crate::answer::{AssertionResponse, AuthenticatorData};
use crate::error::{PasskeyError, malformed};

const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const BACKUP_ELIGIBLE: u8 = 0x08;
const BACKED_UP: u8 = 0x10;

/// Most bits of an RSA modulus, as for registrations.
const MAX_RSA_BITS: usize = 16_384;

pub(crate) type StoredKey = CompressedPubKey<[u8; 32], [u8; 32], [u8; 48], Vec<u8>>;

/// `CollectedClientData`
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(default)]
    cross_origin: Option<bool>,
    #[serde(default)]
    top_origin: Option<IgnoredAny>,
}

/// The expected values of a response.
pub(crate) struct Expected<'a> {
    pub(crate) rp_id: &'a str,
    pub(crate) origin: &'a str,
    pub(crate) challenge: &'a str,
}

/// Verifies a response; returns the passkey's new state.
pub(crate) fn verify(
    expected: &Expected<'_>,
    answer: &AssertionResponse,
    key: &StoredKey,
    state: DynamicState,
) -> Result<DynamicState, PasskeyError> {
    let client_data = &*answer.client_data.0;
    let text = String::from_utf8_lossy(client_data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(client_data));
    let client: ClientData = serde_json::from_str(&text).map_err(malformed)?;
    let data = AuthenticatorData::read(&answer.authenticator_data.0).ok_or_else(|| malformed("authenticatorData"))?;
    let has = |flag| data.flags & flag != 0;
    let was_eligible = !matches!(state.backup, Backup::NotEligible);
    for (is_right, wrong) in [
        (client.kind == "webauthn.get", "not an answer of a use"),
        (client.challenge == expected.challenge, "another challenge"),
        (client.origin == expected.origin, "another origin"),
        (client.cross_origin != Some(true) && client.top_origin.is_none(), "in a frame of another origin"),
        (data.rp_id_hash == Sha256::digest(expected.rp_id).as_slice(), "another RP id"),
        (has(PRESENT), "the user was not present"),
        (has(VERIFIED), "the user was not verified"),
        (has(BACKUP_ELIGIBLE) || !has(BACKED_UP), "backed up, and not eligible for it"),
        (has(BACKUP_ELIGIBLE) == was_eligible, "its eligibility for backup has changed"),
    ] {
        if !is_right {
            return Err(PasskeyError::Refused(wrong.to_owned()));
        }
    }
    let signed = [&*answer.authenticator_data.0, &Sha256::digest(client_data)].concat();
    verify_signature(key, &signed, &answer.signature.0)
        .ok_or_else(|| PasskeyError::Refused("the signature is not valid".to_owned()))?;
    // Authenticators without a counter send 0.
    if data.counter <= state.sign_count && (data.counter, state.sign_count) != (0, 0) {
        return Err(PasskeyError::CounterWentBack);
    }
    let backup = match (has(BACKUP_ELIGIBLE), has(BACKED_UP)) {
        (false, _) => Backup::NotEligible,
        (true, false) => Backup::Eligible,
        (true, true) => Backup::Exists,
    };
    Ok(DynamicState { user_verified: true, backup, sign_count: data.counter, ..state })
}

pub(crate) fn verify_signature(key: &StoredKey, signed: &[u8], signature: &[u8]) -> Option<()> {
    match key {
        CompressedPubKey::Ed25519(key) => {
            let key = ed25519_dalek::VerifyingKey::from_bytes(key.inner()).ok()?;
            key.verify(signed, &ed25519_dalek::Signature::from_slice(signature).ok()?).ok()
        }
        CompressedPubKey::P256(key) => {
            let point = p256::AffinePoint::decompress(key.x().into(), u8::from(key.y_is_odd()).into());
            let key = p256::ecdsa::VerifyingKey::from_affine(point.into_option()?).ok()?;
            key.verify(signed, &p256::ecdsa::DerSignature::from_bytes(signature).ok()?).ok()
        }
        CompressedPubKey::P384(key) => {
            let point = p384::AffinePoint::decompress(key.x().into(), u8::from(key.y_is_odd()).into());
            let key = p384::ecdsa::VerifyingKey::from_affine(point.into_option()?).ok()?;
            key.verify(signed, &p384::ecdsa::DerSignature::from_bytes(signature).ok()?).ok()
        }
        CompressedPubKey::Rsa(key) => {
            let modulus = rsa::BigUint::from_bytes_be(key.n());
            let key = rsa::RsaPublicKey::new_with_max_size(modulus, key.e().into(), MAX_RSA_BITS).ok()?;
            let signature = rsa::pkcs1v15::Signature::try_from(signature).ok()?;
            rsa::pkcs1v15::VerifyingKey::<Sha256>::new(key).verify(signed, &signature).ok()
        }
    }
}
