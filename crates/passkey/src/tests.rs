use ciborium::cbor;
use serde_json::{Value, json};
use webauthn_rp::response::register::{CompressedPubKey, RsaPubKey};

use crate::assertion::verify_signature;
use crate::testing::{self, BACKUP_ELIGIBLE, PRESENT, SoftAuthenticator, VERIFIED};
use crate::{Assertion, Credential, PasskeyError, RelyingParty};

const ORIGIN: &str = "https://login.example";

fn party() -> RelyingParty {
    RelyingParty::new("login.example", ORIGIN, "Bar Seven").unwrap()
}

fn authenticator() -> SoftAuthenticator {
    SoftAuthenticator::new(7, "login.example", ORIGIN)
}

fn register(party: &RelyingParty, authenticator: &mut SoftAuthenticator) -> Result<Credential, PasskeyError> {
    let (ceremony, options) = party.begin_registration().unwrap();
    party.register(ceremony, &authenticator.make(&options).to_string())
}

type Verified = Result<Vec<u8>, PasskeyError>;

fn verify(party: &RelyingParty, authenticator: &mut SoftAuthenticator, stored: &Credential) -> Verified {
    let (ceremony, options) = party.begin_assertion().unwrap();
    let assertion = Assertion::parse(&authenticator.get(&options).to_string()).unwrap();
    assert_eq!(assertion.credential_id(), authenticator.id);
    party.verify(ceremony, &assertion, stored)
}

#[test]
fn options_ask_for_a_discoverable_passkey_of_a_verified_user() {
    let (ceremony, options) = party().begin_registration().unwrap();
    assert_eq!(options["rp"], json!({ "id": "login.example", "name": "Bar Seven" }));
    assert_eq!((&options["user"]["name"], &options["user"]["displayName"]), (&json!("Bar Seven"), &json!("Bar Seven")));
    assert_eq!(options["challenge"], ceremony.challenge());
    assert_eq!(options["attestation"], "none");
    assert_eq!(options["excludeCredentials"], json!([]));
    let selection = &options["authenticatorSelection"];
    assert_eq!((&selection["residentKey"], &selection["userVerification"]), (&json!("required"), &json!("required")));
    let algorithms: Vec<_> = options["pubKeyCredParams"].as_array().unwrap().iter().map(|p| p["alg"].clone()).collect();
    assert!(algorithms.contains(&json!(-7)) && algorithms.contains(&json!(-257)), "{algorithms:?}");

    let (ceremony, options) = party().begin_assertion().unwrap();
    assert_eq!(options["rpId"], "login.example");
    assert_eq!(options["challenge"], ceremony.challenge());
    assert_eq!((&options["allowCredentials"], &options["userVerification"]), (&json!([]), &json!("required")));
    assert_ne!(party().begin_assertion().unwrap().0.challenge(), ceremony.challenge());
}

/// Extensions as sent by security keys and platforms, and bytes that are no extension.
#[test]
fn extensions_and_attestation_statements_are_ignored() {
    let party = party();
    let bytes = |length| ciborium::Value::Bytes(vec![7; length]);
    let extensions = [
        cbor!({ "hmac-secret" => true }),
        cbor!({ "hmac-secret" => bytes(80), "hmac-secret-mc" => bytes(64) }),
        cbor!({ "credBlob" => true, "credProtect" => 3, "minPinLength" => 4, "thirdPartyPayment" => false }),
        cbor!({ "uvm" => [[2, 4, 2]] }),
        cbor!("no map"),
    ];
    let extensions = extensions.map(|extensions| testing::cbor(&extensions.unwrap()));
    for extensions in extensions.into_iter().chain([vec![0xff], b"\xbf\x6bhmac-secret".to_vec()]) {
        let mut authenticator =
            SoftAuthenticator { extensions: [extensions.clone(), extensions.clone()], ..authenticator() };
        let mut stored = register(&party, &mut authenticator).unwrap();
        for _ in 0..2 {
            stored.state = verify(&party, &mut authenticator, &stored).unwrap();
        }
        // They are signed all the same.
        let (ceremony, options) = party.begin_assertion().unwrap();
        let answer = authenticator.get(&options);
        let without = SoftAuthenticator { extensions: [Vec::new(), Vec::new()], ..authenticator }.get(&options);
        for (part, of) in [("authenticatorData", &without), ("signature", &without), ("signature", &json!({}))] {
            let mut changed = answer.clone();
            changed["response"][part] = of["response"].get(part).cloned().unwrap_or_else(|| json!("AAAA"));
            let changed = Assertion::parse(&changed.to_string()).unwrap();
            let ceremony = crate::AssertionCeremony { challenge: ceremony.challenge().to_owned() };
            assert!(matches!(party.verify(ceremony, &changed, &stored), Err(PasskeyError::Refused(_))), "{part}");
        }
        party.verify(ceremony, &Assertion::parse(&answer.to_string()).unwrap(), &stored).unwrap();
    }
    for attestation in [
        ("packed", cbor!({ "alg" => -7, "sig" => bytes(70), "x5c" => [bytes(500)] })),
        ("fido-u2f", cbor!({ "sig" => bytes(70), "x5c" => [bytes(500)] })),
        ("compound", cbor!([1, 2])),
        ("none", cbor!({ "more" => 1 })),
    ] {
        let attestation = (attestation.0, attestation.1.unwrap());
        let mut authenticator = SoftAuthenticator { attestation, ..authenticator() };
        let stored = register(&party, &mut authenticator).unwrap();
        verify(&party, &mut authenticator, &stored).unwrap();
    }
}

