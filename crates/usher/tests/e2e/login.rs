//! All ways to log in.

mod on_the_page;
mod passkeys;
mod remote_signers;
mod reusable;
mod waiting_page;

use serde_json::json;
use usher_protocol::subkey::Permission;
use usher_sandbox::relay::EmbeddedRelay;
use usher_sandbox::wallet::{Identity, Policy};

use crate::harness::{LONG, TestUsher, User, caught_up, device, introduce, now, wallet_for};

const YEAR: u64 = 365 * 24 * 3600;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_scans_approves_and_is_logged_in() {
    // The relay of others' making: what we speak is Nostr, not our own idea of it.
    let relay = EmbeddedRelay::start().await.unwrap();
    let usher = TestUsher::builder().relays(&[relay.url()]).start().await;
    let api = usher.api();

    let handshake = api.handshake(json!({})).await;
    assert_eq!(handshake.url.scheme, "nostr+walletconnect");
    assert_eq!(handshake.url.main_key, usher.public_key());
    assert_eq!(handshake.url.relays, [relay.url()]);
    assert!(handshake.url.token.len() >= 22, "a token of 128 bits and more");

    let wallet = wallet_for(Policy::silent()).await;
    let event = introduce(&api, &wallet, &handshake, User::Stubborn).await;
    assert_eq!(event.data["preferred_relays"], json!([relay.url()]));
    assert!(api.events(&handshake.stream).await.1, "a single-use handshake is done");

    let stream = api.authenticate(&wallet.main_key(), &[]).await;
    let request = wallet.next_request(LONG).await.expect("a request");
    assert_eq!(request.from, usher.public_key());
    assert!(api.events(&stream).await.0.is_empty(), "nothing is said before the user has decided");
    wallet.approve(&request).unwrap();
    let event = api.outcome(&stream).await;
    let main_key = wallet.main_key().to_hex();
    assert_eq!(event.data, json!({ "status": "approved", "main_key": main_key, "granted_permissions": [] }));

    // A later change of mind changes nothing.
    wallet.decline(&request, Some("no, after all")).unwrap();
    caught_up(&api, &wallet).await;
    assert_eq!(api.events(&stream).await, (vec![event], true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_itself_runs_on_a_subkey() {
    let operator = Identity::generate();
    let server = device(&operator, &[Permission::Auth, Permission::Payment], now() - 60, now() + YEAR);
    let proof = serde_json::to_string(server.proof().unwrap()).unwrap();
    let builder = TestUsher::builder().keys(server.keys().clone()).set("NOSTR__SUBKEY_PROOF", proof);
    let (_relay, usher) = builder.set("NOSTR__URL_SCHEME", "portal").start_at_relay().await;
    let api = usher.api();

    let handshake = api.handshake(json!({})).await;
    assert_eq!((handshake.url.main_key, &*handshake.url.scheme), (operator.public_key(), "portal"));
    assert_eq!(handshake.url.subkey, Some(server.public_key()));
    let wallet = wallet_for(Policy::silent()).await;
    introduce(&api, &wallet, &handshake, User::Once).await;
    let stream = api.authenticate(&wallet.main_key(), &[]).await;
    let request = wallet.next_request(LONG).await.unwrap();
    assert_eq!(request.from, server.public_key());
    assert_eq!(request.service, Some(operator.public_key()), "the challenge leads to the main key");
    wallet.approve(&request).unwrap();
    assert_eq!(api.outcome(&stream).await.status(), "approved");

    // A wallet that knows only the main key gets the subkey proof, and sends its message again.
    let mut handshake = api.handshake(json!({})).await;
    handshake.url.subkey = None;
    let wallet = wallet_for(Policy::auto_approve()).await;
    introduce(&api, &wallet, &handshake, User::Once).await;
    let event = api.outcome(&api.authenticate(&wallet.main_key(), &[]).await).await;
    assert_eq!(event.status(), "approved");
}
