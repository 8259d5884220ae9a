//! What the fuzz targets of passkeys do with their bytes: answers of authenticators, as anybody can send them.
//!
//! None may panic, and what nobody has signed is not accepted. The tests of the passkey crate
//! (`crates/passkey/src/fuzz_targets.rs`) drive the same functions, so that they run without cargo-fuzz, too.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use usher_passkey::{Assertion, Credential, PasskeyError, RelyingParty};

const ORIGIN: &str = "https://login.example";

/// An authenticator's answer to a registration: the first byte chooses what the rest is, its JSON text or a part of it.
pub fn passkey_attestation(bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let party = party();
    let (ceremony, options) = party.begin_registration().expect("options");
    let text = String::from_utf8_lossy(rest).into_owned();
    let part = URL_SAFE_NO_PAD.encode(rest);
    let client_data = client_data("webauthn.create", &options);
    let response = match choice % 3 {
        0 => text,
        1 => answer(&json!({ "clientDataJSON": part, "attestationObject": "oA" })),
        _ => answer(&json!({ "clientDataJSON": client_data, "attestationObject": part })),
    };
    if let Ok(credential) = party.register(ceremony, &response) {
        // Whatever key was registered can be read.
        let (ceremony, options) = party.begin_assertion().expect("options");
        let response = used(&options, &URL_SAFE_NO_PAD.encode([0; 37]), &credential);
        let refused = party.verify(ceremony, &Assertion::parse(&response).expect("an answer"), &credential);
        assert!(matches!(refused, Err(PasskeyError::Refused(_))), "{refused:?}");
    }
}

/// An authenticator's answer to a use: the first byte chooses what the rest is, its JSON text or a part of it.
pub fn passkey_assertion(bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let party = party();
    let (ceremony, options) = party.begin_assertion().expect("options");
    // P-256, and the state of a passkey without a counter.
    let public_key = [&[1][..], &[7; 32], &[0, 0, 0]].concat();
    let (id, user_handle, state) = (vec![7; 32], vec![0; 16], vec![1, 0, 0, 0, 0, 0, 0]);
    let mut credential = Credential { id, user_handle, public_key, state };
    let part = URL_SAFE_NO_PAD.encode(rest);
    let data = URL_SAFE_NO_PAD.encode([0; 37]);
    let response = match choice % 4 {
        0 => String::from_utf8_lossy(rest).into_owned(),
        1 => used(&options, &part, &credential),
        2 => used(&options, &data, &credential).replace(&client_data("webauthn.get", &options), &part),
        _ => {
            credential.public_key = rest.to_vec();
            used(&options, &data, &credential)
        }
    };
    if let Ok(assertion) = Assertion::parse(&response) {
        assert!(party.verify(ceremony, &assertion, &credential).is_err());
    }
}

fn party() -> RelyingParty {
    RelyingParty::new("login.example", ORIGIN, "Bar Seven").expect("a domain")
}

fn client_data(kind: &str, options: &Value) -> String {
    URL_SAFE_NO_PAD.encode(json!({ "type": kind, "challenge": options["challenge"], "origin": ORIGIN }).to_string())
}

fn used(options: &Value, authenticator_data: &str, credential: &Credential) -> String {
    answer(&json!({
        "clientDataJSON": client_data("webauthn.get", options),
        "authenticatorData": authenticator_data,
        "signature": "MAYCAQECAQE",
        "userHandle": URL_SAFE_NO_PAD.encode(&credential.user_handle),
    }))
    .replace(&URL_SAFE_NO_PAD.encode([7; 32]), &URL_SAFE_NO_PAD.encode(&credential.id))
}

fn answer(response: &Value) -> String {
    let id = URL_SAFE_NO_PAD.encode([7; 32]);
    json!({ "id": id, "rawId": id, "type": "public-key", "response": response }).to_string()
}
