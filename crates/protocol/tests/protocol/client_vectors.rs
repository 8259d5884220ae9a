//! The shared vectors of the client libraries (clients/test-vectors): JWTs, and preimages with their payment hashes.
//!
//! `UPDATE_VECTORS=1 cargo test -p usher-protocol --test protocol client_vectors` writes the files.

use std::path::PathBuf;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use usher_protocol::jwt::{CLOCK_SKEW_SECS, VerifyError, issue, verify};
use usher_protocol::{Keys, PublicKey};

use crate::jwt::{NOW, claims, es256k, even_issuer, issuer, signed, target, with, with_other_s};
use crate::wire_samples::{MAIN_KEY, OTHER_KEY};

/// Compares a file of vectors with `made`, or writes it.
#[track_caller]
fn check(name: &str, made: &Value) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../clients/test-vectors").join(name);
    if std::env::var_os("UPDATE_VECTORS").is_some() {
        std::fs::write(&path, serde_json::to_string_pretty(made).unwrap() + "\n").unwrap();
    }
    let committed: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert!(committed == *made, "clients/test-vectors/{name} is not current: run the test with UPDATE_VECTORS=1");
}

/// A token, and what the service says of it.
fn case(name: &str, issuer: &Keys, token: &str, now: u64) -> Value {
    let mut case = json!({ "name": name, "public_key": issuer.public_key().to_hex(), "token": token, "now": now });
    match verify(token, &issuer.public_key(), now) {
        Ok(valid) => {
            case["valid"] = json!({ "target_key": valid.target_key.to_hex(), "expires_at": valid.expires_at });
        }
        Err(VerifyError::Expired) => case["error"] = json!("jwt_expired"),
        Err(_) => case["error"] = json!("jwt_invalid"),
    }
    case
}

fn without(name: &str) -> Value {
    let mut claims = claims();
    claims.as_object_mut().unwrap().remove(name);
    claims
}

/// The 64 bytes of a signature leave four bits of the last letter unused: another text for the same bytes.
fn with_unused_bits(token: &str) -> String {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (start, last) = token.split_at(token.len() - 1);
    let value = LETTERS.find(last).unwrap();
    assert_eq!(value % 16, 0);
    format!("{start}{}", &LETTERS[value + 1..value + 2])
}

fn changed_payload(token: &str) -> String {
    let mut parts: Vec<&str> = token.split('.').collect();
    let other = signed(&es256k(), &with("target_key", json!(OTHER_KEY)));
    parts[1] = other.split('.').nth(1).unwrap();
    parts.join(".")
}