#[test]
fn signatures_of_each_algorithm_are_verified() {
    use rsa::signature::{SignatureEncoding as _, Signer as _};
    use rsa::traits::PublicKeyParts as _;

    let ed25519 = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
    let p256 = p256::ecdsa::SigningKey::from_slice(&[7; 32]).unwrap();
    let p384 = p384::ecdsa::SigningKey::from_slice(&[7; 48]).unwrap();
    let rsa = rsa::RsaPrivateKey::new(&mut rsa::rand_core::OsRng, 2_048).unwrap();
    let (point256, point384) =
        (p256.verifying_key().to_encoded_point(true), p384.verifying_key().to_encoded_point(true));
    let (x256, x384): ([u8; 32], [u8; 48]) = ((*point256.x().unwrap()).into(), (*point384.x().unwrap()).into());
    let modulus = RsaPubKey::try_from((rsa.n().to_bytes_be(), 65_537)).unwrap();
    let signed = b"authenticator data and hash";
    let (of256, of384): (p256::ecdsa::DerSignature, p384::ecdsa::DerSignature) = (p256.sign(signed), p384.sign(signed));
    let of_rsa = rsa::pkcs1v15::SigningKey::<sha2::Sha256>::new(rsa).sign(signed);
    let all = [
        (CompressedPubKey::Ed25519(ed25519.verifying_key().to_bytes().into()), ed25519.sign(signed).to_vec()),
        (CompressedPubKey::P256((x256, point256.as_bytes()[0] == 3).into()), of256.to_vec()),
        (CompressedPubKey::P384((x384, point384.as_bytes()[0] == 3).into()), of384.to_vec()),
        (CompressedPubKey::Rsa(modulus), of_rsa.to_vec()),
    ];
    for (key, signature) in &all {
        assert_eq!(verify_signature(key, signed, signature), Some(()), "{key:?}");
        assert_eq!(verify_signature(key, b"something else", signature), None, "{key:?}");
        assert_eq!(verify_signature(key, signed, &[]), None, "{key:?}");
    }
    for (nth, (key, _)) in all.iter().enumerate() {
        assert_eq!(verify_signature(key, signed, &all[(nth + 1) % 4].1), None, "{key:?}");
    }
}

/// JSON that no browser sends.
#[test]
fn missing_and_wrong_fields_are_malformed() {
    let party = party();
    let (_, create) = party.begin_registration().unwrap();
    let (_, get) = party.begin_assertion().unwrap();
    let (made, used) = (authenticator().make(&create), authenticator().get(&get));
    let wrong = [json!(null), json!(0), json!({}), json!([0]), json!("!"), json!("AA=="), json!(true)];
    let of = |answer: &Value, pointer: &str, value: Option<&Value>| {
        let mut answer = answer.clone();
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        let parent = answer.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        assert!(parent.remove(field).is_some(), "{pointer}");
        parent.extend(value.map(|value| (field.to_owned(), value.clone())));
        answer.to_string()
    };
    let values = || wrong.iter().map(Some).chain([None]);
    let whole = made.to_string();
    for text in ["", "{}", "null", "[]", "1", &whole[..whole.len() - 1]] {
        let (ceremony, _) = party.begin_registration().unwrap();
        assert!(matches!(party.register(ceremony, text), Err(PasskeyError::Malformed(_))), "{text}");
        assert!(matches!(Assertion::parse(text), Err(PasskeyError::Malformed(_))), "{text}");
    }
    for pointer in ["/rawId", "/type", "/response", "/response/clientDataJSON", "/response/attestationObject"] {
        for value in values() {
            let (ceremony, _) = party.begin_registration().unwrap();
            let refused = party.register(ceremony, &of(&made, pointer, value));
            assert!(matches!(refused, Err(PasskeyError::Malformed(_))), "{pointer} {value:?} {refused:?}");
        }
    }
    let fields = "/rawId /type /response /response/clientDataJSON /response/authenticatorData /response/signature \
                  /response/userHandle";
    for field in fields.split_whitespace() {
        for value in values() {
            let refused = Assertion::parse(&of(&used, field, value)).map(|_| ());
            assert!(matches!(refused, Err(PasskeyError::Malformed(_))), "{field} {value:?}");
        }
    }
}

