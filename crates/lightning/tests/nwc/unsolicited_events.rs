//! Events that are not a response: of other authors, about other things, forged, in floods.

use nostr::nips::nip44;
use nostr::{Event, EventBuilder, EventId, Keys, Kind, Tag};
use serde_json::{Value, json};
use usher_engine::ports::{InvoiceStatus, Lightning as _, Settlement};
use usher_protocol::message::Preimage;

use crate::fixture::hash;
use crate::scripted_wallet::{ANSWER, NOTIFICATION, NOTIFICATION_NIP04, Request, ScriptedWallet, Wire};

/// Forged reports of a payment, which the backend must ignore.
fn false_settlement() -> Value {
    json!({"result_type": "lookup_invoice", "result": {"type": "incoming", "state": "settled", "amount": 1}})
}

fn told(kind: &str) -> String {
    let fields = json!({"payment_hash": hash().to_string(), "preimage": "06".repeat(32), "amount": 1});
    json!({"notification_type": kind, "notification": fields}).to_string()
}

/// The wallet service's own response, with another author's signature.
fn forged(event: &Event, by: &Keys) -> Event {
    let mut event = event.clone();
    event.sig = by.sign_schnorr(&nostr::secp256k1::Message::from_digest(event.id.to_bytes()));
    event
}

/// Events that are not a response to this request.
fn unsolicited(wire: &Wire, scripted: &ScriptedWallet, request: &Request) -> Vec<Event> {
    let stranger = Keys::generate();
    let (id, other) = (request.event.id, EventId::from_byte_array([8; 32]));
    let text = false_settlement().to_string();
    let sealed = wire.sealed(&scripted.wallet, ANSWER, &text);
    let by_wallet = |kind: u16, about: &[EventId]| wire.signed(&scripted.wallet, kind, &sealed, about);
    let mut tagged = by_wallet(ANSWER, &[]);
    let answer = by_wallet(ANSWER, &[id]);
    let mut altered = answer.clone();
    altered.content = wire.sealed(&scripted.wallet, ANSWER, "{}");
    let mut later = answer.clone();
    later.created_at = nostr::Timestamp::from_secs(later.created_at.as_secs() + 1);
    tagged.tags.push(Tag::event(id));
    let odd = EventBuilder::new(Kind::from_u16(ANSWER), sealed.clone())
        .tag(Tag::parse(["e", "no id"]).unwrap())
        .tag(Tag::parse(["E", &id.to_hex()]).unwrap())
        .tag(Tag::parse(["e"]).unwrap())
        .sign_with_keys(&scripted.wallet)
        .unwrap();
    vec![
        // Another author: encrypted with their own key, or a copy of the service's content.
        wire.signed(&stranger, ANSWER, &wire.sealed(&stranger, ANSWER, &text), &[id]),
        wire.signed(&stranger, ANSWER, &sealed, &[id]),
        // We ourselves.
        wire.signed(&scripted.app, ANSWER, &sealed, &[id]),
        // The wallet service about something else, or nothing.
        by_wallet(ANSWER, &[other]),
        by_wallet(ANSWER, &[other, id]),
        by_wallet(ANSWER, &[]),
        odd,
        // Other kinds.
        by_wallet(23_194, &[id]),
        by_wallet(1, &[id]),
        by_wallet(NOTIFICATION, &[id]),
        // Forged: another author's signature, another content, time or tag than was signed.
        forged(&answer, &stranger),
        altered,
        later,
        tagged,
    ]
}

#[tokio::test]
async fn events_that_are_not_the_response_are_ignored() {
    let (scripted, mut client, mut wire) = ScriptedWallet::connected().await;
    let answering = async {
        let request = wire.request().await;
        for event in unsolicited(&wire, &scripted, &request) {
            wire.event(&event).await;
        }
        wire.answer(&request, &json!({"state": "pending"})).await;
        wire
    };
    let (found, mut wire) = tokio::join!(client.backend.look_up_invoice(hash()), answering);
    assert_eq!(found, Ok(InvoiceStatus::Open));
    // A request that has its response gets no other, and responses out of order reach their requests.
    let again = async {
        let first = wire.answer_pending().await;
        let (second, third) = (wire.request().await, wire.request().await);
        let late = wire.answer_to(&first, &false_settlement());
        wire.event(&late).await;
        wire.answer(&third, &json!({"state": "expired"})).await;
        wire.answer(&second, &json!({"state": "pending"})).await;
    };
    let look_up = || client.backend.look_up_invoice(hash());
    let asking = async {
        assert_eq!(look_up().await, Ok(InvoiceStatus::Open));
        tokio::join!(look_up(), look_up())
    };
    let (found, ()) = tokio::join!(asking, again);
    assert_eq!(found, (Ok(InvoiceStatus::Open), Ok(InvoiceStatus::Dead)));
    client.quiet().await;
}

