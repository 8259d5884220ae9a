//! Untrusted input: tolerated where the protocol requires it, bounded everywhere.

use serde_json::{Value, json};
use usher_protocol::message::*;
use usher_protocol::subkey::SubkeyProof;

use crate::tests::wire_samples::{about, all, kind, sample, senders};

fn wallet(kind: u16, value: &Value) -> Result<WalletMessage, ParseError> {
    WalletMessage::parse(kind, Some(about()), &value.to_string())
}

fn refused(kind: u16, value: &Value) {
    assert!(matches!(wallet(kind, value), Err(ParseError::Malformed { .. })), "{value}");
}

fn handshake(value: &Value) -> KeyHandshake {
    match wallet(27010, value) {
        Ok(WalletMessage::KeyHandshake(handshake)) => handshake,
        other => panic!("{other:?}"),
    }
}

fn parse_any(name: &str, text: &str) -> Result<String, ParseError> {
    if senders(name).0 {
        WalletMessage::parse(kind(name), Some(about()), text).map(|message| message.to_json())
    } else {
        ServiceMessage::parse(kind(name), Some(about()), text).map(|message| message.to_json())
    }
}

fn in_every_object(value: &mut Value, change: &dyn Fn(&mut serde_json::Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            object.values_mut().for_each(|value| in_every_object(value, change));
            change(object);
        }
        Value::Array(array) => array.iter_mut().for_each(|value| in_every_object(value, change)),
        _ => {}
    }
}

#[test]
fn optional_fields_may_be_missing_or_null() {
    for (name, text) in all() {
        let mut value: Value = serde_json::from_str(&text).unwrap();
        in_every_object(&mut value, &|object| object.retain(|_, value| !value.is_null()));
        let expected = parse_any(&name, &text).unwrap();
        assert_eq!(parse_any(&name, &value.to_string()).as_ref(), Ok(&expected), "{name}");
    }
    let null = handshake(&json!({"token": "t", "client_info": null, "preferred_relays": null}));
    assert_eq!(null, handshake(&json!({"token": "t"})));
}

#[test]
fn unknown_fields_are_ignored_at_every_level() {
    for (name, text) in all() {
        let mut value: Value = serde_json::from_str(&text).unwrap();
        in_every_object(&mut value, &|object| {
            // An object of exactly one variant (`{"success": {…}}`) is an enum on the wire, not a place for fields.
            if !["success", "rejected", "failed"].iter().any(|variant| object.contains_key(*variant)) {
                object.insert("x-later".to_owned(), json!({"deep": [1, {"er": null}]}));
            }
        });
        assert_eq!(parse_any(&name, &value.to_string()), parse_any(&name, &text), "{name}");
    }
}

#[test]
fn timestamps_may_be_integers() {
    let times = ["expires_at", "valid_from", "time", "until", "first_payment_due"];
    let mut changed = 0;
    for (name, text) in all() {
        let mut value: Value = serde_json::from_str(&text).unwrap();
        in_every_object(&mut value, &|object| {
            for time in times {
                if let Some(Value::String(digits)) = object.get(time) {
                    let secs: u64 = digits.parse().unwrap();
                    object.insert(time.to_owned(), secs.into());
                }
            }
        });
        changed += usize::from(value.to_string().contains("1732137"));
        assert_eq!(parse_any(&name, &value.to_string()), parse_any(&name, &text), "{name}");
    }
    assert!(changed > 10);
}

#[test]
fn invalid_timestamps_are_refused() {
    let challenge =
        |time: &Value| ServiceMessage::parse(27000, None, &json!({"challenge": "c", "expires_at": time}).to_string());
    for good in ["0", "18446744073709551615"] {
        assert!(challenge(&json!(good)).is_ok());
    }
    let texts = ["", "-1", "+1", " 1", "1e9", "0x10", "١٢", "18446744073709551616"].map(Value::from);
    for bad in texts.into_iter().chain([json!(-1), json!(1.5), json!(true), json!([1]), Value::Null]) {
        assert!(challenge(&bad).is_err(), "{bad}");
    }
}

#[test]
fn each_required_field_is_required() {
    let optional = "client_info preferred_relays required_permissions subkey_proof granted_permissions session_token \
                    reason preimage payment_type current_exchange_rate auth_token subscription_id description until \
                    max_payments refund_invoice payment_hash";
    for (name, text) in all() {
        let whole: Value = serde_json::from_str(&text).unwrap();
        for field in whole.as_object().unwrap().keys() {
            let mut value = whole.clone();
            value.as_object_mut().unwrap().remove(field);
            let parsed = parse_any(&name, &value.to_string());
            let may_miss = optional.split(' ').any(|name| name == field);
            let may_miss = may_miss && !(name.starts_with("28007") && field == "subscription_id");
            assert_eq!(parsed.is_ok(), may_miss, "{name} without {field}");
        }
    }
}

