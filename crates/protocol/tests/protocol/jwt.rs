//! JSON Web Tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, Mac as _};
use nostr::secp256k1::{Message, Parity};
use proptest::prelude::*;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use usher_protocol::jwt::{self, CLOCK_SKEW_SECS, IssueError, JwtIssuer, MAX_TOKEN_BYTES, VerifyError};
use usher_protocol::{Keys, PublicKey, SecretKey};

use crate::wire_samples::{MAIN_KEY, OTHER_KEY};

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

fn encode(value: &Value) -> String {
    BASE64.encode(value.to_string())
}

/// A token of this header and these claims, properly signed.
pub(crate) fn signed(header: &Value, claims: &Value) -> String {
    signed_bytes(header.to_string().as_bytes(), claims.to_string().as_bytes())
}

/// As [`signed`], whether these bytes are JSON or not.
pub(crate) fn signed_bytes(header: &[u8], claims: &[u8]) -> String {
    let text = format!("{}.{}", BASE64.encode(header), BASE64.encode(claims));
    let secret: nostr::secp256k1::SecretKey = **issuer().secret_key();
    let even = match secret.x_only_public_key(nostr::SECP256K1).1 {
        Parity::Even => secret,
        Parity::Odd => secret.negate(),
    };
    let digest = Message::from_digest(Sha256::digest(&text).into());
    let signature = nostr::SECP256K1.sign_ecdsa(&digest, &even).serialize_compact();
    format!("{text}.{}", BASE64.encode(signature))
}

pub(crate) fn claims() -> Value {
    json!({"iat": NOW, "nbf": NOW, "exp": NOW + 3600, "target_key": MAIN_KEY})
}

pub(crate) fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[name] = value;
    claims
}

pub(crate) fn es256k() -> Value {
    json!({"alg": "ES256K"})
}

fn verified(token: &str, now: u64) -> Result<PublicKey, VerifyError> {
    jwt::verify(token, &issuer().public_key(), now).map(|token| token.target_key)
}

#[test]
fn issued_token_verifies_until_it_expires() {
    for issuer in [issuer(), even_issuer()] {
        let token = jwt::issue(&issuer, target(), NOW, 3600).unwrap();
        let at = |now| jwt::verify(&token, &issuer.public_key(), now);
        assert_eq!(
            at(NOW),
            Ok(jwt::Token {
                target_key: target(),
                issued_at: Some(NOW),
                not_before: Some(NOW),
                expires_at: NOW + 3600
            })
        );
        assert!(at(NOW + 3599).is_ok());
        assert_eq!(at(NOW + 3600), Err(VerifyError::Expired));
        assert_eq!(at(NOW + 3600 + 5 * 3600), Err(VerifyError::Expired));
        assert_eq!(at(u64::MAX), Err(VerifyError::Expired));
        assert!(at(NOW - CLOCK_SKEW_SECS).is_ok());
        assert_eq!(at(NOW - CLOCK_SKEW_SECS - 1), Err(VerifyError::NotYetValid));
        assert_eq!(at(0), Err(VerifyError::NotYetValid));
    }
}