#[test]
fn jwt_vectors_match_the_service() {
    let odd = issuer();
    let even = even_issuer();
    let issued = issue(&odd, target(), NOW, 3600).unwrap();
    let by_even = issue(&even, target(), NOW, 3600).unwrap();
    let of = |claims: &Value| signed(&es256k(), claims);
    let header = |header: Value| signed(&header, &claims());
    let unsigned = { issued.rsplit_once('.').unwrap().0.to_owned() + "." };
    let cases = vec![
        case("issued by a key with odd Y", &odd, &issued, NOW),
        case("issued by a key with even Y", &even, &by_even, NOW),
        case("in its last second", &odd, &issued, NOW + 3599),
        case("expired this second", &odd, &issued, NOW + 3600),
        case("expired a day ago", &odd, &issued, NOW + 90_000),
        case("signed by another key", &even, &issued, NOW),
        case("expired, and signed by another key", &even, &issued, NOW + 90_000),
        case("with another payload", &odd, &changed_payload(&issued), NOW),
        case("with the high S, which anybody can derive", &odd, &with_other_s(&issued), NOW),
        case("not valid yet, within the leeway for clocks", &odd, &of(&with("nbf", json!(NOW + CLOCK_SKEW_SECS))), NOW),
        case("not valid yet", &odd, &of(&with("nbf", json!(NOW + CLOCK_SKEW_SECS + 1))), NOW),
        case("without nbf and iat", &odd, &of(&json!({ "exp": NOW + 60, "target_key": MAIN_KEY })), NOW),
        case("without exp", &odd, &of(&without("exp")), NOW),
        case("without target_key", &odd, &of(&without("target_key")), NOW),
        case("with a target_key that is no key", &odd, &of(&with("target_key", json!("abc"))), NOW),
        case(
            "of the algorithm none, unsigned",
            &odd,
            &format!("{}.", header(json!({ "alg": "none" })).rsplit_once('.').unwrap().0),
            NOW,
        ),
        case("of the algorithm none, signed", &odd, &header(json!({ "alg": "none" })), NOW),
        case("of the algorithm ES256", &odd, &header(json!({ "alg": "ES256" })), NOW),
        case("of the algorithm HS256", &odd, &header(json!({ "alg": "HS256" })), NOW),
        case("without an algorithm", &odd, &header(json!({ "typ": "JWT" })), NOW),
        case("with critical extensions", &odd, &header(json!({ "alg": "ES256K", "crit": ["exp"] })), NOW),
        case("without a signature", &odd, &unsigned, NOW),
        case("of two parts", &odd, issued.rsplit_once('.').unwrap().0, NOW),
        case("of four parts", &odd, &format!("{issued}.AAAA"), NOW),
        case("with base64 padding", &odd, &format!("{issued}=="), NOW),
        case("with unused bits of the base64 of its signature set", &odd, &with_unused_bits(&issued), NOW),
        case("with a target_key that is no point", &odd, &of(&with("target_key", json!("f".repeat(64)))), NOW),
        case(
            "with a target_key that is no point either",
            &odd,
            &of(&with("target_key", json!(format!("{:064}", 5)))),
            NOW,
        ),
        case("with a target_key in upper case", &odd, &of(&with("target_key", json!(MAIN_KEY.to_uppercase()))), NOW),
        case("with exp as text", &odd, &of(&with("exp", json!((NOW + 60).to_string()))), NOW),
        case("with exp as a fraction", &odd, &of(&with("exp", json!(1_732_137_660.5))), NOW),
        case("with iat as text", &odd, &of(&with("iat", json!("now"))), NOW),
        case("with iat in the future", &odd, &of(&with("iat", json!(NOW + 600))), NOW),
        case("that is empty", &odd, "", NOW),
        case("that is not base64", &odd, "ä.ö.ü", NOW),
    ];
    let valid = cases.iter().filter(|case| case.get("valid").is_some()).count();
    assert!(valid > 4, "the service refuses all but these");
    check(
        "jwts.json",
        &json!({
            "about": "JWTs, and what the service says of them. Times are Unix seconds. Written by crates/protocol/tests/protocol/client_vectors.rs.",
            "cases": cases,
        }),
    );
}

#[test]
fn preimage_vectors_match_their_payment_hashes() {
    let hash = |bytes: &[u8]| hex::encode(Sha256::digest(bytes));
    let zeros = [0_u8; 32];
    let counted: Vec<u8> = (1..=32).collect();
    let case = |name: &str, preimage: &str, payment_hash: &str, matches: bool| json!({ "name": name, "preimage": preimage, "payment_hash": payment_hash, "matches": matches });
    let text = hex::encode(&counted);
    let cases = vec![
        case("all zeros", &hex::encode(zeros), &hash(&zeros), true),
        case("1 to 32", &text, &hash(&counted), true),
        case("in upper case", &text.to_uppercase(), &hash(&counted).to_uppercase(), true),
        case("of another payment", &text, &hash(&zeros), false),
        case("the hash itself", &hash(&counted), &hash(&counted), false),
        case("the hash of the text, not of the bytes", &text, &hash(text.as_bytes()), false),
        case("31 bytes", &text[2..], &hash(&counted[1..]), false),
        case("33 bytes", &format!("{text}00"), &hash(&[&counted[..], &[0]].concat()), false),
        case("not hex", &"zz".repeat(32), &hash(&counted), false),
        case("both empty", "", &hash(&[]), false),
    ];
    check(
        "preimages.json",
        &json!({
            "about": "Preimages of Lightning payments (32 bytes in hex), and whether their SHA-256 is the payment hash. Written by crates/protocol/tests/protocol/client_vectors.rs.",
            "cases": cases,
        }),
    );
}

#[test]
fn vectors_use_only_test_keys() {
    assert_eq!(issuer().public_key(), PublicKey::from_hex(OTHER_KEY).unwrap());
    assert_eq!(even_issuer().public_key(), PublicKey::from_hex(MAIN_KEY).unwrap());
}
