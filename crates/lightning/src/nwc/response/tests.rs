use serde_json::json;
use usher_protocol::message::Preimage;

use super::*;

fn answer(value: &Value) -> Response {
    Response::parse(&value.to_string()).unwrap()
}

fn hash() -> (Preimage, PaymentHash) {
    let preimage = Preimage::from_bytes([7; 32]);
    (preimage, preimage.payment_hash())
}

fn settled(amount: Option<u64>, preimage: Option<Preimage>) -> InvoiceStatus {
    InvoiceStatus::Settled(Settlement { amount, skimmed_fee: 0, fees_paid: 0, preimage })
}

#[test]
fn a_refusal_is_definite_only_by_its_code() {
    let refusal = |code: &str| answer(&json!({"error": {"code": code, "message": "no\n"}})).paid().unwrap_err();
    for (code, again) in [
        ("RATE_LIMITED", true),
        ("INSUFFICIENT_BALANCE", true),
        ("QUOTA_EXCEEDED", true),
        ("UNSUPPORTED_ENCRYPTION", true),
        ("RESTRICTED", false),
        ("UNAUTHORIZED", false),
        ("NOT_IMPLEMENTED", false),
        ("NOT_FOUND", false),
    ] {
        assert_eq!(refusal(code), LightningError::Refused { again, reason: format!("no ({code})") });
    }
    let message = format!("no\u{1b}[2J\r\n{}", "x".repeat(10_000));
    let said = answer(&json!({"error": {"code": "RESTRICTED", "message": message}})).paid();
    let Err(LightningError::Refused { reason, .. }) = said else { panic!("{said:?}") };
    assert!(reason.starts_with("no[2Jxxx") && reason.ends_with("(RESTRICTED)") && reason.len() < 300, "{reason}");
    assert!(!reason.chars().any(char::is_control), "{reason}");
    assert_eq!(refusal("PAYMENT_FAILED"), LightningError::Failed("no (PAYMENT_FAILED)".to_owned()));
    for code in ["INTERNAL", "OTHER", "", "insufficient_balance", "NEW"] {
        assert!(matches!(refusal(code), LightningError::Unknown(_)), "{code}");
    }
}

#[test]
fn an_invoice_that_contradicts_its_response_is_refused_for_good() {
    let invoice = usher_testing::ports::invoice(77, 0, 1_000, 1_700_000_000, 600);
    let made = |text: &str, hash: PaymentHash| {
        let result = json!({"type": "incoming", "invoice": text, "payment_hash": hash.to_string()});
        answer(&json!({"result_type": "make_invoice", "result": result})).invoice()
    };
    assert_eq!(made(invoice.as_str(), invoice.payment_hash()), Ok(invoice.clone()));
    for (text, hash) in [(invoice.as_str(), hash().1), ("lnbcrt1notaninvoice", hash().1)] {
        let refused = made(text, hash);
        assert!(matches!(refused, Err(LightningError::Refused { again: false, .. })), "{refused:?}");
    }
}

