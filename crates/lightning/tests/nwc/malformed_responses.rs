//! Malformed messages of the wallet service.

use nostr::{EventBuilder, Keys, Kind, Tag, Timestamp};
use serde_json::{Value, json};
use usher_engine::ports::{InvoiceStatus, Lightning as _, Settlement};

use crate::fixture::{hash, is_unknown};
use crate::scripted_wallet::{ANSWER, NOTIFICATION, NOTIFICATION_NIP04, ScriptedWallet};

/// More texts that are no response are in the unit tests of `Response`.
#[tokio::test]
async fn an_invalid_response_makes_the_outcome_unknown_at_once() {
    let (scripted, mut client, mut wire) = ScriptedWallet::connected().await;
    let texts = [
        json!({}),
        json!({"result_type": "lookup_invoice", "result": "A".repeat(60_000)}),
        json!({"result_type": "lookup_invoice", "result": {"payment_hash": "00".repeat(32), "state": "settled"}}),
        json!({"result_type": "get_balance", "result": {"balance": 1}}),
        json!({"result_type": "lookup_invoice", "error": {"code": "NEW_CODE", "message": "\u{7}\n"}}),
    ];
    let nested = format!("{{\"result\":{}1{}}}", "[".repeat(5_000), "]".repeat(5_000));
    let texts = texts.iter().map(Value::to_string).chain(["{\"result\":".to_owned(), nested]);
    let mut contents: Vec<_> = texts.map(|text| wire.sealed(&scripted.wallet, ANSWER, &text)).collect();
    // What cannot be decrypted.
    contents.extend(["", "?iv=", "AAAA?iv=AAAA", "AgAA", "é", "{\"result\":{}}"].map(str::to_owned));
    let pending = wire.sealed(&scripted.wallet, ANSWER, &json!({"result": {"state": "pending"}}).to_string());
    contents.extend(["A".repeat(200_000), format!("{pending}{}", "=".repeat(100_000))]);
    for content in contents {
        let looking = client.backend.look_up_payment(hash(), None);
        is_unknown(tokio::join!(looking, wire.answer_with(&content)).0);
    }
    client.quiet().await;
}

#[tokio::test]
async fn an_event_that_is_too_large_ends_only_the_connection() {
    let (scripted, client, mut wire) = ScriptedWallet::connected().await;
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
    assert_eq!(found, Ok(InvoiceStatus::Open), "the true answer counts, on any connection");
}

/// More of them are in the unit tests of `Notification`.
#[tokio::test]
async fn invalid_notifications_are_ignored() {
    let (scripted, mut client, mut wire) = ScriptedWallet::connected().await;
    let told = |kind: &str, fields: Value| json!({"notification_type": kind, "notification": fields}).to_string();
    for kind in [NOTIFICATION, NOTIFICATION_NIP04] {
        for text in [
            "not JSON".to_owned(),
            told("payment_received", json!({"payment_hash": "00"})),
            told("payment_sent", json!({"payment_hash": hash().to_string()})),
            told("something_new", json!({"a": "A".repeat(30_000)})),
        ] {
            wire.tell(kind, &text).await;
        }
        for content in ["", "AgAA", "AAAA?iv=AAAA", &"A".repeat(200_000)] {
            let event = wire.signed(&scripted.wallet, kind, content, &[]);
            wire.event(&event).await;
        }
    }
    let fields = json!({"payment_hash": hash().to_string(), "preimage": "not one", "amount": -1});
    wire.tell(NOTIFICATION, &told("payment_received", fields)).await;
    // The payment hash is clear; without proof the engine looks it up.
    let settlement = Settlement { amount: None, skimmed_fee: 0, fees_paid: 0, preimage: None };
    assert_eq!(client.settled().await, (hash(), settlement));
    client.quiet().await;
}

#[tokio::test]
async fn invalid_announcements_change_nothing() {
    let (scripted, client, mut wire) = ScriptedWallet::connected().await;
    let announcement = |by: &Keys, tags: &[&[&str]], at: i64| {
        let at = Timestamp::from_secs(Timestamp::now().as_secs().wrapping_add_signed(at));
        let tags = tags.iter().map(|tag| Tag::parse(tag.iter().copied()).unwrap());
        let event = EventBuilder::new(Kind::from_u16(13_194), "x ".repeat(20_000)).tags(tags).custom_created_at(at);
        event.sign_with_keys(by).unwrap()
    };
    // An older one: superseded. Another author's, or forged: not the wallet service's.
    let old = announcement(&scripted.wallet, &[], -1_000);
    let mut forged = announcement(&scripted.wallet, &[], 1_000);
    forged.sig = old.sig;
    for event in [old, forged, announcement(&Keys::generate(), &[], 1_000)] {
        wire.event(&event).await;
    }
    let (found, asked) = tokio::join!(client.backend.look_up_invoice(hash()), wire.answer_pending());
    assert!(found.is_ok() && !asked.event.content.contains("?iv="), "NIP-44 still");
    // A new one is used, whatever else it contains.
    let tags: [&[&str]; 3] = [&["encryption"], &["notifications", &"x ".repeat(20_000)], &["encryption", "nip44_v2"]];
    wire.event(&announcement(&scripted.wallet, &tags, 1_000)).await;
    client.until_status(|status| !status.sends_notifications).await;
    let (found, asked) = tokio::join!(client.backend.look_up_invoice(hash()), wire.answer_pending());
    assert!(found.is_ok() && asked.event.content.contains("?iv="), "it says nothing of NIP-44 where it should");
}