#[test]
fn passkey_is_made_and_used_and_its_counter_only_grows_if_it_has_one() {
    let party = party();
    let mut without = SoftAuthenticator { counter: 0, flags: PRESENT | VERIFIED | BACKUP_ELIGIBLE, ..authenticator() };
    let mut stored = register(&party, &mut without).unwrap();
    assert_eq!((stored.id.clone(), stored.user_handle.len()), (vec![7; 32], 16));
    for _ in 0..2 {
        without.counter = 0;
        stored.state = verify(&party, &mut without, &stored).unwrap();
    }

    let mut authenticator = authenticator();
    let mut stored = register(&party, &mut authenticator).unwrap();
    authenticator.counter = 10;
    stored.state = verify(&party, &mut authenticator, &stored).unwrap();
    for counter in [10, 9, 1, 0] {
        authenticator.counter = counter;
        assert_eq!(verify(&party, &mut authenticator, &stored), Err(PasskeyError::CounterWentBack), "{counter}");
    }
    authenticator.counter = 11;
    verify(&party, &mut authenticator, &stored).unwrap();
}

#[test]
fn whatever_is_wrong_is_refused_when_it_is_made_and_when_it_is_used() {
    let party = party();
    let mut honest = authenticator();
    let stored = register(&party, &mut honest).unwrap();
    let other_site = |origin: &str| SoftAuthenticator { origin: origin.to_owned(), ..honest.clone() };
    let wrong = [
        other_site("https://evil.example"),
        other_site("http://login.example"),
        other_site("https://login.example:444"),
        other_site("https://login.example.evil.example"),
        SoftAuthenticator { rp_id: "evil.example".to_owned(), ..honest.clone() },
        SoftAuthenticator { rp_id: "example".to_owned(), ..honest.clone() },
        SoftAuthenticator { cross_origin: true, ..honest.clone() },
        SoftAuthenticator { flags: PRESENT, ..honest.clone() },
        SoftAuthenticator { flags: VERIFIED, ..honest.clone() },
        SoftAuthenticator { flags: 0, ..honest.clone() },
    ];
    for (nth, mut wrong) in wrong.into_iter().enumerate() {
        assert!(matches!(verify(&party, &mut wrong, &stored), Err(PasskeyError::Refused(_))), "used: {nth}");
        assert!(matches!(register(&party, &mut wrong), Err(PasskeyError::Refused(_))), "made: {nth}");
    }
    // Another key with this id.
    let mut other = SoftAuthenticator { id: honest.id.clone(), ..SoftAuthenticator::new(9, "login.example", ORIGIN) };
    other.user_handle.clone_from(&honest.user_handle);
    assert!(matches!(verify(&party, &mut other, &stored), Err(PasskeyError::Refused(_))));
    // Another user's.
    let mut renamed = SoftAuthenticator { user_handle: "AAAAAAAAAAAAAAAAAAAAAA".to_owned(), ..honest.clone() };
    assert!(matches!(verify(&party, &mut renamed, &stored), Err(PasskeyError::Refused(_))));
    verify(&party, &mut honest, &stored).unwrap();
}

#[test]
fn answer_is_for_its_own_challenge_and_purpose() {
    let party = party();
    let mut authenticator = authenticator();
    let stored = register(&party, &mut authenticator).unwrap();
    let (_, first) = party.begin_assertion().unwrap();
    let answer = authenticator.get(&first).to_string();
    let (ceremony, _) = party.begin_assertion().unwrap();
    let replayed = party.verify(ceremony, &Assertion::parse(&answer).unwrap(), &stored);
    assert!(matches!(replayed, Err(PasskeyError::Refused(_))));
    let (ceremony, options) = party.begin_registration().unwrap();
    let made = authenticator.make(&options).to_string();
    party.register(ceremony, &made).unwrap();
    let (ceremony, _) = party.begin_registration().unwrap();
    assert!(matches!(party.register(ceremony, &made), Err(PasskeyError::Refused(_))));
    // An answer of a use is no registration, and the other way round.
    let (ceremony, _) = party.begin_registration().unwrap();
    assert!(matches!(party.register(ceremony, &answer), Err(PasskeyError::Malformed(_))));
    assert!(matches!(Assertion::parse(&made), Err(PasskeyError::Malformed(_))));
}

#[test]
fn damaged_passkey_is_not_used() {
    let party = party();
    let mut authenticator = authenticator();
    let stored = register(&party, &mut authenticator).unwrap();
    let mut damaged = [stored.clone(), stored.clone(), stored];
    damaged[0].public_key.pop();
    damaged[1].state.pop();
    damaged[2].user_handle.pop();
    for stored in damaged {
        assert_eq!(verify(&party, &mut authenticator, &stored), Err(PasskeyError::Unreadable));
    }
}
