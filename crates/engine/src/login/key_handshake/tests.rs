use super::*;
use crate::event_data::LoginData;
use crate::operations::fixtures::*;

fn single_use() -> KeyHandshake {
    KeyHandshake::single_use("token".to_owned(), false, NOW.plus(Duration::from_secs(600)))
}

#[test]
fn first_user_completes_a_single_use_handshake() {
    // Who names no relays keeps those that are known.
    for relays in [vec!["wss://a.example".to_owned()], Vec::new()] {
        let named: Vec<_> = relays.iter().map(String::as_str).collect();
        let got = effects(single_use().step(&handshake(&user(1), "token", &named), NOW));
        let main_key = user(1).public_key();
        let data = json!({ "main_key": main_key.to_hex(), "preferred_relays": relays });
        assert_eq!(event(&got), ("KeyHandshake", data));
        assert_eq!(got[1..], [Effect::RememberRelays(UserRelays { main_key, relays }), Effect::Finish]);
    }
}

#[test]
fn percent_encoded_token_matches_only_its_exact_form() {
    let reusable = |token: &str| KeyHandshake::reusable(token.to_owned(), false);
    for (token, sent) in
        [("bar/1", "bar%2F1"), ("bar/1", "bar%2f1"), ("100%", "100%25"), ("a%2Fb", "a%252Fb"), ("ab", "a%62")]
    {
        let scan = || handshake(&user(1), sent, &[]);
        assert!(matches!(reusable(token).step(&scan(), NOW), StepResult::Stepped(_)), "{sent} for {token}");
    }
    for (token, sent) in [
        ("token", "Token"),
        ("bar%2F1", "bar/1"),
        ("bar/1", "bar%252F1"),
        ("bar/1", "bar+1"),
        ("bar/1", "bar%2"),
        ("a", "%FFa"),
    ] {
        assert_eq!(
            reusable(token).step(&handshake(&user(1), sent, &[]), NOW),
            StepResult::Ignored,
            "{sent} for {token}"
        );
    }
}

#[test]
fn handshake_expires_on_the_millisecond() {
    let end = NOW.plus(Duration::from_secs(600));
    let before = UnixMillis(end.0 - 1);
    assert_eq!(single_use().step(&Input::Timer, before), StepResult::Ignored);
    assert!(matches!(single_use().step(&handshake(&user(1), "token", &[]), before), StepResult::Stepped(_)));
    assert_eq!(single_use().step(&handshake(&user(1), "token", &[]), end), StepResult::Ignored);
    let got = effects(single_use().step(&Input::Timer, end));
    assert_eq!(event(&got).1["status"], "timeout");
    assert_eq!(got[1], Effect::Finish);
}

#[test]
fn reusable_handshake_reports_each_scan_once_and_never_ends() {
    let mut reusable = KeyHandshake::reusable("door".to_owned(), true);
    for n in 1..=3 {
        let got = effects(reusable.step(&handshake(&user(n), "door", &[]), NOW));
        assert_eq!(event(&got).1["main_key"], user(n).public_key().to_hex());
        assert!(!got.contains(&Effect::Finish));
    }
    // A repetition is the same scan, however late a relay delivers it.
    let repeated = || made_at(handshake(&user(1), "door", &[]), NOW.plus(Duration::from_secs(59)));
    assert_eq!(reusable.step(&repeated(), NOW.plus(Duration::from_secs(59))), StepResult::Ignored);
    assert_eq!(reusable.step(&repeated(), NOW.plus(Duration::from_secs(800))), StepResult::Ignored);
    let next_visit = NOW.plus(Duration::from_secs(60));
    let again = made_at(handshake(&user(1), "door", &[]), next_visit);
    assert!(matches!(reusable.step(&again, next_visit), StepResult::Stepped(_)));
    assert_eq!(reusable.step(&Input::Timer, UnixMillis(u64::MAX)), StepResult::Ignored);
}