#[test]
fn wire_form_is_pinned() {
    let token = jwt::issue(&issuer(), target(), NOW, 3600).unwrap();
    let parts: Vec<&str> = token.split('.').collect();
    let json = |part: &str| serde_json::from_slice::<Value>(&BASE64.decode(part).unwrap()).unwrap();
    assert_eq!(json(parts[0]), json!({"alg": "ES256K", "typ": "JWT"}));
    assert_eq!(json(parts[1]), claims());
    assert_eq!(BASE64.decode(parts[2]).unwrap().len(), 64);
    assert_eq!(parts.len(), 3);
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
fn time_claims_are_checked() {
    let at_now = |claims: &Value| verified(&signed(&es256k(), claims), NOW);
    assert_eq!(at_now(&claims()), Ok(target()));
    assert_eq!(at_now(&with("exp", json!(NOW))), Err(VerifyError::Expired));
    assert_eq!(at_now(&with("exp", json!(NOW + 1))), Ok(target()));
    assert_eq!(at_now(&with("exp", json!(0))), Err(VerifyError::Expired));
    assert_eq!(at_now(&with("exp", json!(-5))), Err(VerifyError::Expired));
    assert_eq!(at_now(&with("nbf", json!(NOW + CLOCK_SKEW_SECS))), Ok(target()));
    assert_eq!(at_now(&with("nbf", json!(NOW + CLOCK_SKEW_SECS + 1))), Err(VerifyError::NotYetValid));
    assert_eq!(at_now(&with("nbf", json!(-8_334_601_228_800_i64))), Ok(target()));
    for optional in ["iat", "nbf"] {
        let mut claims = claims();
        claims.as_object_mut().unwrap().remove(optional);
        assert_eq!(at_now(&claims), Ok(target()), "without {optional}");
    }
    let mut eternal = claims();
    eternal.as_object_mut().unwrap().remove("exp");
    assert_eq!(at_now(&eternal), Err(VerifyError::NoExpiry));
    for claim in ["exp", "nbf", "iat"] {
        for bad in [json!("1732141200"), json!(true), Value::Null, json!([NOW + 1]), json!({})] {
            assert_eq!(at_now(&with(claim, bad.clone())), Err(VerifyError::Malformed), "{claim} {bad}");
        }
        for bad in [json!(i64::MAX), json!(u64::MAX), json!(1_u64 << 53), json!(1e300), json!(-1e300)] {
            assert_eq!(at_now(&with(claim, bad.clone())), Err(VerifyError::Malformed), "{claim} {bad}");
        }
    }
    assert_eq!(at_now(&with("exp", json!((1_u64 << 53) - 1))), Ok(target()));
    assert_eq!(at_now(&with("exp", json!(1_732_137_600.9))), Err(VerifyError::Expired), "rounded down");
}

#[test]
fn other_algorithms_are_refused() {
    for header in [
        json!({"alg": "none"}),
        json!({"alg": "None"}),
        json!({"alg": ""}),
        json!({"alg": "HS256"}),
        json!({"alg": "ES256"}),
        json!({"alg": "EdDSA"}),
        json!({"alg": "es256k"}),
    ] {
        assert_eq!(verified(&signed(&header, &claims()), NOW), Err(VerifyError::Algorithm), "{header}");
        let unsigned = format!("{}.{}.", encode(&header), encode(&claims()));
        assert_eq!(verified(&unsigned, NOW), Err(VerifyError::Algorithm), "{header}");
    }
    // HS256 keyed with the public key: the classic confusion.
    let text = format!("{}.{}", encode(&json!({"alg": "HS256"})), encode(&claims()));
    let mac = Hmac::<Sha256>::new_from_slice(issuer().public_key().as_bytes()).unwrap().chain_update(&text).finalize();
    let token = format!("{text}.{}", BASE64.encode(mac.into_bytes()));
    assert_eq!(verified(&token, NOW), Err(VerifyError::Algorithm));
}

#[test]
fn wrong_signatures_are_refused() {
    let token = jwt::issue(&issuer(), target(), NOW, 3600).unwrap();
    assert_eq!(jwt::verify(&token, &even_issuer().public_key(), NOW), Err(VerifyError::Signature));
    assert_eq!(jwt::verify(&token, &target(), NOW), Err(VerifyError::Signature));
    let unsigned = format!("{}.{}.", encode(&es256k()), encode(&claims()));
    assert_eq!(verified(&unsigned, NOW), Err(VerifyError::Signature));
    for signature in [vec![0; 64], vec![0xff; 64], vec![1; 63], vec![1; 65]] {
        assert_eq!(verified(&format!("{unsigned}{}", BASE64.encode(signature)), NOW), Err(VerifyError::Signature));
    }
    // Other claims under the same signature.
    let parts: Vec<&str> = token.split('.').collect();
    let changed = format!("{}.{}.{}", parts[0], encode(&with("target_key", json!(OTHER_KEY))), parts[2]);
    assert_eq!(verified(&changed, NOW), Err(VerifyError::Signature));
    let nowhere = PublicKey::from_byte_array([0xff; 32]);
    assert_eq!(jwt::verify(&token, &nowhere, NOW), Err(VerifyError::BadKey));
}

#[test]
fn malformed_tokens_are_refused() {
    let good = signed(&es256k(), &claims());
    for bad in [
        String::new(),
        ".".to_owned(),
        "..".to_owned(),
        "a.b.c".to_owned(),
        "not a token".to_owned(),
        good.replace('.', ""),
        format!("{good}.x"),
        format!(" {good}"),
        format!("{good}="),
        format!("{}.{good}", encode(&es256k())),
        signed(&json!([]), &claims()),
        signed(&json!({}), &claims()),
        signed(&es256k(), &json!([])),
        signed(&es256k(), &with("target_key", json!("00"))),
        signed(&es256k(), &with("target_key", Value::Null)),
        signed(&json!({"alg": "ES256K", "crit": ["exp"]}), &claims()),
        signed(&json!({"alg": "ES256K", "crit": []}), &claims()),
        signed(&json!({"alg": "ES256K", "crit": null}), &claims()),
        signed(&es256k(), &with("x", json!("y".repeat(MAX_TOKEN_BYTES)))),
    ] {
        assert_eq!(verified(&bad, NOW), Err(VerifyError::Malformed), "{bad}");
    }
    assert_eq!(verified(&good, NOW), Ok(target()));
    assert_eq!(
        verified(&signed(&json!({"alg": "ES256K", "typ": "JWT", "kid": "1"}), &with("iss", json!("x"))), NOW),
        Ok(target())
    );
}

#[test]
fn times_out_of_range_are_not_issued() {
    assert_eq!(jwt::issue(&issuer(), target(), u64::MAX, 1), Err(IssueError::Time));
    assert_eq!(jwt::issue(&issuer(), target(), NOW, u64::MAX), Err(IssueError::Time));
    assert_eq!(jwt::issue(&issuer(), target(), NOW, u64::MAX / 4), Err(IssueError::Time));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn issued_tokens_are_valid_exactly_within_their_time(
        secret in any::<[u8; 32]>(), from in 0u64..4_000_000_000, duration in 0u64..31_536_000, now in 0u64..4_100_000_000, near in any::<bool>(),
    ) {
        let Ok(secret) = SecretKey::from_slice(&secret) else { return Ok(()) };
        let now = if near { (from + duration).saturating_sub(now % 3) } else { now };
        let issuer = Keys::new(secret);
        let token = jwt::issue(&issuer, target(), from, duration).unwrap();
        let counts = from <= now + CLOCK_SKEW_SECS && now < from + duration;
        prop_assert_eq!(jwt::verify(&token, &issuer.public_key(), now).is_ok(), counts);
    }

    #[test]
    fn modified_token_is_refused(at in any::<prop::sample::Index>(), to in "[A-Za-z0-9_.-]") {
        let token = jwt::issue(&issuer(), target(), NOW, 3600).unwrap();
        let at = at.index(token.len());
        let changed = format!("{}{to}{}", &token[..at], &token[at + 1..]);
        prop_assume!(changed != token);
        prop_assert!(verified(&changed, NOW).is_err());
    }
}

#[test]
fn debug_of_the_issuer_hides_its_key() {
    let issuer = JwtIssuer::new(issuer());
    let shown = format!("{issuer:?}");
    assert!(!shown.contains("00339354daddf16d") && shown.contains(&issuer.public_key().to_hex()), "{shown}");
    let token = issuer.issue(target(), NOW, 3600).unwrap();
    assert_eq!(jwt::verify(&token, &issuer.public_key(), NOW).unwrap().target_key, target());
}

/// The other signature that holds for the same text: S negated, which takes no key.
pub(crate) fn with_other_s(token: &str) -> String {
    const ORDER: [u8; 32] = [
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xba, 0xae,
        0xdc, 0xe6, 0xaf, 0x48, 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41,
    ];
    let (text, signature) = token.rsplit_once('.').unwrap();
    let mut signature = BASE64.decode(signature).unwrap();
    let mut borrow = 0_i16;
    for (byte, order) in signature[32..].iter_mut().zip(ORDER).rev() {
        let difference = i16::from(order) - i16::from(*byte) - borrow;
        borrow = i16::from(difference < 0);
        *byte = u8::try_from(difference.rem_euclid(256)).unwrap();
    }
    format!("{text}.{}", BASE64.encode(signature))
}

#[test]
fn high_s_signature_verifies() {
    let token = signed(&es256k(), &claims());
    assert_eq!(verified(&token, NOW), Ok(target()));
    let other = with_other_s(&token);
    assert_eq!(with_other_s(&other), token);
    assert_eq!(verified(&other, NOW), Ok(target()));
}