#[test]
fn an_invoice_is_settled_only_by_state_or_time() {
    let (preimage, hash) = hash();
    let status = |value: Value| {
        let mut result = json!({"type": "incoming", "payment_hash": hash.to_string(), "preimage": preimage.to_hex()});
        result.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
        answer(&json!({"result_type": "lookup_invoice", "result": result})).invoice_status(hash)
    };
    // The wallet knows the preimage of its own invoice before anybody has paid.
    assert_eq!(status(json!({})), Ok(InvoiceStatus::Open));
    assert_eq!(status(json!({"state": "pending", "settled_at": 7})), Ok(InvoiceStatus::Open));
    assert_eq!(status(json!({"state": "accepted"})), Ok(InvoiceStatus::Open));
    assert_eq!(status(json!({"state": "expired"})), Ok(InvoiceStatus::Dead));
    let settled = settled(Some(5), Some(preimage));
    assert_eq!(status(json!({"state": "settled", "amount": 5})), Ok(settled.clone()));
    assert_eq!(status(json!({"settled_at": 7, "amount": 5})), Ok(settled.clone()));
    // The wallet's own user paid it, and the wallet shows the payer's side.
    assert_eq!(status(json!({"type": "outgoing", "state": "settled", "amount": 5})), Ok(settled.clone()));
    assert_eq!(status(json!({"type": "Outgoing", "settled_at": 7, "amount": 5, "fees_paid": 2})), Ok(settled));
    assert!(status(json!({"type": "outgoing", "state": "pending"})).is_err());
    assert!(status(json!({"type": "outgoing", "state": "failed"})).is_err());
    for no_proof in [Value::Null, json!("0".repeat(64)), json!("08".repeat(32))] {
        let outgoing = json!({"type": "outgoing", "state": "settled", "amount": 5, "preimage": no_proof});
        assert_eq!(status(outgoing), Ok(InvoiceStatus::Disputed));
    }
    assert!(status(json!({"payment_hash": "01".repeat(32), "state": "settled"})).is_err());
    let unknown = answer(&json!({"error": {"code": "NOT_FOUND", "message": ""}}));
    assert_eq!(unknown.invoice_status(hash), Ok(InvoiceStatus::Unknown));
    assert_eq!(unknown.outgoing_status(hash), Ok(OutgoingPaymentStatus::Unknown(LookupCoverage::None)));
}

#[test]
fn what_wallets_write_for_no_preimage_is_none() {
    let preimage = Preimage::from_bytes([0xa7; 32]);
    let status = |shown: Value| {
        let result = json!({
            "type": "incoming", "state": "settled", "invoice": "lnbc100n1\u{2026}", "preimage": shown, "amount": 10_000,
            "payment_hash": "377e15efdc9e493f8e1b6ab832acc34ae8f50a4b56e8d0e17bc71cf884848104", "fees_paid": 0,
            "created_at": 1_795_844_248, "settled_at": 1_795_844_250,
        });
        answer(&json!({"result_type": "lookup_invoice", "error": null, "result": result}))
            .invoice_status(preimage.payment_hash())
            .unwrap()
    };
    let zeros = "0".repeat(64);
    for none in
        [json!(zeros), json!(null), json!(""), json!(" "), json!("00"), json!("none"), json!("z".repeat(64)), json!(0)]
    {
        assert_eq!(status(none.clone()), settled(Some(10_000), None), "{none}");
    }
    assert_eq!(status(json!("A7".repeat(32))), settled(Some(10_000), Some(preimage)));
    // A well-formed one of another hash is for the engine to see.
    let wrong = Preimage::from_bytes([8; 32]);
    assert_eq!(status(json!(wrong.to_hex())), settled(Some(10_000), Some(wrong)));
}

