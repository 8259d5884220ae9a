//! The shared vectors of the client libraries (clients/test-vectors): events, and webhooks as they are posted.
//!
//! `UPDATE_VECTORS=1 cargo test -p usher-webhooks --test client_vectors` writes the files.

use crate::common;

use std::path::PathBuf;

use common::{LONG, Request, Server, empty, signing_receiver};
use serde_json::{Value, json};
use usher_engine::event::{Event, EventType, NewEvent};
use usher_engine::event_data::{
    AuthorizedRecurrence, CashuResponseData, CashuStatusData, EventData, InvoiceData, KeyHandshakeData, LoginData,
    PaymentData, SubscriptionClosedData, SubscriptionData, SubscriptionPaymentData,
};
use usher_engine::ports::{Posted, WebhookSender as _};
use usher_engine::{StreamId, UnixMillis};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OLD_SECRET: &str = "a secret of the operator's own choosing, żółw";
const AT: u64 = 1_732_137_600;
const USER: &str = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e";
const HASH: &str = "ae216c2ef5247a3782c135efa279a3e4cdc61094270f5d2be58c6204b7a612c9";
const PREIMAGE: &str = "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20";
const SUBSCRIPTION: &str = "0b9c8a53-2d5f-4c5e-9d1c-0f3f9a8d2f10";
const MINT: &str = "https://mint.example";

/// Compares a file of vectors with `made`, or writes it.
#[track_caller]
fn check(name: &str, made: &Value) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../clients/test-vectors").join(name);
    if std::env::var_os("UPDATE_VECTORS").is_some() {
        std::fs::write(&path, serde_json::to_string_pretty(made).unwrap() + "\n").unwrap();
    }
    let committed: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert!(committed == *made, "clients/test-vectors/{name} is not current: run the test with UPDATE_VECTORS=1");
}

fn text(value: &str) -> Option<String> {
    Some(value.to_owned())
}

fn payment(status: &str) -> PaymentData {
    PaymentData { status: status.to_owned(), ..PaymentData::default() }
}

fn login(status: &str) -> LoginData {
    LoginData { status: status.to_owned(), ..LoginData::default() }
}

fn cashu(status: &str) -> CashuResponseData {
    CashuResponseData { status: status.to_owned(), ..CashuResponseData::default() }
}

/// An event of an operation, and what it means to a client that waits for the result: `progress`, `result` or `failure`.
fn case(name: &str, operation: &str, meaning: &str, data: &EventData) -> Value {
    let event = NewEvent::new(data, UnixMillis::from_secs(AT)).at_index(0);
    let data: Value = serde_json::from_str(&event.data).unwrap();
    json!({
        "name": name,
        "operation": operation,
        "meaning": meaning,
        "event": { "index": event.index, "type": event.event_type.as_str(), "timestamp": event.timestamp, "data": data },
    })
}

fn handshakes_and_logins() -> Vec<Value> {
    let approved = LoginData {
        main_key: text(USER),
        granted_permissions: Some(vec!["sign_event".to_owned()]),
        session_token: text("a.b.c"),
        ..login("approved")
    };
    let declined = LoginData { main_key: text(USER), reason: text("not now, żółw 🐢"), ..login("declined") };
    let handshake =
        KeyHandshakeData { main_key: USER.to_owned(), preferred_relays: vec!["wss://relay.example".to_owned()] };
    let (handshake, approved, declined) =
        (EventData::KeyHandshake(handshake), EventData::Login(approved), EventData::Login(declined));
    vec![
        case("a user opened the URL", "key_handshake", "result", &handshake),
        case("nobody opened the URL", "key_handshake", "failure", &LoginData::timeout("nobody opened the URL")),
        case("approved", "authentication", "result", &approved),
        case("declined", "authentication", "result", &declined),
        case("nobody responded", "authentication", "failure", &LoginData::timeout("no response")),
        case(
            "the authentication failed",
            "authentication",
            "failure",
            &EventData::Login(LoginData { reason: text("invalid proof"), ..login("error") }),
        ),
        // The key of a login is not proven yet.
        case("a user opened the URL", "login", "progress", &handshake),
        case("approved", "login", "result", &approved),
        case("declined", "login", "result", &declined),
    ]
}

