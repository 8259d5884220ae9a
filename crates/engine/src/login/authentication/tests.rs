use super::*;
use crate::operations::fixtures::*;

fn ask(main: &Keys, subkeys: &[PublicKey]) -> Authentication {
    started(main, subkeys).0
}

fn started(main: &Keys, subkeys: &[PublicKey]) -> (Authentication, OutboxMessage) {
    let end = NOW.plus(Duration::from_secs(300));
    let (state, effects) = Authentication::start("challenge".to_owned(), main.public_key(), subkeys, end, None);
    assert!(!format!("{state:?}").contains("challenge"));
    let [Effect::Send(message)] = &effects[..] else { panic!("{effects:?}") };
    (state, message.clone())
}

fn sent(outcome: StepResult) -> OutboxMessage {
    match &effects(outcome)[..] {
        [Effect::SendAlso(message)] => message.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn challenge_goes_to_the_main_key_and_named_subkeys() {
    let (main, named) = (user(1), [user(2).public_key(), user(2).public_key(), user(1).public_key()]);
    let (_, message) = started(&main, &named);
    assert_eq!(message.kind, 27000);
    assert_eq!(message.recipients, [main.public_key(), user(2).public_key()]);
    assert_eq!(message.participants, message.recipients);
    let expected = json!({
        "challenge": "challenge", "expires_at": "1800000300", "required_permissions": [], "subkey_proof": null,
    });
    assert_eq!(content(&message), expected);
}

#[test]
fn challenged_key_can_approve_or_decline() {
    let key = user(1).public_key();
    let got = effects(ask(&user(1), &[]).step(&approval(key, "challenge", None), NOW));
    let data = json!({
        "status": "approved", "main_key": key.to_hex(), "granted_permissions": ["x"], "session_token": "s",
    });
    assert_eq!(event(&got), ("StatusUpdate", data));
    assert_eq!(got.last(), Some(&Effect::Finish));

    let declined = |reason: Option<&str>| AuthStatus::Declined { reason: reason.map(str::to_owned) };
    let got = effects(ask(&user(1), &[]).step(&answer(key, "challenge", None, declined(Some("no"))), NOW));
    assert_eq!(event(&got).1, json!({ "status": "declined", "main_key": key.to_hex(), "reason": "no" }));
    let got = effects(ask(&user(1), &[]).step(&answer(key, "challenge", None, declined(None)), NOW));
    assert_eq!(event(&got).1, json!({ "status": "declined", "main_key": key.to_hex() }));
}

#[test]
fn named_subkeys_and_devices_with_a_proof_reply_for_the_main_key_and_nobody_else() {
    let (subkey, proof) = device(&user(1), 1, Permission::Auth);
    let named = user(2).public_key();
    for (author, proof) in [(named, None), (subkey, Some(proof.clone()))] {
        let got = effects(ask(&user(1), &[named]).step(&approval(author, "challenge", proof), NOW));
        assert_eq!(event(&got).1["main_key"], user(1).public_key().to_hex());
    }
    let (payer, payment_only) = device(&user(1), 2, Permission::Payment);
    let (foreign, of_another) = device(&user(3), 1, Permission::Auth);
    let stranger = user(9).public_key();
    let cases = [
        ("a third key", approval(stranger, "challenge", None)),
        ("a third key with a stolen proof", approval(stranger, "challenge", Some(proof.clone()))),
        ("a device without its proof", approval(subkey, "challenge", None)),
        ("a device without permission", approval(payer, "challenge", Some(payment_only))),
        ("a device of another user", approval(foreign, "challenge", Some(of_another.clone()))),
        ("another challenge", approval(user(1).public_key(), "Challenge", None)),
    ];
    let copies = [cannot_read(stranger, proof.clone()), cannot_read(foreign, of_another)];
    let copies = copies.map(|input| ("a copy for somebody else", input));
    for (what, input) in cases.into_iter().chain(copies) {
        assert_eq!(ask(&user(1), &[]).step(&input, NOW), StepResult::Ignored, "{what}");
    }
    let mut expired = proof;
    expired.metadata.expires_at = NOW.secs();
    let input = approval(subkey, "challenge", Some(expired));
    assert_eq!(ask(&user(1), &[]).step(&input, NOW), StepResult::Ignored, "an expired proof");
}

#[test]
fn device_that_cannot_decrypt_gets_its_own_copy() {
    let (subkey, proof) = device(&user(1), 1, Permission::Auth);
    let mut asking = ask(&user(1), &[]);
    let message = sent(asking.step(&cannot_read(subkey, proof.clone()), NOW));
    assert_eq!(message.recipients, [subkey], "the main key has its copy");
    assert_eq!(message.participants, [user(1).public_key(), subkey]);
    assert_eq!(asking.step(&cannot_read(subkey, proof), NOW), StepResult::Ignored, "once is enough");
    let got = effects(asking.step(&approval(subkey, "challenge", None), NOW));
    assert_eq!(event(&got).1["main_key"], user(1).public_key().to_hex());
}

#[test]
fn challenged_subkey_leads_to_its_main_key() {
    let main = user(1);
    let (subkey, proof) = device(&main, 1, Permission::Auth);
    let start = || {
        let end = NOW.plus(Duration::from_secs(300));
        Authentication::start("challenge".to_owned(), subkey, &[], end, None).0
    };
    // It proves this in its reply …
    let got = effects(start().step(&approval(subkey, "challenge", Some(proof.clone())), NOW));
    assert_eq!(event(&got).1["main_key"], main.public_key().to_hex());
    // … or before it.
    let mut asking = start();
    let message = sent(asking.step(&cannot_read(subkey, proof), NOW));
    assert_eq!(message.main_key, main.public_key());
    assert_eq!(message.recipients, [subkey, main.public_key()], "the main key was not asked before");
    for author in [subkey, main.public_key()] {
        let got = effects(asking.clone().step(&approval(author, "challenge", None), NOW));
        assert_eq!(event(&got).1["main_key"], main.public_key().to_hex());
    }
    // A second proof cannot redirect the conversation to another key.
    let other = device(&user(3), 1, Permission::Auth);
    assert_eq!(asking.step(&cannot_read(other.0, other.1), NOW), StepResult::Ignored);
}

#[test]
fn challenged_subkey_can_reply_while_its_proof_is_valid() {
    let (main, other) = (user(1), user(3));
    let (subkey, proof) = device(&main, 1, Permission::Auth);
    // Two hours: longer than the proof counts.
    let end = NOW.plus(Duration::from_secs(7200));
    let mut asking = Authentication::start("challenge".to_owned(), subkey, &[], end, None).0;
    sent(asking.step(&cannot_read(subkey, proof.clone()), NOW));
    let late = NOW.plus(Duration::from_secs(3600));
    for proof in [None, Some(proof)] {
        let answer = approval(subkey, "challenge", proof);
        assert_eq!(asking.clone().step(&answer, late), StepResult::Ignored, "nobody has proven the main key any more");
    }
    assert_eq!(asking.clone().step(&approval(other.public_key(), "challenge", None), NOW), StepResult::Ignored);
    let got = effects(asking.step(&approval(main.public_key(), "challenge", None), late));
    assert_eq!(event(&got).1["main_key"], main.public_key().to_hex());
}

#[test]
fn at_most_eight_subkeys_are_accepted() {
    let mut asking = ask(&user(1), &[user(2).public_key()]);
    for nonce in 1..u8::try_from(MAX_SUBKEYS).unwrap() {
        let (subkey, proof) = device(&user(1), nonce, Permission::Auth);
        sent(asking.step(&cannot_read(subkey, proof), NOW));
    }
    let (subkey, proof) = device(&user(1), 100, Permission::Auth);
    assert_eq!(asking.step(&cannot_read(subkey, proof), NOW), StepResult::Ignored);
}

#[test]
fn after_expiry_only_the_timer_has_an_effect() {
    let end = NOW.plus(Duration::from_secs(300));
    let mut asking = ask(&user(1), &[]);
    assert_eq!(asking.step(&Input::Timer, UnixMillis(end.0 - 1)), StepResult::Ignored);
    assert_eq!(asking.step(&approval(user(1).public_key(), "challenge", None), end), StepResult::Ignored);
    let got = effects(asking.step(&Input::Timer, end));
    assert_eq!(event(&got).1["status"], "timeout");
    let record = LoginRecord {
        reusable: None,
        status: LoginRecordStatus::Timeout,
        method: Some("wallet".to_owned()),
        app: None,
        main_key: Some(user(1).public_key()),
        reason: Some("the user did not answer in time".to_owned()),
    };
    assert_eq!(got[1..], [Effect::KeepLogin(record), Effect::Finish]);
}