/// Who answers may need no proof: one that is no proof costs itself alone. As a message of its own it is refused.
#[test]
fn unreadable_proof_in_a_reply_is_dropped() {
    let parse = |answer: &Value| WalletMessage::parse(27001, None, &answer.to_string());
    for name in ["27001-approved", "27001-approved-by-subkey", "27001-declined"] {
        let mut answer: Value = serde_json::from_str(&sample(name)).unwrap();
        answer["subkey_proof"] = Value::Null;
        let without = parse(&answer).unwrap();
        let whole: Value = serde_json::from_str(&sample("27001-approved-by-subkey")).unwrap();
        let good = &whole["subkey_proof"];
        let but = |pointer: &str, value: Value| {
            let mut proof = good.clone();
            *proof.pointer_mut(pointer).unwrap() = value;
            proof
        };
        let mut unreadable =
            vec![json!({}), json!([]), json!("proof"), json!(false), json!({"main_key": good["main_key"]})];
        unreadable.extend(
            [("nonce", "0"), ("expires_at", "soon"), ("version", "2"), ("name", &"x".repeat(10_000))]
                .map(|(field, wrong)| but(&format!("/metadata/{field}"), json!(wrong))),
        );
        unreadable.extend([json!("00"), json!("f".repeat(64))].map(|key| but("/main_key", key)));
        unreadable.push(but("/metadata", Value::Null));
        for unreadable in unreadable {
            answer["subkey_proof"] = unreadable.clone();
            assert_eq!(parse(&answer).as_ref(), Ok(&without), "{name}: {unreadable}");
            assert!(WalletMessage::parse(30000, Some(about()), &unreadable.to_string()).is_err(), "{unreadable}");
        }
        answer["subkey_proof"] = good.clone();
        assert_ne!(parse(&answer).as_ref(), Ok(&without), "one that can be read is");
    }
}

