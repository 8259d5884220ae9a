//! JSON Web Tokens. Most of what is refused is a row of the clients' vectors: see `client_vectors`.

use usher_protocol::jwt::{self, CLOCK_SKEW_SECS, IssueError, JwtIssuer, VerifyError};
use usher_protocol::{Keys, PublicKey, SecretKey};

use crate::tests::wire_samples::{MAIN_KEY, OTHER_KEY};

pub(crate) const NOW: u64 = 1_732_137_600;

/// A key whose point has odd Y, which is the harder case.
pub(crate) fn issuer() -> Keys {
    Keys::new(SecretKey::from_hex("00339354daddf16d18a452c46c00b1535126d8d5a0d88e54c7e1e07b33484f0f").unwrap())
}

pub(crate) fn even_issuer() -> Keys {
    Keys::new(SecretKey::from_hex("97035cfeed3491d3379b4ee712e98bb900915f75744751206923dc893fdcbeee").unwrap())
}

pub(crate) fn target() -> PublicKey {
    PublicKey::from_hex(MAIN_KEY).unwrap()
}

#[test]
fn issued_token_verifies_until_it_expires() {
    for issuer in [issuer(), even_issuer()] {
        let token = jwt::issue(&issuer, target(), NOW, 3600).unwrap();
        let at = |now| jwt::verify(&token, &issuer.public_key(), now);
        let (issued_at, not_before) = (Some(NOW), Some(NOW));
        let read = jwt::Token { target_key: target(), issued_at, not_before, expires_at: NOW + 3600 };
        assert_eq!(at(NOW), Ok(read));
        assert!(at(NOW + 3599).is_ok());
        for late in [NOW + 3600, NOW + 3600 + 5 * 3600, u64::MAX] {
            assert_eq!(at(late), Err(VerifyError::Expired));
        }
        assert!(at(NOW - CLOCK_SKEW_SECS).is_ok());
        for early in [NOW - CLOCK_SKEW_SECS - 1, 0] {
            assert_eq!(at(early), Err(VerifyError::NotYetValid));
        }
        assert_eq!(jwt::verify(&token, &Keys::generate().public_key(), NOW), Err(VerifyError::Signature));
        assert_eq!(jwt::verify(&token, &PublicKey::from_byte_array([0xff; 32]), NOW), Err(VerifyError::BadKey));
    }
    for (from, duration) in [(u64::MAX, 1), (NOW, u64::MAX), (NOW, u64::MAX / 4)] {
        assert_eq!(jwt::issue(&issuer(), target(), from, duration), Err(IssueError::Time));
    }
}

/// Test vectors, signed by an independent program (see `subkey::derivation_matches_independent_vectors`; here ECDSA with the
/// fixed nonce k = 0x1234567890abcdef): `r = x(k·G)`, `s = k⁻¹·(SHA256(header.claims) + r·d) mod n`, d the secret
/// key, negated when its point has odd Y. First: odd Y, low s. Second: odd Y, with `typ`, and the high s that some
/// libraries make. Third: even Y.
#[test]
fn independently_signed_tokens_verify() {
    const CLAIMS: &str = "eyJpYXQiOjE3MzIxMzc2MDAsIm5iZiI6MTczMjEzNzYwMCwiZXhwIjoxNzMyMTQxMjAwLCJ0YXJnZXRfa2V5IjoiMTk2ZjEwZDBjMDcyNmU3YzI1YWM0OGZiNWNmYzc4ZjYyMGEyNDE1ODk4NmY1MjQwMGUxNTRhMDY4ZjA0MzgxYyJ9";
    for (issuer, header, signature) in [
        (
            OTHER_KEY,
            "eyJhbGciOiJFUzI1NksifQ",
            "-XOguHBiw4nRJdgZnoA7gytqxr94Z6T2zYdQYGD8TFg_0drwD88RplyvQYstjupUqD34yQSedrVnh0ODAtYqIA",
        ),
        (
            OTHER_KEY,
            "eyJhbGciOiJFUzI1NksiLCJ0eXAiOiJKV1QifQ",
            "-XOguHBiw4nRJdgZnoA7gytqxr94Z6T2zYdQYGD8TFi2jgRjznD4RJXYyF-T7O6SL6_NEfi-jZ7wgqWWnM9pQQ",
        ),
        (
            MAIN_KEY,
            "eyJhbGciOiJFUzI1NksifQ",
            "-XOguHBiw4nRJdgZnoA7gytqxr94Z6T2zYdQYGD8TFhDV-6TsmO3EbxNi85ZYd-JXQpA1m7rZmstoXSwLJcQrA",
        ),
    ] {
        let token = format!("{header}.{CLAIMS}.{signature}");
        let issuer = PublicKey::from_hex(issuer).unwrap();
        let verified = jwt::verify(&token, &issuer, NOW + 1).unwrap();
        assert_eq!((verified.target_key, verified.expires_at), (target(), NOW + 3600));
        assert_eq!(jwt::verify(&token, &issuer, NOW + 3600), Err(VerifyError::Expired));
    }
}

#[test]
fn debug_of_the_issuer_hides_its_key() {
    let issuer = JwtIssuer::new(issuer());
    let shown = format!("{issuer:?}");
    assert!(!shown.contains("00339354daddf16d") && shown.contains(&issuer.public_key().to_hex()), "{shown}");
}
