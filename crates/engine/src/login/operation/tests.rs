use super::*;
use crate::operations::fixtures::*;

pub(super) fn login() -> Login {
    Login::start(terms())
}

pub(crate) fn terms() -> LoginTerms {
    LoginTerms {
        token: "token".to_owned(),
        wallet_challenge: "challenge".to_owned(),
        signer_challenge: "other challenge".to_owned(),
        page_secret: "secret".to_owned(),
        browser: None,
        origin: LoginOrigin::App,
        return_url: None,
        expires_at: NOW.plus(Duration::from_secs(600)),
        challenge_ttl: Duration::from_secs(300),
        service_proof: None,
    }
}

pub(super) fn events(effects: &[Effect]) -> Vec<(&'static str, Value)> {
    let events = effects.iter().filter_map(|effect| match effect {
        Effect::Emit(event) => Some((event.event_type.as_str(), serde_json::from_str(&event.data).unwrap())),
        _ => None,
    });
    events.collect()
}

pub(super) fn handshake_event(n: u8, relays: &[&str]) -> (&'static str, Value) {
    ("KeyHandshake", json!({ "main_key": user(n).public_key().to_hex(), "preferred_relays": relays }))
}

#[test]
fn wallet_that_scans_is_challenged_and_its_user_approves() {
    let mut login = login();
    assert_eq!(login.correlations(), [CorrelationKey::token("token")]);
    let got = effects(login.step(&handshake(&user(1), "token", &["wss://a.example"]), NOW));
    assert_eq!(events(&got), [handshake_event(1, &["wss://a.example"])]);
    let main_key = user(1).public_key();
    let relays = vec!["wss://a.example".to_owned()];
    assert_eq!(got[1], Effect::RememberRelays(UserRelays { main_key, relays }));
    let [_, _, Effect::Send(challenge)] = &got[..] else { panic!("{got:?}") };
    assert_eq!((challenge.kind, &challenge.recipients[..]), (27000, &[main_key][..]));
    assert_eq!(login.state(), LoginState::Asking);
    assert_eq!(login.correlations(), [CorrelationKey::token("token"), CorrelationKey::challenge("challenge")]);

    assert_eq!(login.step(&handshake(&user(2), "token", &[]), NOW), StepResult::Ignored, "one user");
    assert_eq!(login.step(&approval(user(2).public_key(), "challenge", None), NOW), StepResult::Ignored);
    assert_eq!(login.step(&approval(main_key, "other challenge", None), NOW), StepResult::Ignored);
    let got = effects(login.step(&approval(main_key, "challenge", None), NOW));
    let approved = json!({
        "status": "approved", "main_key": main_key.to_hex(), "method": "wallet",
        "granted_permissions": ["x"], "session_token": "s",
    });
    assert_eq!(events(&got), [("StatusUpdate", approved)]);
    assert_eq!(got.last(), Some(&Effect::Finish));
    assert_eq!(login.state(), LoginState::Approved { main_key, method: LoginMethod::Wallet, at: NOW });
    assert_eq!(login.wake_at(), None);
}

#[test]
fn device_of_the_user_may_approve() {
    let (subkey, proof) = device(&user(1), 5, Permission::Auth);
    let mut login = login();
    login.step(&handshake(&user(1), "token", &[]), NOW);
    let got = effects(login.step(&cannot_read(subkey, proof), NOW));
    assert!(matches!(&got[..], [Effect::SendAlso(_)]), "{got:?}");
    login.step(&approval(subkey, "challenge", None), NOW);
    let main_key = user(1).public_key();
    assert_eq!(login.state(), LoginState::Approved { main_key, method: LoginMethod::Wallet, at: NOW });
}

#[test]
fn wallet_or_page_may_decline() {
    let mut by_wallet = login();
    by_wallet.step(&handshake(&user(1), "token", &[]), NOW);
    let refusal = AuthStatus::Declined { reason: Some("no".to_owned()) };
    let got = effects(by_wallet.step(&answer(user(1).public_key(), "challenge", None, refusal), NOW));
    let declined = json!({ "status": "declined", "main_key": user(1).public_key().to_hex(), "reason": "no" });
    assert_eq!(events(&got), [("StatusUpdate", declined)]);

    let mut by_page = login();
    let got = by_page.decline(NOW).unwrap();
    assert_eq!(
        events(&got),
        [("StatusUpdate", json!({ "status": "declined", "reason": "cancelled on the login page" }))]
    );
    assert_eq!((by_wallet.state(), by_page.state()), (LoginState::Declined, LoginState::Declined));
}

