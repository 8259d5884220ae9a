//! Malformed messages of the wallet service.

use serde_json::{Value, json};
use usher_engine::ports::{Lightning as _, LightningError, Settlement};
use usher_protocol::message::{PaymentHash, Preimage};

use crate::backend_under_test::{BackendHandle, LONG};
use crate::scripted_wallet::{ANSWER, NOTIFICATION, NOTIFICATION_NIP04, ScriptedWallet, Wire};

fn hash() -> PaymentHash {
    Preimage::from_bytes([6; 32]).payment_hash()
}

async fn connected() -> (ScriptedWallet, BackendHandle, Wire) {
    let scripted = ScriptedWallet::start().await;
    let client = BackendHandle::start_with(&scripted.url(), LONG);
    let wire = scripted.subscribed().await;
    client.until(true).await;
    (scripted, client, wire)
}

/// Texts that are not a response to `lookup_invoice`. More of them are in the unit tests of `Response`.
fn texts() -> Vec<String> {
    vec![
        String::from("{}"),
        String::from("{\"result\":"),
        format!("{{\"result\":{}1{}}}", "[".repeat(5_000), "]".repeat(5_000)),
        json!({"result_type": "lookup_invoice", "result": "A".repeat(60_000)}).to_string(),
        json!({"result_type": "lookup_invoice", "result": {"payment_hash": "00".repeat(32), "state": "settled"}})
            .to_string(),
        json!({"result_type": "get_balance", "result": {"balance": 1}}).to_string(),
        json!({"result_type": "lookup_invoice", "error": {"code": "NEW_CODE", "message": "\u{7}\n"}}).to_string(),
    ]
}

#[tokio::test]
async fn an_invalid_response_makes_the_outcome_unknown_at_once() {
    let (scripted, mut client, mut wire) = connected().await;
    for text in texts() {
        let answering = async {
            let request = wire.request().await;
            let content = wire.sealed(&scripted.wallet, ANSWER, &text);
            let answer = wire.signed(&scripted.wallet, ANSWER, &content, &[request.event.id]);
            wire.event(&answer).await;
        };
        let (found, ()) = tokio::join!(client.backend.look_up_payment(hash(), None), answering);
        let shown = text.get(..text.len().min(200)).unwrap_or_default();
        assert!(matches!(found, Err(LightningError::Unknown(_))), "{shown}: {found:?}");
    }
    client.quiet().await;
}

#[tokio::test]
async fn so_does_a_response_that_cannot_be_decrypted() {
    let (scripted, client, mut wire) = connected().await;
    let huge = wire.sealed(&scripted.wallet, ANSWER, &json!({"result": {"state": "pending"}}).to_string());
    let huge = format!("{huge}{}", "=".repeat(100_000));
    for content in ["", "?iv=", "AAAA?iv=AAAA", "AgAA", "é", &"A".repeat(200_000), &huge, "{\"result\":{}}"] {
        let answering = async {
            let request = wire.request().await;
            let answer = wire.signed(&scripted.wallet, ANSWER, content, &[request.event.id]);
            wire.event(&answer).await;
        };
        let (paid, ()) = tokio::join!(client.backend.look_up_payment(hash(), None), answering);
        assert!(matches!(paid, Err(LightningError::Unknown(_))), "{} bytes: {paid:?}", content.len());
    }
}

#[tokio::test]
async fn an_event_that_is_too_large_ends_only_the_connection() {
    let (scripted, client, mut wire) = connected().await;
    let answering = async {
        let request = wire.request().await;
        let answer = wire.signed(&scripted.wallet, ANSWER, &"A".repeat(2 << 20), &[request.event.id]);
        // The backend may close the connection before it has read all of it.
        let _ = wire.try_event(&answer).await;
        let mut wire = scripted.subscribed().await;
        wire.answer(&request, &json!({"state": "pending"})).await;
        wire
    };
    let (found, _wire) = tokio::join!(client.backend.look_up_invoice(hash()), answering);
    assert_eq!(found, Ok(usher_engine::ports::InvoiceStatus::Open), "the true answer counts, on any connection");
}

/// Notifications without meaning. More of them are in the unit tests of `Notification`.
fn notifications() -> Vec<Value> {
    let told = |kind: &str, fields: Value| json!({"notification_type": kind, "notification": fields});
    vec![
        json!(null),
        json!({"notification_type": 7}),
        told("payment_received", json!({"payment_hash": "00"})),
        told("payment_sent", json!({"payment_hash": hash().to_string()})),
        told("something_new", json!({"a": "A".repeat(30_000)})),
    ]
}

#[tokio::test]
async fn invalid_notifications_are_ignored() {
    let (scripted, mut client, mut wire) = connected().await;
    for kind in [NOTIFICATION, NOTIFICATION_NIP04] {
        for value in notifications() {
            wire.tell(kind, &value.to_string()).await;
        }
        for content in ["", "AgAA", "AAAA?iv=AAAA", &"A".repeat(200_000)] {
            let event = wire.signed(&scripted.wallet, kind, content, &[]);
            wire.event(&event).await;
        }
        wire.tell(kind, "not JSON").await;
    }
    let fields = json!({"payment_hash": hash().to_string(), "preimage": "not one", "amount": -1});
    wire.tell(NOTIFICATION, &json!({"notification_type": "payment_received", "notification": fields}).to_string())
        .await;
    // The payment hash is clear; without proof the engine looks it up.
    assert_eq!(
        client.settled().await,
        (hash(), Settlement { amount: None, skimmed_fee: 0, fees_paid: 0, preimage: None })
    );
    client.quiet().await;
}

#[tokio::test]
async fn invalid_announcements_change_nothing() {
    let (scripted, client, mut wire) = connected().await;
    let announcement = |content: &str, tags: &[&[&str]], at: i64| {
        let at = nostr::Timestamp::from_secs(nostr::Timestamp::now().as_secs().wrapping_add_signed(at));
        nostr::EventBuilder::new(nostr::Kind::from_u16(13_194), content)
            .tags(tags.iter().map(|tag| nostr::Tag::parse(tag.iter().copied()).unwrap()))
            .custom_created_at(at)
            .sign_with_keys(&scripted.wallet)
            .unwrap()
    };
    // An older one: superseded. Another author's, or forged: not the wallet service's.
    let old = announcement("", &[], -1_000);
    wire.event(&old).await;
    let mut forged = announcement("", &[], 1_000);
    forged.sig = old.sig;
    wire.event(&forged).await;
    let stranger = wire.signed(&nostr::Keys::generate(), 13_194, "", &[]);
    wire.event(&stranger).await;
    let asked = async {
        let request = wire.request().await;
        assert!(!request.event.content.contains("?iv="), "NIP-44 still");
        wire.answer(&request, &json!({"state": "pending"})).await;
        // A new one is used, whatever else it contains.
        let long = "x ".repeat(20_000);
        let new =
            announcement(&long, &[&["encryption"], &["notifications", &long], &["encryption", "nip44_v2"]], 1_000);
        wire.event(&new).await;
    };
    let (found, ()) = tokio::join!(client.backend.look_up_invoice(hash()), asked);
    assert!(found.is_ok());
    client.until_status(|status| !status.sends_notifications).await;
    let asked = async {
        let request = wire.request().await;
        assert!(request.event.content.contains("?iv="), "it says nothing of NIP-44 where it should");
        wire.answer(&request, &json!({"state": "pending"})).await;
    };
    let (found, ()) = tokio::join!(client.backend.look_up_invoice(hash()), asked);
    assert!(found.is_ok());
}
