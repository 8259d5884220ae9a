//! The shared vectors of the client libraries (clients/test-vectors): JWTs, and preimages with their payment hashes.
//!
//! `UPDATE_VECTORS=1 cargo test -p usher-protocol --test protocol client_vectors` writes the files.

use std::path::PathBuf;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use usher_protocol::jwt::{CLOCK_SKEW_SECS, MAX_TOKEN_BYTES, VerifyError, issue, verify};
use usher_protocol::{Keys, PublicKey};

use crate::jwt::{NOW, claims, es256k, even_issuer, issuer, signed, signed_bytes, target, with, with_other_s};
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

/// Tokens of PyJWT 2.15.1 (cryptography 50.0.2, OpenSSL), signed by [`issuer`]: the first signature has a low S, the second a
/// high one.
const PYJWT: [&str; 2] = [
    concat!(
        "eyJhbGciOiJFUzI1NksiLCJ0eXAiOiJKV1QifQ.",
        "eyJpYXQiOjE3MzIxMzc2MDAsIm5iZiI6MTczMjEzNzYwMCwiZXhwIjoxNzMyMTQxMjAwLCJ0YXJnZXRfa2V5IjoiMTk2ZjEwZDBjMDcyNmU3YzI1YWM0",
        "OGZiNWNmYzc4ZjYyMGEyNDE1ODk4NmY1MjQwMGUxNTRhMDY4ZjA0MzgxYyJ9.",
        "Hlu_qEehekKcPh59yJQEkysjHCc1cdZfvU4590e5c9gpiYdAU2-M4g8nq0xVTlT6CLXs-IOom7L0rvbAFVcfQA",
    ),
    concat!(
        "eyJhbGciOiJFUzI1NksiLCJ0eXAiOiJKV1QifQ.",
        "eyJpYXQiOjE3MzIxMzc2MDAsIm5iZiI6MTczMjEzNzYwMCwiZXhwIjoxNzMyMTQxMjAwLCJ0YXJnZXRfa2V5IjoiMTk2ZjEwZDBjMDcyNmU3YzI1YWM0",
        "OGZiNWNmYzc4ZjYyMGEyNDE1ODk4NmY1MjQwMGUxNTRhMDY4ZjA0MzgxYyJ9.",
        "qSvIsUAnv0061m3X80T7lsc2Sos85J5utzi4E2Q3KruxhCw1AQEFcwR3c-Jx_ZJMD6hgUWdX1CdRPlrDtiIy2w",
    ),
];

