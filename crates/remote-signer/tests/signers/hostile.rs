//! Signers that lie, and strangers that pretend to be the signer.

use std::time::Duration;

use nostr::Keys;
use serde_json::json;
use usher_engine::ports::{RemoteSignerError, SignerProgress};
use usher_testing::relay::{Quirks, QuirkyRelay};

use crate::fixture::App;
use crate::scripted_signer::{ScriptedSigner, read_address};

async fn relay() -> QuirkyRelay {
    // It forwards what is forged.
    QuirkyRelay::start(Quirks { accept_forged: true, ..Quirks::default() }).await.unwrap()
}

#[tokio::test]
async fn only_who_knows_the_secret_becomes_the_signer() {
    let relay = relay().await;
    let (app, signer, stranger) = (App::new(&[relay.url()]), ScriptedSigner::on(&relay), Keys::generate());
    let (mut signing, address) = app.invite().await;
    let (client, secret) = read_address(&address);
    for result in ["ack", "", "null", &secret[1..], &secret.to_uppercase()] {
        let reply = json!({ "id": "x", "result": result }).to_string();
        signer.send_as(&stranger, &client, &reply);
    }
    signer.send_as(&stranger, &client, &json!({ "id": "x", "result": secret, "error": "no" }).to_string());
    signer.send_as(&stranger, &client, "no JSON");
    for garbage in ["", "no base64 at all", "AgAA", &"A".repeat(40_000)] {
        signer.send_raw(&stranger, &client, garbage);
    }
    let reply = json!({ "id": "x", "result": secret }).to_string();
    let forged = {
        let content =
            nostr::nips::nip44::encrypt(stranger.secret_key(), &client, &reply, nostr::nips::nip44::Version::V2);
        let event = nostr::EventBuilder::new(nostr::Kind::NostrConnect, content.unwrap());
        let mut event = event.tag(nostr::Tag::public_key(client)).sign_with_keys(&stranger).unwrap();
        event.pubkey = signer.user.public_key();
        event
    };
    relay.inject(forged);
    signer.send_as(&signer.keys, &client, &reply);
    signing.connected().await;
    // The same secret is of no use to anybody else now.
    signer.send_as(&stranger, &client, &reply);
    signer.say_and_sign().await;
    signing.end_signed_by(&signer.user()).await;
}

#[tokio::test]
async fn nobody_else_replies_for_the_signer() {
    let relay = relay().await;
    let (app, signer, stranger) = (App::new(&[]), ScriptedSigner::on(&relay), Keys::generate());
    let mut signing = app.accept(&signer.bunker_url());
    signer.accept().await;
    let request = signer.request("sign_event", 1).await;
    let theirs = json!({ "id": request.id, "result": signer.signature(&request, &stranger) }).to_string();
    signer.send_as(&stranger, &request.client, &theirs);
    // A reply to nothing that was asked, a request instead of a reply, garbage of the signer itself.
    signer.reply(&crate::scripted_signer::Request { id: "other".to_owned(), ..request.clone() }, "x");
    signer.send_as(&signer.keys, &request.client, &json!({ "id": request.id, "method": "ping" }).to_string());
    signer.send_as(&signer.keys, &request.client, "[");
    signer.send_raw(&signer.keys, &request.client, "?iv=AAAA");
    for page in ["javascript:alert(1)", "http://signer.example/"] {
        let confirm = json!({ "id": request.id, "result": "auth_url", "error": page }).to_string();
        signer.send_as(&signer.keys, &request.client, &confirm);
    }
    signing.until(|progress| *progress == SignerProgress::Silent).await;
    let again = signer.request("sign_event", 2).await;
    assert_eq!((&again.id, &again.params), (&request.id, &request.params), "it is the same request");
    signer.reply(&request, &signer.signature(&request, &signer.user));
    signing.end_signed_by(&signer.user()).await;
}