#[test]
fn texts_that_are_not_json_objects_are_refused() {
    for (name, text) in all() {
        for bad in ["", " ", "null", "[]", "\"x\"", "1", "{", "{}x", &format!("{text}{text}"), &format!("[{text}]")] {
            assert!(parse_any(&name, bad).is_err(), "{name}: {bad}");
        }
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            assert!(parse_any(&name, &text[..end]).is_err(), "{name} cut at {end}");
        }
    }
    // serde would read a struct from an array, too.
    assert!(WalletMessage::parse(27010, None, r#"["token", null, []]"#).is_err());
    // Which of two tokens would be meant?
    assert!(WalletMessage::parse(27010, None, r#"{"token": "a", "token": "b"}"#).is_err());
    let twice = sample("27001-approved").replace(r#""status":{"#, r#""status":{"status":"declined","#);
    assert!(WalletMessage::parse(27001, None, &twice).is_err());
}

#[test]
fn depth_and_length_are_bounded() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    for levels in [1_000, 30_000] {
        let deep = nested(levels);
        // What is read is refused.
        for text in [format!(r#"{{"token":{deep}}}"#), format!(r#"{{"token":"t","preferred_relays":{deep}}}"#)] {
            assert!(WalletMessage::parse(27010, None, &text).is_err());
        }
        let info = format!(r#"{{"token":"t","client_info":{{"name":{deep}}}}}"#);
        assert!(WalletMessage::parse(27010, None, &info).is_ok());
        // A tagged enum is read into memory before its tag is known.
        let status = format!(r#"{{"challenge":"c","status":{{"x":{deep},"status":"declined"}}}}"#);
        assert!(WalletMessage::parse(27001, None, &status).is_err());
        // What is not read is skipped, without a stack that could overflow.
        let ignored = format!(r#"{{"token":"t","x":{deep}}}"#);
        assert!(WalletMessage::parse(27010, None, &ignored).is_ok());
    }
    let long = |bytes: usize| format!(r#"{{"token":"t","x":"{}"}}"#, "y".repeat(bytes));
    assert!(WalletMessage::parse(27010, None, &long(60_000)).is_ok());
    assert_eq!(WalletMessage::parse(27010, None, &long(70_000)), Err(ParseError::TooLong));
}

#[test]
fn identifiers_are_bounded() {
    // Three times as long as an identifier: wallets may send it percent-encoded.
    assert_eq!(handshake(&json!({"token": "%2F".repeat(256)})).token.len(), 768);
    for bad in [json!("t".repeat(769)), json!(""), json!("a\nb"), json!("a\u{0}"), json!(5), Value::Null] {
        refused(27010, &json!({"token": bad}));
        refused(27001, &json!({"challenge": bad, "status": {"status": "declined"}}));
        refused(28001, &json!({"request_id": bad, "status": "approved"}));
        refused(28007, &json!({"subscription_id": bad, "by_service": false}));
    }
}

#[test]
fn first_usable_preferred_relays_are_kept() {
    let mut relays: Vec<String> = (0..100).map(|i| format!("wss://relay{i}.example.com")).collect();
    relays.insert(0, format!("wss://relay.example/{}", "x".repeat(5_000)));
    relays.insert(1, "http://169.254.169.254/latest".to_owned());
    relays.insert(2, "wss://relay0.example.com".to_owned());
    relays.insert(3, "wss://x\r\nHost: y".to_owned());
    let taken = handshake(&json!({"token": "t", "preferred_relays": relays})).preferred_relays;
    assert_eq!(taken, (0..MAX_PREFERRED_RELAYS).map(|i| format!("wss://relay{i}.example.com")).collect::<Vec<_>>());
}

/// Nobody's login fails for a list of relays that is written otherwise.
#[test]
fn usable_part_of_a_malformed_relay_list_is_kept() {
    let relay = "wss://relay.example";
    let usable =
        [json!(relay), json!([5, relay]), json!([relay, null, {"url": relay}, [relay], true, 0.5, relay, "wss://"])];
    for relays in usable {
        let taken = handshake(&json!({"token": "t", "preferred_relays": relays})).preferred_relays;
        assert_eq!(taken, [relay], "{relays}");
    }
    for relays in
        [json!(5), json!(-5), json!(0.5), json!(true), json!({"a": [relay]}), json!("relay.example"), json!([])]
    {
        let taken = handshake(&json!({"token": "t", "preferred_relays": relays})).preferred_relays;
        assert!(taken.is_empty(), "{relays}");
    }
    let sent = json!({"challenge": "c", "status": {"status": "approved", "granted_permissions": [5, "auth"]}});
    let Ok(WalletMessage::AuthResponse(AuthResponse {
        status: AuthStatus::Approved { granted_permissions, .. }, ..
    })) = wallet(27001, &sent)
    else {
        panic!("another message");
    };
    assert_eq!(granted_permissions, ["auth"]);
}

#[test]
fn untrusted_text_is_cleaned_and_truncated() {
    let evil = format!("\u{1b}[31mno\r\n2026-01-01 INFO paid \u{202e}{}", "x".repeat(5_000));
    let mut clean = String::new();
    for (kind, value) in [
        (27001, json!({"challenge": "c", "status": {"status": "declined", "reason": evil}})),
        (28001, json!({"request_id": "r", "status": {"failed": {"reason": evil}}})),
        (28002, json!({"request_id": "r", "status": {"rejected": {"reason": evil}}})),
        (28006, json!({"request_id": "r", "status": {"status": "rejected", "reason": evil}})),
        (28007, json!({"subscription_id": "s", "reason": evil, "by_service": false})),
    ] {
        let json: Value = serde_json::from_str(&wallet(kind, &value).unwrap().to_json()).unwrap();
        let reason = find(&json, "reason").unwrap();
        assert_eq!(reason.chars().count(), 1024);
        assert!(reason.starts_with("[31mno  2026-01-01 INFO paid x"), "{reason}");
        assert!(clean.is_empty() || clean == reason);
        clean = reason;
    }
    let info = handshake(&json!({"token": "t", "client_info": {"name": evil, "version": null}})).client_info.unwrap();
    assert_eq!(info.name.chars().count(), 128);
    assert_eq!(info.version, "");
    for unreadable in [json!("Wallet 1.0"), json!({"name": 5}), json!({"version": ["1"]}), json!(["x", "1"])] {
        let login = handshake(&json!({"token": "t", "client_info": unreadable, "preferred_relays": ["wss://a.b"]}));
        assert_eq!((login.token.as_str(), login.preferred_relays.len()), ("t", 1), "{unreadable}");
    }
    let silence = wallet(27001, &json!({"challenge": "c", "status": {"status": "declined", "reason": " \u{0} "}}));
    let Ok(WalletMessage::AuthResponse(silence)) = silence else { panic!("{silence:?}") };
    assert_eq!(silence.status, AuthStatus::Declined { reason: None });
}

fn find(value: &Value, name: &str) -> Option<String> {
    match value {
        Value::Object(object) => match object.get(name) {
            Some(Value::String(text)) => Some(text.clone()),
            _ => object.values().find_map(|value| find(value, name)),
        },
        _ => None,
    }
}

#[test]
fn session_tokens_and_permissions_are_bounded() {
    let approved = |granted: Value, token: Value| json!({"challenge": "c", "status": {"status": "approved", "granted_permissions": granted, "session_token": token}});
    let status = |value: &Value| match wallet(27001, value) {
        Ok(WalletMessage::AuthResponse(response)) => response.status,
        other => panic!("{other:?}"),
    };
    let longest = "t".repeat(MAX_SESSION_TOKEN_BYTES);
    for (sent, read) in [(longest.as_str(), Some(longest.as_str())), ("", None)] {
        let AuthStatus::Approved { session_token, .. } = status(&approved(json!([]), json!(sent))) else { panic!() };
        assert_eq!(session_token.as_deref(), read);
    }
    for bad in [json!("t".repeat(MAX_SESSION_TOKEN_BYTES + 1)), json!("a b"), json!("a\n"), json!("ä"), json!(7)] {
        refused(27001, &approved(json!([]), bad));
    }

    let many: Vec<String> = (0..1_000).map(|i| format!("p{i}")).collect();
    let odd = json!(["ok", "", "x".repeat(65), "a\nb", "ok"]);
    for (sent, read) in [(json!(many), &many[..MAX_PERMISSIONS]), (odd, &["ok".to_owned()]), (json!(null), &[])] {
        let AuthStatus::Approved { granted_permissions, .. } = status(&approved(sent, json!(null))) else { panic!() };
        assert_eq!(granted_permissions, read);
    }
}

#[test]
fn keys_hashes_and_amounts_are_strict() {
    let with = |name: &str, pointer: &str, value: Value| {
        let mut whole: Value = serde_json::from_str(&sample(name)).unwrap();
        *whole.pointer_mut(pointer).unwrap() = value;
        parse_any(name, &whole.to_string()).is_ok()
    };
    let key = "196F10D0C0726E7C25AC48FB5CFC78F620A24158986F52400E154A068F04381C";
    assert!(with("30000-proof", "/main_key", json!(key)));
    assert!(with("29501-rejected", "/request/recipient", json!(key)));
    let npub = "npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6";
    for bad in [json!(""), json!("00"), json!("0".repeat(64)), json!(npub)] {
        assert!(!with("30000-proof", "/main_key", bad.clone()), "{bad}");
        assert!(!with("28009-invoice", "/request/main_key", bad.clone()), "{bad}");
    }
    let hash = ["28001-success /status/success/preimage", "28009-invoice /payment_hash", "30000-proof /metadata/nonce"];
    let amount = ["29501-rejected /request/inner/amount", "28006-confirmed /status/authorized_amount"];
    let invoice = json!("x".repeat(MAX_INVOICE_BYTES + 1));
    for (places, bad) in [
        (&hash[..], vec![json!(""), json!("zz".repeat(32)), json!("00".repeat(33)), json!(0)]),
        (&amount, vec![json!(-1), json!(1.0), json!("1"), json!(1e30), Value::Null]),
        (
            &["28006-confirmed /status/authorized_currency"],
            vec![json!(""), json!("a b"), json!("X".repeat(17)), json!("€")],
        ),
        (&["28009-invoice /invoice"], vec![json!(""), invoice, json!("ln bc"), json!("lnbc\n")]),
        (&["29501-success /status/token"], vec![json!(""), json!("cashu A"), Value::Null]),
        (&["30000-proof /metadata/permissions"], vec![json!(["auth", "root"]), json!("auth"), json!(null), json!([1])]),
    ] {
        for (place, bad) in places.iter().flat_map(|place| bad.iter().map(move |bad| (place, bad))) {
            let (name, pointer) = place.split_once(' ').unwrap();
            assert!(!with(name, pointer, bad.clone()), "{place}: {bad}");
        }
    }
    assert!(with("28006-confirmed", "/status/authorized_currency", json!("millisats")));
    assert!(with("30000-proof", "/metadata/name", json!("x".repeat(1024))));
    assert!(!with("30000-proof", "/metadata/name", json!("x".repeat(1025))));
    assert!(!with("30000-proof", "/metadata/version", json!(256)));
}

#[test]
fn each_side_accepts_only_kinds_of_the_other() {
    for kind in (0..=u16::MAX).filter(|kind| !usher_protocol::kind::FROM_WALLET.contains(kind)) {
        assert_eq!(WalletMessage::parse(kind, None, "{}"), Err(ParseError::UnknownKind(kind)));
    }
    for kind in (0..=u16::MAX).filter(|kind| !usher_protocol::kind::FROM_SERVICE.contains(kind)) {
        assert_eq!(ServiceMessage::parse(kind, None, "{}"), Err(ParseError::UnknownKind(kind)));
    }
}

#[test]
fn proof_without_a_reference_is_refused() {
    let text = sample("30000-proof");
    assert_eq!(WalletMessage::parse(30000, None, &text), Err(ParseError::MissingReference));
    assert_eq!(ServiceMessage::parse(30000, None, &text), Err(ParseError::MissingReference));
    assert_eq!(SubkeyProof::parse(&text), Ok(crate::tests::wire_samples::proof()));
    assert!(SubkeyProof::parse("{").is_err());
}