fn payments() -> Vec<Value> {
    let paid = PaymentData {
        preimage: text(PREIMAGE),
        fees_paid: Some(10),
        request_id: text("order-4711"),
        subscription_id: text(SUBSCRIPTION),
        ..payment("paid")
    };
    let failed = PaymentData { reason: text("no route"), outcome: text("not_paid"), ..payment("error") };
    let unknown = PaymentData { reason: text("the outcome is unknown"), outcome: text("unknown"), ..payment("error") };
    let invoice = InvoiceData {
        invoice: "lnbc250n1…".to_owned(),
        payment_hash: HASH.to_owned(),
        amount: 25_000,
        request_id: text("refund-1"),
        ..InvoiceData::default()
    };
    vec![
        case("it waits for an approval", "payment", "progress", &EventData::Payment(payment("approval_required"))),
        case("the user agreed", "payment", "progress", &EventData::Payment(payment("user_approved"))),
        case("the wallet could not pay yet", "payment", "progress", &EventData::Payment(payment("user_failed"))),
        case("paid", "payment", "result", &EventData::Payment(paid)),
        case("paid, without a preimage", "payment", "result", &EventData::Payment(payment("paid"))),
        case("the user refused", "payment", "result", &PaymentData::failed("user_rejected", Some("too dear"), None)),
        case("nobody paid", "payment", "failure", &PaymentData::failed("timeout", Some("no payment"), Some("order-1"))),
        case("surely not paid", "payment", "failure", &EventData::Payment(failed)),
        case("perhaps paid", "payment", "failure", &EventData::Payment(unknown)),
        case("an invoice", "invoice_request", "result", &EventData::Invoice(invoice)),
        case("no invoice", "invoice_request", "result", &PaymentData::failed("user_rejected", None, None)),
        case("no response", "invoice_request", "failure", &PaymentData::failed("timeout", None, None)),
    ]
}

fn subscriptions() -> Vec<Value> {
    let agreed = SubscriptionData {
        status: "approved".to_owned(),
        subscription_id: SUBSCRIPTION.to_owned(),
        main_key: USER.to_owned(),
        authorized_amount: 10_000,
        authorized_currency: "millisats".to_owned(),
        authorized_recurrence: AuthorizedRecurrence {
            calendar: "monthly".to_owned(),
            first_payment_due: AT,
            max_payments: Some(12),
            until: None,
        },
        auto_charge: true,
        request_id: None,
        amount: None,
        currency: None,
        amount_millisats: None,
        rate: None,
    };
    let charge = SubscriptionPaymentData {
        subscription_id: SUBSCRIPTION.to_owned(),
        main_key: USER.to_owned(),
        number: 1,
        due: AT,
        attempt: 1,
        amount: 10_000,
        currency: None,
        amount_millisats: None,
        rate: None,
        status: "paid".to_owned(),
        preimage: text(PREIMAGE),
        reason: None,
        next_attempt_at: None,
    };
    let failed = SubscriptionPaymentData {
        status: "timeout".to_owned(),
        preimage: None,
        reason: text("no payment"),
        next_attempt_at: Some(AT + 86_400),
        ..charge.clone()
    };
    let closed = SubscriptionClosedData {
        subscription_id: SUBSCRIPTION.to_owned(),
        main_key: USER.to_owned(),
        reason: text("moving away"),
    };
    vec![
        case("the user agreed", "subscription", "result", &EventData::Subscription(agreed)),
        case("the user refused", "subscription", "result", &PaymentData::failed("user_rejected", None, None)),
        case("no response", "subscription", "failure", &PaymentData::failed("timeout", None, None)),
        // The stream `subscriptions` never ends: its events are news, not results.
        case("a charge was paid", "subscriptions", "progress", &EventData::SubscriptionPayment(charge)),
        case("a charge failed", "subscriptions", "progress", &EventData::SubscriptionPayment(failed)),
        case("the user closed it", "subscriptions", "progress", &EventData::SubscriptionClosed(closed)),
    ]
}

