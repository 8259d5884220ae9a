use serde_json::json;

use crate::testing::{BACKUP_ELIGIBLE, PRESENT, SoftAuthenticator, VERIFIED};
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

fn verify(
    party: &RelyingParty,
    authenticator: &mut SoftAuthenticator,
    stored: &Credential,
) -> Result<Vec<u8>, PasskeyError> {
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

#[test]
fn passkey_is_made_and_used() {
    let party = party();
    for has_hmac_secret in [false, true] {
        let mut authenticator = SoftAuthenticator { has_hmac_secret, ..authenticator() };
        let mut stored = register(&party, &mut authenticator).unwrap();
        assert_eq!((stored.id.clone(), stored.user_handle.len()), (vec![7; 32], 16));
        for _ in 0..3 {
            stored.state = verify(&party, &mut authenticator, &stored).unwrap();
        }
    }
}

#[test]
fn passkey_without_a_counter_is_used() {
    let party = party();
    let mut authenticator =
        SoftAuthenticator { counter: 0, flags: PRESENT | VERIFIED | BACKUP_ELIGIBLE, ..authenticator() };
    let mut stored = register(&party, &mut authenticator).unwrap();
    for _ in 0..2 {
        authenticator.counter = 0;
        stored.state = verify(&party, &mut authenticator, &stored).unwrap();
    }
}

#[test]
fn counter_that_goes_back_or_stays_is_refused() {
    let party = party();
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
fn anything_else_is_malformed() {
    let party = party();
    let (_, options) = party.begin_registration().unwrap();
    let made = authenticator().make(&options).to_string();
    for text in ["", "{}", "null", "[]", "1", "{\"response\":{\"attestationObject\":\"!\"}}", &made[..made.len() - 1]] {
        let (ceremony, _) = party.begin_registration().unwrap();
        assert!(matches!(party.register(ceremony, text), Err(PasskeyError::Malformed(_))), "{text}");
        assert!(matches!(Assertion::parse(text), Err(PasskeyError::Malformed(_))), "{text}");
    }
}

#[test]
fn error_repeats_little_of_what_was_sent() {
    let party = party();
    let (ceremony, options) = party.begin_registration().unwrap();
    let mut made = authenticator().make(&options);
    made["type"] = json!("x".repeat(9_000));
    let refused = party.register(ceremony, &made.to_string()).unwrap_err();
    assert!(matches!(&refused, PasskeyError::Malformed(error) if error.contains("xxx")), "{refused}");
    for error in [refused, Assertion::parse(&made.to_string()).unwrap_err()] {
        assert!(error.to_string().len() < 300, "{error}");
    }
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