/// Tokens whose header or claims are bytes that JSON libraries read differently.
fn odd_json() -> Vec<Value> {
    let odd = issuer();
    let (head, body) = (es256k().to_string(), claims().to_string());
    let inner = |json: &str| json[1..json.len() - 1].to_owned();
    let (members, alg) = (inner(&body), inner(&head));
    let of_bytes = |name: &str, header: &[u8], claims: &[u8]| case(name, &odd, &signed_bytes(header, claims), NOW);
    let header =
        |name: &str, header: &str| of_bytes(&format!("with a header {name}"), header.as_bytes(), body.as_bytes());
    let claims =
        |name: &str, claims: &str| of_bytes(&format!("with claims {name}"), head.as_bytes(), claims.as_bytes());
    let with_x = |x: &str| format!("{{{members},\"x\":{x}}}");
    let utf16 = |text: &str, bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
    let utf32 = |text: &str| text.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect::<Vec<u8>>();
    // `end` within a text: the rest of the claims is proper.
    let in_text = |bytes: &[u8]| [members.as_bytes(), b",\"x\":\"", bytes, b"\""].concat();
    let object = |inside: &[u8]| [b"{", inside, b"}"].concat();
    let depth = |levels: usize| with_x(&format!("{}{}", "[".repeat(levels - 1), "]".repeat(levels - 1)));
    vec![
        header("that begins with a byte order mark", &format!("\u{feff}{head}")),
        claims("that begin with a byte order mark", &format!("\u{feff}{body}")),
        claims("with a byte order mark in a text", &with_x("\"\u{feff}\"")),
        of_bytes("with a header in UTF-16, big end first", &utf16(&head, u16::to_be_bytes), body.as_bytes()),
        of_bytes("with claims in UTF-16, big end first", head.as_bytes(), &utf16(&body, u16::to_be_bytes)),
        of_bytes("with claims in UTF-16, little end first", head.as_bytes(), &utf16(&body, u16::to_le_bytes)),
        of_bytes(
            "with claims in UTF-16 with a byte order mark",
            head.as_bytes(),
            &[&[0xfe, 0xff][..], &utf16(&body, u16::to_be_bytes)].concat(),
        ),
        of_bytes("with claims in UTF-32", head.as_bytes(), &utf32(&body)),
        of_bytes("with overlong UTF-8", head.as_bytes(), &object(&in_text(&[0xc1, 0xa1]))),
        of_bytes("with an overlong slash", head.as_bytes(), &object(&in_text(&[0xc0, 0xaf]))),
        of_bytes("with a surrogate in UTF-8", head.as_bytes(), &object(&in_text(&[0xed, 0xa0, 0x80]))),
        of_bytes("with UTF-8 that is cut off", head.as_bytes(), &object(&in_text(&[0xe2, 0x82]))),
        of_bytes("with a byte that is not UTF-8", head.as_bytes(), &object(&in_text(&[0xff]))),
        of_bytes("with a code point beyond Unicode", head.as_bytes(), &object(&in_text(&[0xf4, 0x90, 0x80, 0x80]))),
        of_bytes("with a zero byte after the claims", head.as_bytes(), format!("{body}\0").as_bytes()),
        claims("with an emoji", &with_x("\"🐢\"")),
        claims("with an escaped pair of surrogates", &with_x("\"\\ud83d\\udc22\"")),
        claims("with an escaped surrogate alone", &with_x("\"\\ud83d\"")),
        claims("with an escaped second surrogate alone", &with_x("\"\\udc22\"")),
        claims("with an escaped surrogate alone in a name", &format!("{{{members},\"\\ud83d\":1}}")),
        claims("with an escaped surrogate alone, deep inside", &with_x("[{\"a\":[\"\\uD83D\\u0041\"]}]")),
        claims("with an escaped zero", &with_x("\"\\u0000\"")),
        claims("with a line break in a text", &with_x("\"a\nb\"")),
        claims("with a tab in a text", &with_x("\"a\tb\"")),
        claims("with a line separator in a text", &with_x("\"a\u{2028}b\"")),
        claims("with a delete character in a text", &with_x("\"\u{7f}\"")),
        claims("with an unknown escape", &with_x("\"\\x41\"")),
        claims("with escaped quotes and brackets in a text", &with_x(r#""\"[{\\""#)),
        claims("with white space around them", &format!(" \t\r\n{body} \n")),
        claims("with white space that is not JSON's", &format!("\u{a0}{body}")),
        claims("with a form feed around them", &format!("{body}\u{c}")),
        claims("followed by text", &format!("{body}x")),
        claims("followed by another object", &format!("{body}{{}}")),
        claims("followed by a comma", &format!("{{{members},}}")),
        claims("in single quotes", &body.replace('"', "'")),
        claims("with a comment", &format!("/* */{body}")),
        claims("that are an array", &format!("[{body}]")),
        claims("that are null", "null"),
        claims("that are a text", "\"a\""),
        claims("that are a number", "1"),
        claims("that are empty", ""),
        claims("that are an empty object", "{}"),
        claims("that are cut off", &body[..body.len() - 1]),
        header("that is null", "null"),
        header("that is an empty object", "{}"),
        header("with alg twice", &format!("{{{alg},{alg}}}")),
        header("with alg twice, the last of them none", &format!("{{{alg},\"alg\":\"none\"}}")),
        header("with alg twice, the first of them none", &format!("{{\"alg\":\"none\",{alg}}}")),
        header("with alg twice, once escaped", &format!("{{{alg},\"\\u0061lg\":\"ES256K\"}}")),
        header("with alg escaped", "{\"\\u0061lg\":\"ES256\\u004b\"}"),
        header("with typ twice", &format!("{{{alg},\"typ\":\"JWT\",\"typ\":\"JWT\"}}")),
        claims("with exp twice", &format!("{{{members},\"exp\":{}}}", NOW + 3600)),
        claims("with exp twice, once escaped", &format!("{{{members},\"\\u0065xp\":{}}}", NOW + 3600)),
        claims("with target_key twice", &format!("{{{members},\"target_key\":\"{MAIN_KEY}\"}}")),
        claims("with an unknown claim twice", &format!("{{{members},\"x\":1,\"x\":1}}")),
        claims("with an empty name twice", &format!("{{{members},\"\":1,\"\":1}}")),
        claims("with __proto__ twice", &format!("{{{members},\"__proto__\":1,\"__proto__\":1}}")),
        claims("with __proto__", &format!("{{{members},\"__proto__\":{{\"exp\":1}}}}")),
        claims("that are in __proto__", &format!("{{\"__proto__\":{body}}}")),
        claims("with names that differ in case", &format!("{{{members},\"EXP\":1,\"Target_Key\":\"x\"}}")),
        claims("with a name twice inside a claim", &with_x("{\"a\":1,\"a\":2}")),
        claims("with the name of a claim inside another", &with_x("{\"exp\":1,\"target_key\":\"a\"}")),
        claims("127 deep", &depth(127)),
        claims("128 deep", &depth(128)),
        claims("1,000 deep", &depth(1_000)),
        claims("127 deep in objects", &with_x(&format!("{}1{}", "{\"a\":".repeat(126), "}".repeat(126)))),
        claims("128 deep in objects", &with_x(&format!("{}1{}", "{\"a\":".repeat(127), "}".repeat(127)))),
        claims("with many brackets that are not deep", &with_x(&format!("[{}[]]", "[],".repeat(300)))),
        claims("with a number beyond all numbers", &with_x("1e400")),
        claims("with a negative number beyond all numbers", &with_x("[-1E+400]")),
        claims("with a number of 400 digits", &with_x(&"9".repeat(400))),
        claims("with a number of 300 digits", &with_x(&"9".repeat(300))),
        claims("with a fraction of 1,000 digits", &with_x(&format!("0.{}1", "0".repeat(999)))),
        claims("with the largest number", &with_x("1.7976931348623157e308")),
        claims("with a number that rounds beyond the largest", &with_x("1.7976931348623159e308")),
        claims("with the smallest exponents", &with_x("[1e-400,0e999999999999,1e-99999999999]")),
        claims("with a leading zero", &with_x("01")),
        claims("with a plus sign", &with_x("+1")),
        claims("with a fraction without digits", &with_x("1.")),
        claims("with a number that begins with a point", &with_x(".5")),
        claims("with NaN", &with_x("NaN")),
        claims("with Infinity", &with_x("Infinity")),
        claims("with a hexadecimal number", &with_x("0x10")),
        claims("with words in capitals", &with_x("True")),
    ]
}

/// Tokens with odd members and times.
fn odd_members() -> Vec<Value> {
    let odd = issuer();
    let header = |name: &str, member: &str, value: Value| {
        let mut header = es256k();
        header[member] = value;
        case(name, &odd, &signed(&header, &claims()), NOW)
    };
    let claim =
        |name: &str, member: &str, value: Value| case(name, &odd, &signed(&es256k(), &with(member, value)), NOW);
    // As text: a library would write the number in another form.
    let exp = |text: &str| {
        let claims = format!("{{\"exp\":{text},\"target_key\":\"{MAIN_KEY}\"}}");
        case(&format!("with exp {text}"), &odd, &signed_bytes(es256k().to_string().as_bytes(), claims.as_bytes()), NOW)
    };
    let nothing = || Value::Null;
    vec![
        header("with crit null", "crit", nothing()),
        header("with an empty crit", "crit", json!([])),
        header("with a crit that is a text", "crit", json!("exp")),
        header("with a crit that is false", "crit", json!(false)),
        header("with a crit of an unknown name", "crit", json!(["b64"])),
        header("with b64 false, which is not critical", "b64", json!(false)),
        header("with alg null", "alg", nothing()),
        header("with alg as an array", "alg", json!(["ES256K"])),
        header("with alg in lower case", "alg", json!("es256k")),
        header("with alg and a space", "alg", json!("ES256K ")),
        header("with typ null", "typ", nothing()),
        header("with typ as a number", "typ", json!(1)),
        header("with another typ", "typ", json!("at+jwt")),
        header("with kid as a number", "kid", json!(1)),
        header("with kid null", "kid", nothing()),
        header("with cty", "cty", json!("cbor")),
        header("with cty as an object", "cty", json!({})),
        header("with a short x5t", "x5t", json!("AA")),
        header("with x5t#S256 as an array", "x5t#S256", json!([])),
        header("with jku null", "jku", nothing()),
        claim("with exp null", "exp", nothing()),
        claim("with nbf null", "nbf", nothing()),
        claim("with iat null", "iat", nothing()),
        claim("with target_key null", "target_key", nothing()),
        claim("with sub null", "sub", nothing()),
        claim("with an unknown claim null", "x", nothing()),
        claim("with exp as an array", "exp", json!([NOW + 60])),
        claim("with exp true", "exp", json!(true)),
        claim("with nbf as text", "nbf", json!("0")),
        claim("with nbf false", "nbf", json!(false)),
        claim("with nbf as a fraction", "nbf", json!(1_732_137_630.9)),
        claim("with nbf beyond all times", "nbf", json!(1e300)),
        claim("with nbf before all times", "nbf", json!(-1e300)),
        claim("with nbf before 1970", "nbf", json!(-8_334_601_228_800_i64)),
        claim("with iat beyond all times", "iat", json!(1e18)),
        claim("with target_key as a number", "target_key", json!(1)),
        claim("with target_key as an array", "target_key", json!([MAIN_KEY])),
        claim("with a space after target_key", "target_key", json!(format!("{MAIN_KEY} "))),
        claim("with a line break after target_key", "target_key", json!(format!("{MAIN_KEY}\n"))),
        claim("with a target_key of 66 characters", "target_key", json!(format!("02{MAIN_KEY}"))),
        claim("with a target_key in full-width digits", "target_key", json!("１".repeat(64))),
        claim("with a target_key in mixed case", "target_key", json!(MAIN_KEY.replace('f', "F"))),
        claim("with an audience", "aud", json!(["somebody"])),
        exp(&(NOW + 1).to_string()),
        exp("1732137600.9"),
        exp("1732137601.0"),
        exp("1.7321376015e9"),
        exp("173213760100e-2"),
        exp("1e15"),
        exp("1e10"),
        exp("9007199254740991"),
        exp("9007199254740992"),
        exp("9007199254740993"),
        exp("9007199254740991.5"),
        exp("9223372036854775807"),
        exp("18446744073709551616"),
        exp("1e300"),
        exp("1e400"),
        exp("-1"),
        exp("-0"),
        exp("-1e15"),
        exp("-9007199254740992"),
        exp("-1e300"),
    ]
}

/// Tokens of odd characters, and of the longest lengths.
fn odd_texts() -> Vec<Value> {
    let odd = issuer();
    let good = signed(&es256k(), &claims());
    // A token whose claims have a text of `length` characters; with 5,800 it is shorter than it may be.
    let of_length = |length: usize| signed(&es256k(), &with("x", json!("y".repeat(length))));
    let within = (5_800..).map(of_length).find(|token| token.len() >= MAX_TOKEN_BYTES - 1);
    let within = within.filter(|token| token.len() <= MAX_TOKEN_BYTES).unwrap();
    let beyond = (5_800..).map(of_length).find(|token| token.len() > MAX_TOKEN_BYTES).unwrap();
    let (text, signature) = good.rsplit_once('.').unwrap();
    vec![
        case("as long as a token may be", &odd, &within, NOW),
        case("that is too long", &odd, &beyond, NOW),
        case("with a space before it", &odd, &format!(" {good}"), NOW),
        case("with a line break after it", &odd, &format!("{good}\n"), NOW),
        case("with a byte order mark before it", &odd, &format!("\u{feff}{good}"), NOW),
        case("with one letter too many", &odd, &format!("{good}A"), NOW),
        case("of two letters too many", &odd, &format!("{good}AA"), NOW),
        case("in base64 instead of base64url", &odd, &good.replace('-', "+").replace('_', "/"), NOW),
        case("with a signature in percent encoding", &odd, &format!("{text}.{signature}%3D"), NOW),
        case("of dots", &odd, "..", NOW),
        case(
            "with an empty header",
            &odd,
            good.split_once('.').map(|(_, rest)| format!(".{rest}")).unwrap().as_str(),
            NOW,
        ),
        case("with a signature of zeros", &odd, &format!("{text}.{}", "A".repeat(86)), NOW),
        case("with a signature of ones", &odd, &format!("{text}.{}w", "_".repeat(85)), NOW),
        case("with a signature of 63 bytes", &odd, &format!("{text}.{}", &signature[..84]), NOW),
    ]
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
    let mut cases = vec![
        case("issued by a key with odd Y", &odd, &issued, NOW),
        case("issued by a key with even Y", &even, &by_even, NOW),
        case("in its last second", &odd, &issued, NOW + 3599),
        case("expired this second", &odd, &issued, NOW + 3600),
        case("expired a day ago", &odd, &issued, NOW + 90_000),
        case("signed by another key", &even, &issued, NOW),
        case("expired, and signed by another key", &even, &issued, NOW + 90_000),
        case("with another payload", &odd, &changed_payload(&issued), NOW),
        case("with the high S", &odd, &with_other_s(&issued), NOW),
        case("with the high S, by a key with even Y", &even, &with_other_s(&by_even), NOW),
        case("with the high S, expired", &odd, &with_other_s(&issued), NOW + 3600),
        case("with the high S, by another key", &even, &with_other_s(&issued), NOW),
        case("of PyJWT, with a low S", &odd, PYJWT[0], NOW),
        case("of PyJWT, with a high S", &odd, PYJWT[1], NOW),
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
    cases.extend(odd_members());
    cases.extend(odd_texts());
    cases.extend(odd_json());
    let valid = cases.iter().filter(|case| case.get("valid").is_some()).count();
    assert!(valid > 40 && cases.len() - valid > 100, "of {} cases, {valid} are valid", cases.len());
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