#[tokio::test]
async fn notifications_of_other_authors_are_ignored() {
    let (scripted, mut client, mut wire) = ScriptedWallet::connected().await;
    let stranger = Keys::generate();
    for kind in [NOTIFICATION, NOTIFICATION_NIP04] {
        for told in [told("payment_received"), told("payment_sent")] {
            let by_stranger = wire.signed(&stranger, kind, &wire.sealed(&stranger, kind, &told), &[]);
            wire.event(&by_stranger).await;
            let theirs = wire.sealed(&scripted.wallet, kind, &told);
            let copied = wire.signed(&stranger, kind, &theirs, &[]);
            wire.event(&copied).await;
            let unsigned = forged(&wire.signed(&scripted.wallet, kind, &theirs, &[]), &stranger);
            wire.event(&unsigned).await;
            // What the wallet service sent to another app.
            let (by, to) = (scripted.wallet.secret_key(), stranger.public_key());
            let other = nip44::encrypt(by, &to, &told, nip44::Version::V2).unwrap();
            let other = wire.signed(&scripted.wallet, kind, &other, &[]);
            wire.event(&other).await;
        }
    }
    wire.tell(NOTIFICATION, &told("payment_received")).await;
    let preimage = Some(Preimage::from_bytes([6; 32]));
    assert_eq!(
        client.settled().await,
        (hash(), Settlement { amount: Some(1), skimmed_fee: 0, fees_paid: 0, preimage })
    );
    client.quiet().await;
}

#[tokio::test]
async fn repeated_notifications_are_reported_once() {
    let (scripted, mut client, mut wire) = ScriptedWallet::connected().await;
    for kind in [NOTIFICATION_NIP04, NOTIFICATION, NOTIFICATION] {
        wire.tell(kind, &told("payment_received")).await;
    }
    let content = wire.sealed(&scripted.wallet, NOTIFICATION, &told("payment_sent"));
    let event = wire.signed(&scripted.wallet, NOTIFICATION, &content, &[]);
    for _ in 0..3 {
        wire.event(&event).await;
    }
    client.settled().await;
    client.sent().await;
    client.quiet().await;
}

#[tokio::test]
async fn a_flood_does_not_delay_a_response() {
    const EVENTS: usize = 10_000;
    let (scripted, mut client, mut wire) = ScriptedWallet::connected().await;
    // By other authors; with the service's key as the author; responses without a request; notifications with another
    // author's signature.
    let stranger = Keys::generate();
    let mut flood = Vec::new();
    for number in 0..50_u8 {
        let about = [EventId::from_byte_array([number; 32])];
        let sealed = wire.sealed(&scripted.wallet, ANSWER, &told("payment_received"));
        flood.push(wire.signed(&stranger, ANSWER, &sealed, &about));
        flood.push(wire.signed(&scripted.wallet, ANSWER, &sealed, &about));
        flood.push(forged(&wire.signed(&scripted.wallet, NOTIFICATION, &sealed, &[]), &stranger));
        let mut claimed = wire.signed(&stranger, NOTIFICATION, &sealed, &[]);
        claimed.pubkey = scripted.wallet.public_key();
        flood.push(claimed);
    }
    let answering = async {
        for event in flood.iter().cycle().take(EVENTS) {
            wire.event(event).await;
        }
        let request = wire.request().await;
        for event in flood.iter().cycle().take(EVENTS) {
            wire.event(event).await;
        }
        wire.answer(&request, &json!({"state": "pending"})).await;
        wire
    };
    let (found, _wire) = tokio::join!(client.backend.look_up_invoice(hash()), answering);
    assert_eq!(found, Ok(InvoiceStatus::Open));
    client.quiet().await;
}