#[test]
fn loose_json_of_wallets_is_read() {
    let (preimage, hash) = hash();
    let text = |fields: Value| {
        let mut result = json!({"type": "incoming", "payment_hash": hash.to_string(), "preimage": preimage.to_hex()});
        result.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!({"result_type": "lookup_invoice", "error": null, "result": result}).to_string()
    };
    let status = |fields: Value| Response::parse(&text(fields)).unwrap().invoice_status(hash).unwrap();
    for at in [
        json!(1_795_844_250.417),
        json!("1795844250"),
        json!("1795844250.417"),
        json!("2026-11-28T13:37:30Z"),
        json!("Sat, 28 Nov 2026 13:37:30 GMT"),
        json!("20261128T133730Z"),
        json!("11/28/26"),
        json!({"seconds": 1_795_844_250, "nanos": 0}),
        json!([2026, 11, 28]),
        json!(true),
    ] {
        assert_eq!(status(json!({"settled_at": at, "amount": 5})), settled(Some(5), Some(preimage)), "{at}");
        assert_eq!(
            status(json!({"settled_at": at, "state": "pending"})),
            InvoiceStatus::Open,
            "{at}: the state counts"
        );
    }
    for none in [
        json!(null),
        json!(0),
        json!(0.0),
        json!(""),
        json!("0"),
        json!(-1),
        json!(false),
        json!("0001-01-01T00:00:00Z"),
        json!("1970-01-01T00:00:00Z"),
        json!("1969-12-31T19:00:00-05:00"),
        json!("Thu, 01 Jan 1970 00:00:00 GMT"),
        json!("1/1/0001 12:00:00 AM"),
        json!("+1970-01-01"),
        json!("1/1/70"),
        json!({"seconds": 0, "nanos": 0}),
        json!([1970, 1, 1]),
        json!([null]),
        json!("null"),
        json!("Invalid Date"),
        json!("N/A"),
        json!("not settled"),
    ] {
        assert_eq!(status(json!({"settled_at": none, "state": null})), InvoiceStatus::Open, "{none}");
    }
    for (amount, read) in
        [(json!("10000"), 10_000), (json!(1_000.0), 1_000), (json!("1000.0"), 1_000), (json!("1e11"), 100_000_000_000)]
    {
        assert_eq!(status(json!({"state": "settled", "amount": amount})), settled(Some(read), Some(preimage)));
    }
    let exponent = text(json!({"state": "settled", "amount": "1e11"})).replace("\"1e11\"", "1e11");
    let answer = Response::parse(&format!("\u{feff}{exponent}")).unwrap();
    assert_eq!(answer.invoice_status(hash), Ok(settled(Some(100_000_000_000), Some(preimage))));
    for error in [json!(""), json!(false), json!({}), json!({"code": "", "message": ""})] {
        let response = json!({"error": error, "result": {"balance": "21000"}}).to_string();
        assert_eq!(Response::parse(&response).unwrap().balance(), Ok(21_000), "{error}");
        assert!(!Response::parse(&json!({ "error": error }).to_string()).is_ok_and(|answer| answer.balance().is_ok()));
    }
    for error in [json!({"code": null, "message": null}), json!({"code": 0}), json!(0), json!("null"), json!([])] {
        let result = json!({"balance": 21_000});
        for (result_type, result) in [
            (json!("GET_BALANCE"), result.clone()),
            (json!(5), result.clone()),
            (json!(null), json!(result.to_string())),
        ] {
            let response = json!({"result_type": result_type, "error": error, "result": result}).to_string() + "\0";
            assert_eq!(Response::parse(&response).unwrap().balance(), Ok(21_000), "{response}");
        }
    }
    let refusal = Response::parse(r#"{"error": "no funds"}"#).unwrap().paid();
    assert_eq!(refusal, Err(LightningError::Unknown("no funds".to_owned())));
    for state in ["paid", "Complete", "SUCCEEDED"] {
        let fields = json!({"state": state, "type": "received", "settled_at": 7, "payment_hash": "0".repeat(64)});
        assert_eq!(status(fields), settled(None, Some(preimage)), "{state}");
    }
}

#[test]
fn an_amount_that_cannot_be_read_is_not_believed() {
    let (preimage, hash) = hash();
    for (amount, read) in [
        (json!(-21_000), None),
        (json!("-1"), None),
        (json!(0.5), None),
        (json!(1_u64 << 63), None),
        (json!(1e300), None),
        (json!("much"), None),
        (json!([]), None),
        (json!("1"), Some(Some(1))),
        (json!(null), Some(None)),
        (json!(""), Some(None)),
    ] {
        let fields = json!({"payment_hash": hash.to_string(), "state": "settled", "amount": amount, "preimage": preimage.to_hex()});
        let expected = read.map_or(InvoiceStatus::Disputed, |amount| settled(amount, Some(preimage)));
        assert_eq!(answer(&json!({ "result": fields })).invoice_status(hash), Ok(expected), "{amount}");
        let told =
            Notification::parse(&json!({"notification_type": "payment_received", "notification": fields}).to_string());
        let Ok(Some(Notification::Received(_, told))) = told else { panic!("{told:?}") };
        // Without a preimage it is only a reason to look it up.
        assert_eq!((told.amount, told.preimage), (read.flatten(), read.map(|_| preimage)), "{amount}");
    }
}

#[test]
fn a_payment_is_paid_only_with_its_preimage() {
    let (preimage, hash) = hash();
    let status = |value: Value| answer(&json!({"result": value})).outgoing_status(hash).unwrap();
    let paid = OutgoingPaymentStatus::Paid(CompletedPayment { preimage, fees_paid: Some(3) });
    assert_eq!(status(json!({"type": "outgoing", "preimage": preimage.to_hex(), "fees_paid": 3})), paid);
    assert_eq!(status(json!({"state": "settled", "preimage": preimage.to_hex(), "fees_paid": 3})), paid);
    for none in ["", "00", &"0".repeat(64)] {
        assert_eq!(status(json!({"state": "settled", "preimage": none})), OutgoingPaymentStatus::Unproven);
        assert_eq!(status(json!({"settled_at": "2026-11-28", "preimage": none})), OutgoingPaymentStatus::Unproven);
        assert_eq!(status(json!({"state": "failed", "preimage": none})), OutgoingPaymentStatus::Failed);
        assert_eq!(status(json!({"type": "outgoing", "preimage": none})), OutgoingPaymentStatus::Pending);
    }
    assert_eq!(status(json!({"state": "expired"})), OutgoingPaymentStatus::Unproven);
    // The payee has released it.
    assert_eq!(status(json!({"state": "failed", "preimage": preimage.to_hex()})), OutgoingPaymentStatus::Unproven);
    assert_eq!(status(json!({"state": "pending", "preimage": preimage.to_hex()})), OutgoingPaymentStatus::Pending);
    assert_eq!(status(json!({"state": "failed"})), OutgoingPaymentStatus::Failed);
    assert_eq!(
        status(json!({"type": "incoming", "state": "settled", "preimage": preimage.to_hex()})),
        OutgoingPaymentStatus::Paid(CompletedPayment { preimage, fees_paid: None }),
        "the payee is the backend's own"
    );
    assert_eq!(status(json!({"type": "incoming", "state": "settled"})), OutgoingPaymentStatus::Unproven);
    assert_eq!(
        status(json!({"type": "incoming", "state": "pending", "preimage": preimage.to_hex()})),
        OutgoingPaymentStatus::Unknown(LookupCoverage::None)
    );
    for unproven in [
        json!({"preimage": "x"}),
        json!({"preimage": ""}),
        json!({"preimage": null}),
        json!({"preimage": "00"}),
        json!({"preimage": "z".repeat(64)}),
        json!({"preimage": 7, "fees_paid": 1}),
        json!({"payment_hash": hash.to_string()}),
        json!(true),
    ] {
        let said = answer(&json!({"result_type": "pay_invoice", "result": unproven})).paid();
        assert!(matches!(said, Err(LightningError::Unknown(_))), "{unproven}: {said:?}");
    }
}

#[test]
fn only_outgoing_transactions_show_what_look_ups_find() {
    let (preimage, _) = hash();
    let coverage = |value: Value| answer(&json!({"result": value})).coverage();
    assert_eq!(
        coverage(json!({"type": "outgoing", "state": "settled", "preimage": preimage.to_hex()})),
        LookupCoverage::Ended
    );
    assert_eq!(coverage(json!({"type": "outgoing", "preimage": preimage.to_hex()})), LookupCoverage::Ended);
    assert_eq!(coverage(json!({"type": "outgoing", "state": "PENDING"})), LookupCoverage::InProgress);
    assert_eq!(coverage(json!({"type": "outgoing", "state": "failed"})), LookupCoverage::Ended, "it is over");
    assert_eq!(coverage(json!({"type": "incoming", "state": "settled"})), LookupCoverage::None);
    assert_eq!(coverage(json!({"state": "settled", "preimage": preimage.to_hex()})), LookupCoverage::None);
    assert_eq!(answer(&json!({"error": {"code": "NOT_FOUND", "message": ""}})).coverage(), LookupCoverage::None);
}

#[test]
fn notifications() {
    let (preimage, hash) = hash();
    let told = |kind: &str, value: Value| {
        Notification::parse(&json!({"notification_type": kind, "notification": value}).to_string())
    };
    let fields = json!({"payment_hash": hash.to_string(), "preimage": preimage.to_hex(), "amount": 9, "fees_paid": 1});
    let settlement = Settlement { amount: Some(9), skimmed_fee: 0, fees_paid: 1, preimage: Some(preimage) };
    assert_eq!(told("payment_received", fields.clone()), Ok(Some(Notification::Received(hash, settlement))));
    let paid = CompletedPayment { preimage, fees_paid: Some(1) };
    assert_eq!(told("payment_sent", fields), Ok(Some(Notification::Sent(hash, paid))));
    assert_eq!(told("something_else", json!(null)), Ok(None));
    for invalid in [
        json!({}),
        json!(null),
        json!("paid"),
        json!({"payment_hash": 7}),
        json!({"payment_hash": "00"}),
        json!({"preimage": preimage.to_hex()}),
    ] {
        assert_eq!(told("payment_received", invalid.clone()), Err(InvalidResponse), "{invalid}");
        assert_eq!(told("payment_sent", invalid.clone()), Err(InvalidResponse), "{invalid}");
    }
    assert_eq!(told("payment_sent", json!({"payment_hash": hash.to_string(), "preimage": "00"})), Err(InvalidResponse));
    assert_eq!(told("PAYMENT_RECEIVED", json!({"payment_hash": hash.to_string()})), Ok(None));
    for text in
        ["null", "[]", "{}", "not JSON", r#"{"notification_type":7}"#, r#"{"notification_type":"payment_sent"}"#]
    {
        assert_eq!(Notification::parse(text), Err(InvalidResponse), "{text}");
    }
}

#[test]
fn contradictory_notifications_are_invalid() {
    let (preimage, hash) = hash();
    for (kind, more) in [
        ("payment_received", json!({"type": "outgoing"})),
        ("payment_received", json!({"state": "pending"})),
        ("payment_received", json!({"state": "EXPIRED"})),
        ("payment_sent", json!({"type": "incoming"})),
        ("payment_sent", json!({"state": "failed"})),
    ] {
        let mut fields = json!({"payment_hash": hash.to_string(), "preimage": preimage.to_hex()});
        if more["type"] == "outgoing" {
            fields["preimage"] = json!("08".repeat(32));
        }
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let text = json!({"notification_type": kind, "notification": fields}).to_string();
        assert_eq!(Notification::parse(&text), Err(InvalidResponse), "{text}");
    }
}

#[test]
fn a_response_to_another_method_proves_nothing() {
    let (preimage, hash) = hash();
    let other = answer(&json!({"result_type": "get_balance", "error": {"code": "NOT_FOUND", "message": ""}}));
    assert!(matches!(other.paid(), Err(LightningError::Unknown(_))));
    assert!(matches!(other.outgoing_status(hash), Err(LightningError::Unknown(_))));
    let other = answer(&json!({"result_type": "pay_keysend", "result": {"preimage": preimage.to_hex()}}));
    assert!(matches!(other.paid(), Err(LightningError::Unknown(_))));
    // It could not read the request.
    let unread = answer(&json!({"result_type": "", "error": {"code": "UNAUTHORIZED", "message": ""}}));
    assert!(matches!(unread.paid(), Err(LightningError::Refused { again: false, .. })));
    for unread in [
        "null",
        "[]",
        "\"settled\"",
        "{\"error\":\"RATE_LIMITED\"}",
        "{\"error\":{\"code\":5}}",
        "{\"result_type\":7,\"result\":{}}",
    ] {
        let proves = |answer: Response| answer.invoice_status(hash).is_ok() || answer.outgoing_status(hash).is_ok();
        assert!(!Response::parse(unread).is_ok_and(proves), "{unread}");
    }
    for nothing in [json!({}), json!("settled"), json!([]), json!(7), json!({"hello": 1})] {
        let said = answer(&json!({"result": nothing}));
        assert!(said.invoice_status(hash).is_err() && said.outgoing_status(hash).is_err(), "{nothing}");
    }
}

#[test]
fn debug_shows_no_preimage() {
    let (preimage, _) = hash();
    let shown = format!("{:?}", answer(&json!({"result": {"preimage": preimage.to_hex()}})));
    assert!(!shown.contains(&preimage.to_hex()), "{shown}");
}