fn tickets() -> Vec<Value> {
    let redeemed = CashuResponseData {
        amount: Some(1),
        unit: text("multi"),
        mint_url: text(MINT),
        request_id: text("door-1"),
        ..cashu("success")
    };
    let given = CashuResponseData { token: text("cashuBo2F0…"), ..redeemed.clone() };
    let refused = CashuResponseData { reason: text("I keep it"), ..cashu("rejected") };
    let unconfirmed =
        CashuStatusData { token: text("cashuBo2F0…"), ..CashuStatusData::new("error", "not confirmed") };
    vec![
        case("a ticket, redeemed", "ticket", "result", &EventData::CashuResponse(redeemed)),
        case("a ticket, to redeem", "ticket", "result", &EventData::CashuResponse(given)),
        case("the user has none", "ticket", "result", &EventData::CashuResponse(cashu("insufficient_funds"))),
        case("the user refused", "ticket", "result", &EventData::CashuResponse(refused)),
        case(
            "no response",
            "ticket",
            "failure",
            &EventData::CashuStatus(CashuStatusData::new("timeout", "no response")),
        ),
        case("a ticket that the mint did not confirm", "ticket", "failure", &EventData::CashuStatus(unconfirmed)),
    ]
}

#[test]
fn event_vectors_match_the_service() {
    let cases = [handshakes_and_logins(), payments(), subscriptions(), tickets()].concat();
    for event_type in EventType::ALL {
        let shown = cases.iter().any(|case| case["event"]["type"] == event_type.as_str());
        assert!(shown, "no case has the type {event_type}");
    }
    check(
        "events.json",
        &json!({
            "about": "Events of each type. `meaning` is what an event means to a client that waits for the result of the operation. Written by crates/webhooks/tests/webhooks/client_vectors.rs.",
            "cases": cases,
        }),
    );
}

/// What a receiver makes of a webhook.
struct Receiver<'a> {
    secrets: &'a [&'a str],
    scheme: &'a str,
    now: u64,
}

const CURRENT: Receiver<'_> = Receiver { secrets: &[SECRET], scheme: "standard", now: AT };

fn webhook(name: &str, request: &Request, receiver: &Receiver<'_>, error: Option<&str>) -> Value {
    let mut headers = serde_json::Map::new();
    for (name, value) in &request.headers {
        if name.starts_with("webhook-") || name.starts_with("x-service-") {
            headers.insert(name.clone(), json!(value));
        }
    }
    let body = std::str::from_utf8(&request.body).unwrap();
    let mut case = json!({
        "name": name,
        "secrets": receiver.secrets,
        "scheme": receiver.scheme,
        "now": receiver.now,
        "headers": headers,
        "body": body,
    });
    match error {
        None => case["event"] = serde_json::from_str(body).unwrap(),
        Some(error) => case["error"] = json!(error),
    }
    case
}

/// A webhook as the service posts it at [`AT`], with data as text: its bytes are pinned.
async fn posted(secrets: &[&str]) -> Request {
    let (server, mut received) = Server::answering(empty("204 No Content", "")).await;
    let event = Event {
        index: 1,
        event_type: EventType::StatusUpdate,
        timestamp: AT,
        data: r#"{"status": "paid", "request_id": "żółw 🐢 \"quoted\""}"#.into(),
    };
    let stream = StreamId::from_parts(AT * 1000, [0xab; 10]);
    let sender = signing_receiver(&server.url, LONG, secrets);
    assert_eq!(sender.post(stream, &event, UnixMillis::from_secs(AT)).await, Posted::Accepted { http_status: 204 });
    received.recv().await.unwrap()
}

fn with(request: &Request, name: &str, value: &str) -> Request {
    let mut changed = request.clone();
    changed.headers.insert(name.to_owned(), value.to_owned());
    changed
}

fn without(request: &Request, names: &[&str]) -> Request {
    let mut changed = request.clone();
    names.iter().for_each(|name| drop(changed.headers.remove(*name)));
    changed
}

