//! Devices with subkeys: the user's, the operator's list, and the service's own.

use serde_json::json;
use usher_protocol::Keys;
use usher_protocol::subkey::Permission;
use usher_sandbox::wallet::{Identity, Policy, Wallet, WalletOptions};

use super::{service, service_with};
use crate::harness::{LONG, TestUsher, User, device, introduce, now, wallet_for};

const YEAR: u64 = 365 * 24 * 3600;

/// A wallet of this identity that approves, connected to this relay.
async fn approving(identity: Identity, relay: &str) -> Wallet {
    let options = WalletOptions::new(identity).relay(relay).policy(Policy::auto_approve());
    Wallet::start(options).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_cannot_read_answers_with_its_proof() {
    let (relay, usher) = service().await;
    let api = usher.api();
    let user = Identity::generate();
    let tablet = device(&user, &[Permission::Auth], now() - 60, now() + YEAR);
    let _tablet = approving(tablet, relay.url()).await;
    // The operator and the service know the main key alone; the main key's own wallet is away.
    let event = api.outcome(&api.authenticate(&user.public_key(), &[]).await).await;
    assert_eq!((event.status(), event.main_key()), ("approved", user.public_key().to_hex().as_str()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn devices_whose_proof_does_not_count() {
    let (relay, usher) = service_with(TestUsher::builder().set("AUTH__CHALLENGE_TTL_SECONDS", 7)).await;
    let api = usher.api();
    let now = now();
    let mut started = Vec::new();
    for (what, permission, from, until) in [
        ("expired", Permission::Auth, now - YEAR, now - 1),
        ("not yet valid", Permission::Auth, now + 3600, now + YEAR),
        ("for payments only", Permission::Payment, now - 60, now + YEAR),
    ] {
        let user = Identity::generate();
        let wallet = approving(device(&user, &[permission], from, until), relay.url()).await;
        started.push((what, api.authenticate(&user.public_key(), &[]).await, wallet));
    }
    // A device of somebody else that answers for the user.
    let (user, other) = (Identity::generate(), Identity::generate());
    let others = device(&other, &[Permission::Auth], now - 60, now + YEAR);
    let thief = approving(others, relay.url()).await;
    let stream = api.authenticate(&user.public_key(), &[]).await;
    // It cannot read the challenge, but says that it could not.
    let (_, challenge) = crate::harness::HandmadeWallet { keys: user.keys().clone() }.challenged(&relay).await;
    let proof = usher_protocol::message::WalletMessage::SubkeyProof {
        proof: thief.identity().proof().unwrap().clone(),
        about: challenge.id,
    };
    thief.send(usher.public_key(), &proof).unwrap();
    started.push(("of another user", stream, thief));

    for (what, stream, wallet) in started {
        let event = api.outcome(&stream).await;
        assert_eq!(event.status(), "timeout", "a proof that is {what}");
        assert!(wallet.requests().is_empty(), "a device whose proof is {what} was asked");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_that_the_operator_names_need_no_proof() {
    let (relay, usher) = service().await;
    let api = usher.api();
    let (user, named, stranger) = (Keys::generate().public_key(), Identity::generate(), Identity::generate());
    let stranger = approving(stranger, relay.url()).await;
    let stream = api.authenticate(&user, &[named.public_key()]).await;
    // Were the stranger asked, too, this would come later.
    let own = api.authenticate(&stranger.main_key(), &[]).await;
    assert_eq!(api.outcome(&own).await.status(), "approved");
    assert!(api.events(&stream).await.0.is_empty());
    let _named = approving(named, relay.url()).await;
    let event = api.outcome(&stream).await;
    assert_eq!((event.status(), event.main_key()), ("approved", user.to_hex().as_str()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_main_key_that_is_a_subkey() {
    let (relay, usher) = service().await;
    let api = usher.api();
    let user = Identity::generate();
    let phone = device(&user, &[Permission::Auth, Permission::Payment], now() - 60, now() + YEAR);
    let wallet = approving(phone, relay.url()).await;
    let event = api.outcome(&api.authenticate(&wallet.public_key(), &[]).await).await;
    assert_eq!(event.status(), "approved");
    assert_eq!(event.main_key(), user.public_key().to_hex(), "the proof's main key is the conversation's");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_itself_runs_on_a_subkey() {
    let operator = Identity::generate();
    let server = device(&operator, &[Permission::Auth, Permission::Payment], now() - 60, now() + YEAR);
    let proof = serde_json::to_string(server.proof().unwrap()).unwrap();
    let builder = TestUsher::builder().keys(server.keys().clone()).set("NOSTR__SUBKEY_PROOF", proof);
    let (_relay, usher) = service_with(builder).await;
    let api = usher.api();

    let handshake = api.handshake(json!({})).await;
    assert_eq!(handshake.url.main_key, operator.public_key());
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
