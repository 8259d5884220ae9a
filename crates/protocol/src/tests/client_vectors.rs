//! The shared vectors of the client libraries (clients/test-vectors): the service agrees with each.

use std::path::PathBuf;

use serde_json::{Value, json};
use usher_protocol::PublicKey;
use usher_protocol::jwt::{VerifyError, issue, verify};
use usher_protocol::message::Preimage;

use crate::tests::jwt::{NOW, even_issuer, issuer, target};

fn cases(name: &str) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../clients/test-vectors").join(name);
    let mut file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    serde_json::from_value(file["cases"].take()).unwrap()
}

#[test]
fn jwt_vectors_match_the_service() {
    let cases = cases("jwts.json");
    for case in &cases {
        let text = |name: &str| case[name].as_str().unwrap();
        let said =
            verify(text("token"), &PublicKey::from_hex(text("public_key")).unwrap(), case["now"].as_u64().unwrap());
        let (valid, error) = match said {
            Ok(valid) => {
                (json!({ "target_key": valid.target_key.to_hex(), "expires_at": valid.expires_at }), Value::Null)
            }
            Err(VerifyError::Expired) => (Value::Null, json!("jwt_expired")),
            Err(_) => (Value::Null, json!("jwt_invalid")),
        };
        assert_eq!((&case["valid"], &case["error"]), (&valid, &error), "{}", case["name"]);
    }
    let valid = cases.iter().filter(|case| !case["valid"].is_null()).count();
    assert!(valid > 40 && cases.len() - valid > 100, "of {} cases, {valid} are valid", cases.len());
    for (name, issuer) in [("issued by a key with odd Y", issuer()), ("issued by a key with even Y", even_issuer())] {
        let case = cases.iter().find(|case| case["name"] == name).unwrap();
        assert_eq!(case["token"], issue(&issuer, target(), NOW, 3600).unwrap(), "the bytes that it issues");
    }
}

#[test]
fn preimage_vectors_match_their_payment_hashes() {
    for case in cases("preimages.json") {
        let preimage = serde_json::from_value::<Preimage>(case["preimage"].clone());
        let expected = case["payment_hash"].as_str().unwrap().to_lowercase();
        let matches = preimage.is_ok_and(|preimage| preimage.payment_hash().to_string() == expected);
        assert_eq!(case["matches"], matches, "{}", case["name"]);
    }
}