#[tokio::test]
async fn signer_that_signs_something_else_is_not_believed() {
    let relay = relay().await;
    let app = App::new(&[]);
    let signer = ScriptedSigner::on(&relay);
    let signing = app.accept(&signer.bunker_url());
    signer.accept().await;
    let request = signer.request("sign_event", 1).await;
    // All lies: `signed_event.rs`.
    signer.reply(&request, &signer.signature(&request, &Keys::generate()));
    assert_eq!(signing.end().await.err(), Some(RemoteSignerError::Invalid("an event of another user")));
    let signer = ScriptedSigner::on(&relay);
    let signing = app.accept(&signer.bunker_url());
    signer.reply(&signer.request("connect", 1).await, "ack");
    signer.reply(&signer.request("get_public_key", 1).await, "nobody");
    assert_eq!(signing.end().await.err(), Some(RemoteSignerError::Invalid("no public key")));
}

#[tokio::test]
async fn signer_moves_to_another_relay() {
    let (relay, other) = (relay().await, relay().await);
    let app = App::with(&[relay.url()], |options| options.switch_within = Duration::from_secs(60));
    let signer = ScriptedSigner::on(&relay);
    let (mut signing, address) = app.invite().await;
    let (client, secret) = read_address(&address);
    signer.send_as(&signer.keys, &client, &json!({ "id": "x", "result": secret }).to_string());
    signing.connected().await;
    let switch = signer.request("switch_relays", 1).await;
    let relays = json!(["wss://relay.example/ x", 7.to_string(), other.url(), other.url(), relay.url()]).to_string();
    signer.reply(&switch, &relays);
    let moved = ScriptedSigner { relay: &other, user: signer.user.clone(), keys: signer.keys.clone() };
    moved.say_and_sign().await;
    let session = signing.end_signed_by(&moved.user()).await;

    let again = app.sign(session);
    let request = moved.request("sign_event", 2).await;
    moved.reply(&request, &moved.signature(&request, &moved.user));
    again.end().await.unwrap();
}

#[tokio::test]
async fn relays_of_users_displace_each_other_and_not_the_relay_that_several_wait_on() {
    let (own, common) = (relay().await, relay().await);
    let app = App::with(&[own.url()], |options| options.user_connections = 2);
    let (honest, other) = (ScriptedSigner::on(&common), ScriptedSigner::on(&common));
    let signing = [app.accept(&honest.bunker_url()), app.accept(&other.bunker_url())];
    let connect = honest.request("connect", 1).await;
    other.request("connect", 1).await;
    let (invited, address) = app.invite().await;
    let mut attackers = Vec::new();
    for _ in 0..4 {
        let theirs = relay().await;
        let signer = ScriptedSigner::on(&theirs);
        let signing = app.accept(&signer.bunker_url());
        signer.request("connect", 1).await;
        drop(signer);
        attackers.push((theirs, signing));
        assert!(app.signers.connections() <= 3, "{} connections", app.signers.connections());
    }
    honest.reply(&connect, "ack");
    honest.say_and_sign().await;
    let [signing, _other] = signing;
    signing.end_signed_by(&honest.user()).await;

    let at_own = ScriptedSigner::on(&own);
    let (client, secret) = read_address(&address);
    at_own.send_as(&at_own.keys, &client, &json!({ "id": "x", "result": secret }).to_string());
    at_own.say_and_sign().await;
    invited.end_signed_by(&at_own.user()).await;
}

#[tokio::test]
async fn flood_of_events_costs_a_bound_and_the_signer_still_gets_through() {
    let relay = relay().await;
    let (app, signer, stranger) = (App::new(&[]), ScriptedSigner::on(&relay), Keys::generate());
    let signing = app.accept(&signer.bunker_url());
    let connect = signer.request("connect", 1).await;
    for n in 0..400 {
        signer.send_raw(&stranger, &connect.client, &n.to_string());
    }
    signer.accept().await;
    signer.sign().await;
    signing.end_signed_by(&signer.user()).await;
}