#[test]
fn untrusted_fields_are_bounded() {
    let long = format!("wss://{}.example", "x".repeat(300));
    let mut relays = vec![long.as_str()];
    relays.extend(["wss://a.example"; 16]);
    let got = effects(single_use().step(&handshake(&user(1), "token", &relays), NOW));
    assert_eq!(event(&got).1["preferred_relays"], json!(vec!["wss://a.example"; 8]));
    let long = format!("wss://{}.example", "x".repeat(230));
    let got = effects(single_use().step(&handshake(&user(1), "token", &[&long, &long, &long, "wss://a.example"]), NOW));
    assert_eq!(event(&got).1["preferred_relays"], json!([long, long, "wss://a.example"]), "512 bytes in all");
    let mut reusable = KeyHandshake::reusable("door".to_owned(), false);
    for n in 1..=u32::try_from(RECENT_SCANS).unwrap() + 50 {
        let mut secret = [7; 32];
        secret[..4].copy_from_slice(&n.to_be_bytes());
        let keys = usher_protocol::Keys::new(usher_protocol::SecretKey::from_slice(&secret).unwrap());
        effects(reusable.step(&handshake(&keys, "door", &[]), NOW));
    }
    let state = Operation::KeyHandshake(reusable).to_state().unwrap();
    assert!(state.0.len() < 40 * RECENT_SCANS, "{}", state.0.len());
}

#[test]
fn stored_state_is_pinned() {
    let mut reusable = KeyHandshake::reusable("door".to_owned(), true);
    effects(reusable.step(&handshake(&user(1), "door", &[]), NOW));
    let states = [
        (
            Operation::KeyHandshake(single_use()),
            r#"{"operation":"key_handshake","token":"token","no_request":false,"usage":"single_use","expires_at":1800000600000}"#,
        ),
        (
            Operation::KeyHandshake(reusable),
            r#"{"operation":"key_handshake","token":"door","no_request":true,"usage":"reusable","recent":[["1b84c5567b126440",1800000000]]}"#,
        ),
    ];
    for (operation, text) in states {
        let state = operation.to_state().unwrap();
        assert_eq!(state.0, text);
        assert_eq!(Operation::from_state(&state).unwrap(), operation);
        assert!(!format!("{operation:?}").contains("\"token\""));
    }
}

fn poster() -> KeyHandshake {
    KeyHandshake::reusable_login("poster".to_owned(), LoginUrl::new(stream(), "page secret".to_owned()))
}

fn stream() -> StreamId {
    StreamId::from_parts(1, [1; 10])
}

#[test]
fn each_scan_of_a_reusable_login_starts_a_login() {
    let mut poster = poster();
    assert!(poster.correlations().contains(&CorrelationKey::reusable_login(stream())));
    for n in 1..=2 {
        let got = effects(poster.step(&handshake(&user(n), "poster", &["wss://a.example"]), NOW));
        let main_key = user(n).public_key();
        assert_eq!(event(&got).1["main_key"], main_key.to_hex());
        let relays = vec!["wss://a.example".to_owned()];
        let expected = [
            Effect::RememberRelays(UserRelays { main_key, relays }),
            Effect::LinkedChange(LinkedChange::StartLogin { reusable: stream(), main_key }),
        ];
        assert_eq!(got[1..], expected);
    }
    assert_eq!(poster.step(&handshake(&user(1), "poster", &[]), NOW), StepResult::Ignored, "the same scan");
    assert_eq!(poster.login().map(LoginUrl::scans), Some(2));
}

#[test]
fn what_happens_in_a_login_is_an_event_of_the_reusable_one() {
    let happened = NewEvent::new(&LoginData::timeout("x"), NOW);
    let signal = Input::Signal(Signal::LoginEvent(happened.clone()));
    let mut poster = poster();
    let before = poster.clone();
    assert_eq!(effects(poster.step(&signal, NOW)), [Effect::Emit(happened)]);
    assert_eq!(poster, before, "its state does not grow with the logins");
    let mut handshake = KeyHandshake::reusable("door".to_owned(), false);
    assert_eq!(handshake.step(&signal, NOW), StepResult::Ignored);
    assert_eq!(handshake.login(), None);
}

#[test]
fn reusable_login_survives_storage_and_its_key_does_not_outlive_it() {
    let mut poster = poster().returning_to(Some("https://app.example/".to_owned())).with_suffix("x");
    poster.close(NOW);
    assert!(!poster.kept_correlations().iter().any(|(key, _)| *key == CorrelationKey::reusable_login(stream())));
    assert_eq!((poster.static_token(), poster.token()), ("poster", "poster.x"));
    assert!(!format!("{:?}", restored(Operation::KeyHandshake(poster))).contains("secret"));
}