/// That these verify, or not, is checked with an independent library in signatures.rs.
#[tokio::test]
async fn webhook_vectors_match_the_service() {
    let one = posted(&[SECRET]).await;
    let old = posted(&[OLD_SECRET]).await;
    let both = posted(&[SECRET, OLD_SECRET]).await;
    let unsigned = posted(&[]).await;
    let signature = one.headers["webhook-signature"].clone();
    let mut changed = one.clone();
    changed.body = String::from_utf8(changed.body).unwrap().replace("\"index\":1", "\"index\":2").into_bytes();
    let with_old = Receiver { secrets: &[OLD_SECRET], ..CURRENT };
    let with_either = Receiver { secrets: &[SECRET, OLD_SECRET], ..CURRENT };
    let at = |now| Receiver { now, ..CURRENT };
    let by_service = Receiver { scheme: "service", ..CURRENT };
    let standard = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    let (missing, time, mismatch) =
        (Some("missing_header"), Some("timestamp_out_of_range"), Some("signature_mismatch"));
    let cases = [
        webhook("a secret of Standard Webhooks", &one, &CURRENT, None),
        webhook("a plain secret", &old, &with_old, None),
        webhook("two signatures, the receiver has the new secret", &both, &CURRENT, None),
        webhook("two signatures, the receiver has the old secret", &both, &with_old, None),
        webhook("one signature, the receiver has both secrets", &old, &with_either, None),
        webhook("another secret", &one, &with_old, mismatch),
        webhook("another body", &changed, &CURRENT, mismatch),
        webhook("another id", &with(&one, "webhook-id", "subscriptions:1"), &CURRENT, mismatch),
        webhook("another time", &with(&one, "webhook-timestamp", &(AT + 1).to_string()), &CURRENT, mismatch),
        webhook("300 seconds old", &one, &at(AT + 300), None),
        webhook("301 seconds old: a replay", &one, &at(AT + 301), time),
        webhook("300 seconds in the future", &one, &at(AT - 300), None),
        webhook("301 seconds in the future", &one, &at(AT - 301), time),
        webhook("a time that is no number", &with(&one, "webhook-timestamp", "soon"), &CURRENT, time),
        webhook("an empty time", &with(&one, "webhook-timestamp", ""), &CURRENT, time),
        webhook(
            "a time that is a number and more",
            &with(&one, "webhook-timestamp", &format!("{AT}x")),
            &CURRENT,
            time,
        ),
        webhook("no signature", &unsigned, &CURRENT, missing),
        webhook("no webhook-signature", &without(&one, &["webhook-signature"]), &CURRENT, missing),
        webhook("no webhook-id", &without(&one, &["webhook-id"]), &CURRENT, missing),
        webhook("no webhook-timestamp", &without(&one, &["webhook-timestamp"]), &CURRENT, missing),
        webhook("only x-service-signature, which cannot tell a replay", &without(&one, &standard), &CURRENT, missing),
        webhook("an empty signature", &with(&one, "webhook-signature", ""), &CURRENT, mismatch),
        webhook("a cut signature", &with(&one, "webhook-signature", &signature[..20]), &CURRENT, mismatch),
        webhook(
            "the version v2",
            &with(&one, "webhook-signature", &signature.replace("v1,", "v2,")),
            &CURRENT,
            mismatch,
        ),
        webhook(
            "unknown versions beside a valid signature",
            &with(&one, "webhook-signature", &format!("v1a,AAAA v2,AAAA v1,AAAA nonsense {signature}")),
            &CURRENT,
            None,
        ),
        webhook("x-service-signature", &one, &by_service, None),
        webhook(
            "x-service-signature in upper case",
            &with(&one, "x-service-signature", &one.headers["x-service-signature"].to_uppercase()),
            &by_service,
            None,
        ),
        webhook(
            "x-service-signature has the new secret only",
            &both,
            &Receiver { secrets: &[OLD_SECRET], ..by_service },
            mismatch,
        ),
        webhook(
            "x-service-signature, the receiver has both secrets",
            &both,
            &Receiver { secrets: &[OLD_SECRET, SECRET], ..by_service },
            None,
        ),
        webhook("x-service-signature of another body", &changed, &by_service, mismatch),
        webhook("no x-service-signature", &unsigned, &by_service, missing),
        webhook("a cut x-service-signature", &with(&one, "x-service-signature", "9c1f"), &by_service, mismatch),
    ];
    check(
        "webhooks.json",
        &json!({
            "about": "Webhooks as the service posts them (the body is its exact bytes, in UTF-8), and what a receiver with these secrets says of them at `now` (Unix seconds) with a tolerance of 300 s. Header names are in lower case. Written by crates/webhooks/tests/webhooks/client_vectors.rs.",
            "cases": cases,
        }),
    );
}