#[test]
fn signer_logs_in_before_or_after_a_scan_and_once() {
    for scanned in [false, true] {
        let mut login = login();
        if scanned {
            login.step(&handshake(&user(1), "token", &[]), NOW);
        }
        let main_key = user(2).public_key();
        let got = login.prove(main_key, LoginMethod::Extension, NOW).unwrap();
        let approved = json!({ "status": "approved", "main_key": main_key.to_hex(), "method": "extension" });
        assert_eq!(events(&got), [handshake_event(2, &[]), ("StatusUpdate", approved)]);
        assert_eq!(got.last(), Some(&Effect::Finish));
        assert_eq!(login.state(), LoginState::Approved { main_key, method: LoginMethod::Extension, at: NOW });
        assert_eq!(login.prove(user(3).public_key(), LoginMethod::Extension, NOW), Err(LoginOver));
        assert_eq!(login.decline(NOW), Err(LoginOver));
        for late in [handshake(&user(1), "token", &[]), approval(user(1).public_key(), "challenge", None), Input::Timer]
        {
            assert_eq!(login.step(&late, NOW), StepResult::Ignored);
        }
    }
}

#[test]
fn login_expires_and_a_late_scan_still_has_the_time_of_the_challenge() {
    let end = NOW.plus(Duration::from_secs(600));
    let before = UnixMillis(end.0 - 1);
    let mut unscanned = login();
    assert_eq!(unscanned.step(&Input::Timer, before), StepResult::Ignored);
    assert_eq!(unscanned.prove(user(1).public_key(), LoginMethod::Extension, end), Err(LoginOver));
    let got = effects(unscanned.step(&Input::Timer, end));
    let timeout = json!({ "status": "timeout", "reason": "nobody logged in in time" });
    assert_eq!(events(&got), [("StatusUpdate", timeout.clone())]);
    assert_eq!(unscanned.state(), LoginState::Expired);

    let mut scanned = login();
    scanned.step(&handshake(&user(1), "token", &[]), before);
    let extended = before.plus(Duration::from_secs(300));
    assert_eq!(scanned.wake_at(), Some(extended));
    assert_eq!(scanned.step(&Input::Timer, end), StepResult::Ignored);
    assert_eq!(scanned.step(&approval(user(1).public_key(), "challenge", None), extended), StepResult::Ignored);
    assert_eq!(events(&effects(scanned.step(&Input::Timer, extended))), [("StatusUpdate", timeout)]);
}

#[test]
fn first_browser_keeps_the_page() {
    let mut login = login();
    login.bind("first".to_owned());
    login.bind("second".to_owned());
    assert_eq!(login.browser(), Some("first"));
}

#[test]
fn every_state_survives_storage() {
    let returning = Login { return_url: Some("https://app.example/done".to_owned()), ..login() };
    let mut states = vec![login(), login(), login(), login(), returning];
    states[1].step(&handshake(&user(1), "token", &["wss://a.example"]), NOW);
    states[2].bind("browser".to_owned());
    states[2].prove(user(1).public_key(), LoginMethod::Signer, NOW).unwrap();
    states[3].decline(NOW).unwrap();
    states[4].step(&handshake(&user(1), "token", &[]), NOW);
    states[4].step(&approval(user(1).public_key(), "challenge", None), NOW);
    for state in states {
        let shown = format!("{:?}", restored(Operation::Login(state)));
        assert!(!shown.contains("secret") && !shown.contains("session_token"));
    }
}

