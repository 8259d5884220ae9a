//! The shared vectors of the client libraries (clients/test-vectors): events, and webhooks as they are posted.
//!
//! `UPDATE_VECTORS=1 cargo test -p usher-webhooks --test webhooks client_vectors` writes the files.

use std::path::PathBuf;

use crate::common::{LONG, Request, Server, empty, signing_receiver};
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
    let event =
        json!({ "index": event.index, "type": event.event_type.as_str(), "timestamp": event.timestamp, "data": data });
    json!({ "name": name, "operation": operation, "meaning": meaning, "event": event })
}

fn handshakes_and_logins() -> Vec<Value> {
    let approved = LoginData {
        main_key: text(USER),
        granted_permissions: Some(vec!["sign_event".to_owned()]),
        session_token: text("a.b.c"),
        ..login("approved")
    };
    let declined = LoginData { main_key: text(USER), reason: text("not now, żółw 🐢"), ..login("declined") };
    let failed = EventData::Login(LoginData { reason: text("invalid proof"), ..login("error") });
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
        case("the authentication failed", "authentication", "failure", &failed),
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
    let no_response = CashuStatusData::new("timeout", "no response");
    let unconfirmed =
        CashuStatusData { token: text("cashuBo2F0…"), ..CashuStatusData::new("error", "not confirmed") };
    vec![
        case("a ticket, redeemed", "ticket", "result", &EventData::CashuResponse(redeemed)),
        case("a ticket, to redeem", "ticket", "result", &EventData::CashuResponse(given)),
        case("the user has none", "ticket", "result", &EventData::CashuResponse(cashu("insufficient_funds"))),
        case("the user refused", "ticket", "result", &EventData::CashuResponse(refused)),
        case("no response", "ticket", "failure", &EventData::CashuStatus(no_response)),
        case("a ticket that the mint did not confirm", "ticket", "failure", &EventData::CashuStatus(unconfirmed)),
    ]
}

#[test]
fn event_vectors_match_the_service() {
    let cases = [handshakes_and_logins(), payments(), subscriptions(), tickets()].concat();
    // No operation of a client gets a test event.
    for event_type in EventType::ALL.into_iter().filter(|event_type| *event_type != EventType::Test) {
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

/// A webhook, and the result for a receiver with these secrets at this time: the event, or an error.
fn webhook(name: &str, request: &Request, secrets: &[&str], scheme: &str, now: u64, error: Option<&str>) -> Value {
    let is_ours = |name: &str| name.starts_with("webhook-") || name.starts_with("x-service-");
    let headers = request.headers.iter().filter(|(name, _)| is_ours(name));
    let headers: serde_json::Map<_, _> = headers.map(|(name, value)| (name.clone(), json!(value))).collect();
    let body = std::str::from_utf8(&request.body).unwrap();
    let mut case = json!({
        "name": name, "secrets": secrets, "scheme": scheme, "now": now, "headers": headers, "body": body,
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
    let signed = |value: &str| with(&one, "webhook-signature", value);
    let timed = |value: &str| with(&one, "webhook-timestamp", value);
    let service = |value: &str| with(&one, "x-service-signature", value);
    let upper = one.headers["x-service-signature"].to_uppercase();
    let unknown = format!("v1a,AAAA v2,AAAA v1,AAAA nonsense {signature}");
    let (missing, mismatch) = (Some("missing_header"), Some("signature_mismatch"));
    let standard = |name: &str, request: &Request, secrets: &[&str], error: Option<&str>| {
        webhook(name, request, secrets, "standard", AT, error)
    };
    let current = |name: &str, request: &Request, error: Option<&str>| standard(name, request, &[SECRET], error);
    let late = |name: &str, request: &Request, now: u64| {
        let is_far = now.abs_diff(AT) > 300 || request.headers["webhook-timestamp"] != AT.to_string();
        webhook(name, request, &[SECRET], "standard", now, is_far.then_some("timestamp_out_of_range"))
    };
    let by_service = |name: &str, request: &Request, secrets: &[&str], error: Option<&str>| {
        webhook(name, request, secrets, "service", AT, error)
    };
    let of_standard = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    let cases = [
        current("a secret of Standard Webhooks", &one, None),
        standard("a plain secret", &old, &[OLD_SECRET], None),
        current("two signatures, the receiver has the new secret", &both, None),
        standard("two signatures, the receiver has the old secret", &both, &[OLD_SECRET], None),
        standard("one signature, the receiver has both secrets", &old, &[SECRET, OLD_SECRET], None),
        standard("another secret", &one, &[OLD_SECRET], mismatch),
        current("another body", &changed, mismatch),
        current("another id", &with(&one, "webhook-id", "subscriptions:1"), mismatch),
        current("another time", &timed(&(AT + 1).to_string()), mismatch),
        late("300 seconds old", &one, AT + 300),
        late("301 seconds old: a replay", &one, AT + 301),
        late("300 seconds in the future", &one, AT - 300),
        late("301 seconds in the future", &one, AT - 301),
        late("a time that is no number", &timed("soon"), AT),
        late("an empty time", &timed(""), AT),
        late("a time that is a number and more", &timed(&format!("{AT}x")), AT),
        current("no signature", &unsigned, missing),
        current("no webhook-signature", &without(&one, &["webhook-signature"]), missing),
        current("no webhook-id", &without(&one, &["webhook-id"]), missing),
        current("no webhook-timestamp", &without(&one, &["webhook-timestamp"]), missing),
        current("only x-service-signature, which cannot tell a replay", &without(&one, &of_standard), missing),
        current("an empty signature", &signed(""), mismatch),
        current("a cut signature", &signed(&signature[..20]), mismatch),
        current("the version v2", &signed(&signature.replace("v1,", "v2,")), mismatch),
        current("unknown versions beside a valid signature", &signed(&unknown), None),
        by_service("x-service-signature", &one, &[SECRET], None),
        by_service("x-service-signature in upper case", &service(&upper), &[SECRET], None),
        by_service("x-service-signature has the new secret only", &both, &[OLD_SECRET], mismatch),
        by_service("x-service-signature, the receiver has both secrets", &both, &[OLD_SECRET, SECRET], None),
        by_service("x-service-signature of another body", &changed, &[SECRET], mismatch),
        by_service("no x-service-signature", &unsigned, &[SECRET], missing),
        by_service("a cut x-service-signature", &service("9c1f"), &[SECRET], mismatch),
    ];
    check(
        "webhooks.json",
        &json!({
            "about": "Webhooks as the service posts them (the body is its exact bytes, in UTF-8), and what a receiver with these secrets says of them at `now` (Unix seconds) with a tolerance of 300 s. Header names are in lower case. Written by crates/webhooks/tests/webhooks/client_vectors.rs.",
            "cases": cases,
        }),
    );
}
