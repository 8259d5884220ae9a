use super::tests::login;
use super::*;
use crate::operations::fixtures::*;

fn poster() -> StreamId {
    StreamId::from_parts(1, [1; 10])
}

fn child_login() -> Login {
    Login { origin: LoginOrigin::Reusable { stream: poster() }, ..login() }
}

fn terms() -> LoginTerms {
    LoginTerms { origin: LoginOrigin::Reusable { stream: poster() }, ..super::tests::terms() }
}

fn told(effects: &[Effect]) -> Vec<(&'static str, Value)> {
    let told = effects.iter().filter_map(|effect| match effect {
        Effect::Emit(event) => panic!("{event:?}"),
        Effect::Signal(to, Signal::LoginEvent(event)) => {
            assert_eq!(*to, CorrelationKey::reusable_login(poster()));
            Some((event.event_type.as_str(), serde_json::from_str(&event.data).unwrap()))
        }
        _ => None,
    });
    told.collect()
}

fn superseded(effects: &[Effect]) -> Vec<PublicKey> {
    let superseded = effects.iter().filter_map(|effect| match effect {
        Effect::LinkedChange(LinkedChange::SupersedeLogins { reusable, main_key }) => {
            assert_eq!(*reusable, poster());
            Some(*main_key)
        }
        _ => None,
    });
    superseded.collect()
}

fn key(n: u8) -> String {
    user(n).public_key().to_hex()
}

fn named(n: u8) -> (&'static str, Value) {
    ("KeyHandshake", json!({ "main_key": key(n), "preferred_relays": [] }))
}

fn ended(status: &str, n: u8, method: &str, reason: Option<&str>) -> (&'static str, Value) {
    let mut data = json!({ "status": status, "main_key": key(n), "method": method });
    if let Some(reason) = reason {
        data["reason"] = json!(reason);
    }
    ("StatusUpdate", data)
}

#[test]
fn user_who_has_scanned_is_challenged_at_once() {
    let (mut login, got) = Login::start_asking(terms(), user(1).public_key(), NOW);
    let [Effect::Send(challenge)] = &got[..] else { panic!("{got:?}") };
    assert_eq!((challenge.kind, &challenge.recipients[..]), (27000, &[user(1).public_key()][..]));
    assert_eq!((login.state(), login.wake_at()), (LoginState::Asking, Some(NOW.plus(Duration::from_secs(300)))));
    assert!(!login.is_unused() && login.requested_key().is_some());

    let got = effects(login.step(&approval(user(1).public_key(), "challenge", None), NOW));
    let approved = json!({
        "status": "approved", "main_key": key(1), "method": "wallet", "granted_permissions": ["x"], "session_token": "s",
    });
    assert_eq!(told(&got), [("StatusUpdate", approved)]);
    assert_eq!(got.last(), Some(&Effect::Finish));
    assert_eq!(login.silent_outcome(), OperationOutcome::Approved);
}

#[test]
fn every_outcome_names_the_user() {
    let asking = || Login::start_asking(terms(), user(1).public_key(), NOW).0;
    let refusal = AuthStatus::Declined { reason: Some("no".to_owned()) };
    let mut declined = asking();
    let got = effects(declined.step(&answer(user(1).public_key(), "challenge", None, refusal), NOW));
    assert_eq!(told(&got), [ended("declined", 1, "wallet", Some("no"))]);
    assert_eq!(declined.silent_outcome(), OperationOutcome::Declined);
    let mut expired = asking();
    let got = effects(expired.step(&Input::Timer, NOW.plus(Duration::from_secs(300))));
    assert_eq!(told(&got), [ended("timeout", 1, "wallet", Some("nobody logged in in time"))]);
    assert_eq!(expired.silent_outcome(), OperationOutcome::Timeout);
    let mut left = child_login();
    let got = effects(left.step(&handshake(&user(1), "token", &[]), NOW));
    assert_eq!((told(&got), superseded(&got)), (vec![named(1)], vec![user(1).public_key()]));
    assert_eq!(
        told(&left.decline(NOW).unwrap()),
        [ended("declined", 1, "wallet", Some("cancelled on the login page"))]
    );
}

#[test]
fn browser_logs_in_with_another_key_than_the_wallet_has_named() {
    let mut login = child_login();
    assert!(login.is_unused() && login.is_untouched());
    login.step(&handshake(&user(1), "token", &[]), NOW);
    let got = login.prove(user(2).public_key(), LoginMethod::Extension, NOW).unwrap();
    let expected = [
        ended("declined", 1, "wallet", Some("another key logged in on the same page")),
        named(2),
        ended("approved", 2, "extension", None),
    ];
    assert_eq!((told(&got), superseded(&got)), (expected.into(), vec![user(2).public_key()]));

    let mut same = child_login();
    same.step(&handshake(&user(1), "token", &[]), NOW);
    let got = same.prove(user(1).public_key(), LoginMethod::Extension, NOW).unwrap();
    assert_eq!(told(&got), [ended("approved", 1, "extension", None)], "the user is known already");
}

