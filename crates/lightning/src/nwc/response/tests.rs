use proptest::prelude::*;
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
    ] {
        assert_eq!(refusal(code), LightningError::Refused { again, reason: format!("no ({code})") });
    }
    assert_eq!(refusal("PAYMENT_FAILED"), LightningError::Failed("no (PAYMENT_FAILED)".to_owned()));
    for code in ["INTERNAL", "OTHER", "", "insufficient_balance", "NEW"] {
        assert!(matches!(refusal(code), LightningError::Unknown(_)), "{code}");
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
    let settled = InvoiceStatus::Settled(Settlement { amount: Some(5), skimmed_fee: 0, preimage: Some(preimage) });
    assert_eq!(status(json!({"state": "settled", "amount": 5})), Ok(settled.clone()));
    assert_eq!(status(json!({"settled_at": 7, "amount": 5})), Ok(settled));
    assert!(status(json!({"type": "outgoing", "state": "settled"})).is_err());
    assert!(status(json!({"payment_hash": "00".repeat(32), "state": "settled"})).is_err());
    let unknown = answer(&json!({"error": {"code": "NOT_FOUND", "message": ""}}));
    assert_eq!(unknown.invoice_status(hash), Ok(InvoiceStatus::Unknown));
    assert_eq!(unknown.outgoing_status(hash), Ok(OutgoingPaymentStatus::Unknown(LookupCoverage::None)));
}

#[test]
fn a_payment_is_paid_only_with_its_preimage() {
    let (preimage, hash) = hash();
    let status = |value: Value| answer(&json!({"result": value})).outgoing_status(hash).unwrap();
    let paid = OutgoingPaymentStatus::Paid(CompletedPayment { preimage, fees_paid: Some(3) });
    assert_eq!(status(json!({"type": "outgoing", "preimage": preimage.to_hex(), "fees_paid": 3})), paid);
    assert_eq!(status(json!({"state": "settled", "preimage": preimage.to_hex(), "fees_paid": 3})), paid);
    assert_eq!(status(json!({"state": "settled", "preimage": ""})), OutgoingPaymentStatus::Pending);
    assert_eq!(status(json!({"state": "pending", "preimage": preimage.to_hex()})), OutgoingPaymentStatus::Pending);
    assert_eq!(status(json!({"state": "failed"})), OutgoingPaymentStatus::Failed);
    assert_eq!(
        status(json!({"type": "incoming", "state": "settled"})),
        OutgoingPaymentStatus::Unknown(LookupCoverage::None)
    );
    assert!(answer(&json!({"result": {"preimage": "x"}})).paid().is_err());
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
    let settlement = Settlement { amount: Some(9), skimmed_fee: 0, preimage: Some(preimage) };
    assert_eq!(told("payment_received", fields.clone()), Ok(Some(Notification::Received(hash, settlement))));
    let paid = CompletedPayment { preimage, fees_paid: Some(1) };
    assert_eq!(told("payment_sent", fields), Ok(Some(Notification::Sent(hash, paid))));
    assert_eq!(told("something_else", json!(null)), Ok(None));
    assert_eq!(told("payment_received", json!({})), Err(InvalidResponse));
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

#[test]
fn announcements() {
    let told =
        Announcement::read("pay_invoice get_info", Some("nip44_v2 nip04"), Some("payment_received payment_sent"));
    assert!(told.nip44 && told.sends_notifications);
    assert_eq!(told.methods, ["pay_invoice", "get_info"]);
    assert_eq!(Announcement::read("", None, None), Announcement::default());
}

proptest! {
    #[test]
    fn nothing_a_wallet_writes_is_a_panic(text in ".{0,80}") {
        let (_, hash) = hash();
        if let Ok(answer) = Response::parse(&text) {
            let _ = (answer.invoice(), answer.paid(), answer.balance(), answer.info());
            let _ = (answer.invoice_status(hash), answer.outgoing_status(hash));
        }
        let _ = Notification::parse(&text);
    }
}