/// Anybody can begin one, and the app has not asked for it.
#[test]
fn login_that_a_browser_has_begun_tells_nothing_before_a_key_is_named() {
    let of_browser = || Login { origin: LoginOrigin::Client { name: "Gitea".to_owned() }, ..login() };
    let late = NOW.plus(Duration::from_secs(600));
    let mut expired = of_browser();
    assert_eq!(effects(expired.step(&Input::Timer, late)), [Effect::Finish]);
    assert_eq!(expired.state(), LoginState::Expired);
    let mut declined = of_browser();
    assert_eq!(declined.decline(NOW), Ok(vec![Effect::Finish]));
    let mut replaced = of_browser();
    assert_eq!(replaced.make_room(), Some(vec![Effect::Finish]));
    assert_eq!((replaced.state(), replaced.make_room()), (LoginState::Expired, None));
    assert_eq!(login().make_room(), None, "the app has begun it");

    let mut asked = of_browser();
    asked.step(&handshake(&user(1), "token", &[]), NOW);
    assert!(!asked.is_unused() && asked.make_room().is_none());
    let got = effects(asked.step(&Input::Timer, late));
    assert_eq!(events(&got)[0].1["status"], "timeout");
    let mut proven = of_browser();
    let got = proven.prove(user(1).public_key(), LoginMethod::Extension, NOW).unwrap();
    assert_eq!(events(&got).len(), 2);
}

/// Who asked, with what, and how it ended: once, when it ends.
#[test]
fn end_of_a_login_is_recorded_for_the_operator() {
    let of_browser = || Login { origin: LoginOrigin::Client { name: "Gitea".to_owned() }, ..login() };
    let record = |effects: &[Effect]| {
        let records = effects.iter().filter_map(|effect| match effect {
            Effect::KeepLogin(record) => Some(record.clone()),
            _ => None,
        });
        records.collect::<Vec<_>>()
    };
    let approved = LoginRecord {
        reusable: None,
        status: LoginRecordStatus::Approved,
        method: Some("extension".to_owned()),
        app: Some("Gitea".to_owned()),
        main_key: Some(user(2).public_key()),
        reason: None,
    };
    let mut scanned = of_browser();
    assert_eq!(record(&effects(scanned.step(&handshake(&user(1), "token", &[]), NOW))), []);
    let proven = scanned.prove(user(2).public_key(), LoginMethod::Extension, NOW).unwrap();
    assert_eq!(record(&proven), std::slice::from_ref(&approved), "the key that is proven, not the one that was asked");

    // Of a code that nobody redeems, the key is known.
    let mut returning = Login { return_url: Some("https://app.example/done".to_owned()), ..login() };
    assert_eq!(record(&returning.prove(user(2).public_key(), LoginMethod::Extension, NOW).unwrap()), []);
    let mut redeemed = returning.clone();
    assert_eq!(record(&redeemed.redeem(NOW).unwrap().1), [LoginRecord { app: None, ..approved.clone() }]);
    let timeout = |reason: &str| LoginRecord {
        status: LoginRecordStatus::Timeout,
        app: None,
        reason: Some(reason.to_owned()),
        ..approved.clone()
    };
    let late = effects(returning.step(&Input::Timer, NOW.plus(Duration::from_secs(300))));
    assert_eq!(record(&late), [timeout("the app did not redeem the code in time")]);

    // What nobody has begun names no method; anybody's leaves nothing.
    let end = NOW.plus(Duration::from_secs(600));
    let nobody = LoginRecord { method: None, main_key: None, ..timeout("nobody logged in in time") };
    assert_eq!(record(&effects(login().step(&Input::Timer, end))), [nobody]);
    assert_eq!(record(&effects(of_browser().step(&Input::Timer, end))), []);
    assert_eq!(record(&of_browser().decline(NOW).unwrap()), []);

    let mut declined = Login { origin: LoginOrigin::Reusable { stream: StreamId::SUBSCRIPTIONS }, ..login() };
    declined.step(&handshake(&user(1), "token", &[]), NOW);
    let refusal = AuthStatus::Declined { reason: Some("no".repeat(300)) };
    let got = record(&effects(declined.step(&answer(user(1).public_key(), "challenge", None, refusal), NOW)));
    let expected = LoginRecord {
        reusable: Some(StreamId::SUBSCRIPTIONS),
        status: LoginRecordStatus::Declined,
        method: Some("wallet".to_owned()),
        app: None,
        main_key: Some(user(1).public_key()),
        reason: Some("no".repeat(250)),
    };
    assert_eq!(got, [expected]);
}