#[test]
fn device_and_the_key_that_it_belongs_to_each_have_an_outcome() {
    let (subkey, proof) = device(&user(1), 1, Permission::Auth);
    let (mut login, _) = Login::start_asking(terms(), subkey, NOW);
    let got = effects(login.step(&approval(subkey, "challenge", Some(proof.clone())), NOW));
    let of_subkey = json!({
        "status": "declined", "main_key": subkey.to_hex(), "method": "wallet",
        "reason": "the key belongs to another key, which logged in",
    });
    let approved = json!({
        "status": "approved", "main_key": key(1), "method": "wallet", "granted_permissions": ["x"], "session_token": "s",
    });
    assert_eq!(told(&got), [("StatusUpdate", of_subkey), named(1), ("StatusUpdate", approved)]);
    assert_eq!(superseded(&got), [user(1).public_key()]);

    let (mut login, _) = Login::start_asking(terms(), subkey, NOW);
    let refusal = AuthStatus::Declined { reason: None };
    let got = effects(login.step(&answer(subkey, "challenge", Some(proof), refusal), NOW));
    let of_subkey = json!({ "status": "declined", "main_key": subkey.to_hex(), "method": "wallet" });
    assert_eq!(told(&got), [("StatusUpdate", of_subkey)], "the key that was named");
}

#[test]
fn nothing_is_told_before_a_key_is_named_or_after_the_end_of_the_reusable_login() {
    let late = NOW.plus(Duration::from_secs(600));
    assert_eq!(effects(child_login().step(&Input::Timer, late)), [Effect::Finish]);
    assert_eq!(child_login().decline(NOW), Ok(vec![Effect::Finish]));
    assert_eq!(child_login().make_room(), Some(vec![Effect::Finish]));

    for mut login in [child_login(), Login::start_asking(terms(), user(1).public_key(), NOW).0] {
        assert_eq!(effects(login.step(&Input::Signal(Signal::Close), NOW)), [Effect::Finish]);
        assert_eq!(login.state(), LoginState::Expired);
        assert_eq!(login.step(&approval(user(1).public_key(), "challenge", None), NOW), StepResult::Ignored);
    }
    let mut of_the_app = login();
    assert_eq!(of_the_app.step(&Input::Signal(Signal::Close), NOW), StepResult::Ignored, "it is at no reusable login");
}

/// Anybody can begin and end one. A counted scan keeps its page, which shows the outcome.
#[test]
fn login_leaves_nothing_when_nothing_has_happened_there() {
    let (mut untouched, mut refused) = (child_login(), child_login());
    let (mut asking, _) = Login::start_asking(terms(), user(1).public_key(), NOW);
    let challenge = LoginChallenge { url: "https://shop.example/login/7".to_owned(), challenge: "c".to_owned() };
    refused.ask_signer(signer_session(1), challenge.clone(), None, NOW).unwrap();
    let refusal = RemoteSignerError::SignatureRefused { reason: "not now".to_owned(), session: None };
    assert_eq!(effects(refused.step(&signer_failed(1, refusal.clone()), NOW)), [Effect::Finish]);
    let mut named = child_login();
    named.step(&handshake(&user(1), "token", &[]), NOW);
    named.ask_signer(signer_session(1), challenge, None, NOW).unwrap();
    let got = effects(named.step(&signer_failed(1, refusal), NOW));
    assert_eq!(told(&got), [ended("declined", 1, "signer", Some("not now"))], "who has refused");
    assert_eq!((refused.state(), refused.leaves_nothing()), (LoginState::Declined, false));
    for (login, expected) in [(&mut untouched, true), (&mut asking, false), (&mut login(), false)] {
        assert!(!login.leaves_nothing(), "it is open");
        login.decline(NOW).unwrap();
        assert_eq!(login.leaves_nothing(), expected);
    }
    let mut proven = child_login();
    proven.prove(user(1).public_key(), LoginMethod::Extension, NOW).unwrap();
    assert!(proven.state().is_over() && !proven.leaves_nothing());
    let stored = Operation::Login(untouched).to_state().unwrap();
    assert!(matches!(Operation::from_state(&stored), Ok(Operation::Login(login)) if login.leaves_nothing()));
}

#[test]
fn a_later_login_of_the_same_user_ends_it_until_its_key_is_proven() {
    // Also when the clock leapt ahead, past its end: its timer, which has not fired, would tell another outcome.
    for after in [Duration::ZERO, Duration::from_secs(5 * 3600)] {
        let (mut asking, _) = Login::start_asking(terms(), user(1).public_key(), NOW);
        assert_eq!(effects(asking.step(&Input::Signal(Signal::Superseded), NOW.plus(after))), [Effect::Finish]);
        assert_eq!(asking.step(&Input::Timer, NOW.plus(after)), StepResult::Ignored);
    }

    let leads_back = LoginTerms {
        browser: Some("browser".to_owned()),
        return_url: Some("https://app.example/in".to_owned()),
        ..terms()
    };
    let (mut proven, _) = Login::start_asking(leads_back, user(1).public_key(), NOW);
    effects(proven.step(&approval(user(1).public_key(), "challenge", None), NOW));
    assert!(matches!(proven.state(), LoginState::Proven { .. }));
    assert_eq!(
        proven.step(&Input::Signal(Signal::Superseded), NOW),
        StepResult::Ignored,
        "the app is about to redeem it"
    );
    assert_eq!(effects(proven.step(&Input::Signal(Signal::Close), NOW)), [Effect::Finish]);
}

#[test]
fn it_survives_storage_and_is_small() {
    let (asking, _) = Login::start_asking(terms(), user(1).public_key(), NOW);
    for login in [child_login(), asking] {
        let state = restored(Operation::Login(login)).to_state().unwrap();
        assert!(state.0.len() < 900, "{} bytes", state.0.len());
    }
    // A damaged row is not taken for a login of the app's own, whose events would be on another stream.
    let state = Operation::Login(child_login()).to_state().unwrap();
    let damaged = |to: &str| crate::ports::State(state.0.replace(&poster().to_string(), to));
    assert!(Operation::from_state(&damaged("x")).is_err());
    let both = state.0.replacen('{', "{\"client_name\":\"Gitea\",", 1);
    assert!(Operation::from_state(&crate::ports::State(both)).is_err());
}
