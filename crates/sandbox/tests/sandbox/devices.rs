//! Devices and services that use subkeys.

use usher_protocol::Keys;
use usher_protocol::message::ServiceMessage;
use usher_protocol::subkey::{Permission, ProofError};
use usher_sandbox::relay::EmbeddedRelay;
use usher_sandbox::wallet::{DeviceTerms, Identity, Policy, Wallet, WalletOptions};

use crate::raw_client::LONG;
use crate::scripted_service::{Service, challenge_with, is_approved};

fn now() -> u64 {
    nostr::Timestamp::now().as_secs()
}

/// A device of a new user, on this relay, with these terms.
async fn device(relay: &EmbeddedRelay, terms: DeviceTerms) -> Wallet {
    let identity = Identity::generate().device(terms).unwrap();
    let options = WalletOptions::new(identity).relay(relay.url()).policy(Policy::auto_approve());
    Wallet::start(options).await
}

/// Challenges until the device's proof comes: at first it may not listen yet.
async fn challenge_main(service: &mut Service, wallet: &Wallet) -> nostr::EventId {
    let main = wallet.main_key();
    loop {
        let event = service.challenge(&main, "c").await;
        let wait = std::time::Duration::from_millis(500);
        if let Ok((proof, _, about)) = tokio::time::timeout(wait, service.next_proof()).await {
            assert_eq!(proof.pubkey, wallet.public_key());
            return if about == event.id { event.id } else { about };
        }
    }
}

#[tokio::test]
async fn device_proves_itself_and_replies_to_its_messages() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut service = Service::start(relay.url()).await;
    let wallet = device(&relay, DeviceTerms::unlimited("phone")).await;
    assert_ne!(wallet.main_key(), wallet.public_key());
    challenge_main(&mut service, &wallet).await;

    let (main, sub) = (wallet.main_key(), wallet.public_key());
    service.send(&sub, &[main, sub], &challenge_with("c", None)).await;
    let (event, response) = loop {
        match service.next().await {
            (event, usher_protocol::message::WalletMessage::AuthResponse(response)) => break (event, response),
            (_, usher_protocol::message::WalletMessage::SubkeyProof { .. }) => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(event.pubkey, sub);
    assert!(is_approved(&response));
    let proof = response.subkey_proof.unwrap();
    assert_eq!(proof.main_key, main);
    proof.verify(&sub, Permission::Auth, now()).unwrap();
    // Its copy for the main key, which names the device too, is not asked about: the device has its own.
    let proofs = wallet.sent_events().iter().filter(|e| e.kind.as_u16() == usher_protocol::kind::SUBKEY_PROOF).count();
    service.send(&main, &[main, sub], &challenge_with("c", None)).await;
    service.send(&sub, &[main, sub], &challenge_with("d", None)).await;
    while service.next_response().await.1.challenge != "d" {}
    let after = wallet.sent_events().iter().filter(|e| e.kind.as_u16() == usher_protocol::kind::SUBKEY_PROOF).count();
    assert_eq!(after, proofs);
}

#[tokio::test]
async fn two_proofs_in_a_second_both_arrive() {
    // Relays keep one event of kind 30000 per author and second.
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut service = Service::start(relay.url()).await;
    let wallet = device(&relay, DeviceTerms::unlimited("phone")).await;
    challenge_main(&mut service, &wallet).await;
    let main = wallet.main_key();
    let mut asked: Vec<_> = Vec::new();
    for n in 0..3 {
        asked.push(service.challenge(&main, &format!("c{n}")).await.id);
    }
    while !asked.is_empty() {
        let (_, _, about) = service.next_proof().await;
        asked.retain(|id| *id != about);
    }
}

#[tokio::test]
async fn invalid_proofs_can_be_sent() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut service = Service::start(relay.url()).await;
    let unlimited = DeviceTerms::unlimited("phone");
    let bad = [
        (DeviceTerms { expires_at: now() - 10, ..unlimited.clone() }, ProofError::OutsideValidity),
        (DeviceTerms { valid_from: now() + 1000, ..unlimited.clone() }, ProofError::OutsideValidity),
        (DeviceTerms { permissions: vec![Permission::Payment], ..unlimited }, ProofError::MissingPermission),
    ];
    for (terms, error) in bad {
        let wallet = device(&relay, terms).await;
        let opened = wallet.open(&service.url(), LONG).await.unwrap();
        while service.next_handshake().await.0.id != opened.event.id {}
        service.challenge(&wallet.public_key(), "c").await;
        let (event, response) = service.next_response().await;
        let proof = response.subkey_proof.unwrap();
        assert_eq!(proof.verify(&event.pubkey, Permission::Auth, now()), Err(error));
    }
}

#[tokio::test]
async fn wallet_follows_a_service_to_its_subkey() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let main = Identity::generate();
    let sub = main.device(DeviceTerms::unlimited("server")).unwrap();
    let proof = sub.proof().unwrap().clone();
    // It also listens for its main key, but cannot decrypt messages to that key.
    let mut for_main =
        Service::with_keys(Keys::new(main.keys().secret_key().clone()), relay.url(), &[relay.url()]).await;
    let mut service = Service::with_keys(sub.keys().clone(), relay.url(), &[relay.url()]).await;

    let wallet = Wallet::start(WalletOptions::new(Identity::generate()).policy(Policy::silent())).await;
    wallet.open(&for_main.url(), LONG).await.unwrap();
    let unreadable = for_main.next_event().await;
    let answer = ServiceMessage::SubkeyProof { proof: proof.clone(), about: unreadable.id };
    service.send(&wallet.public_key(), &[wallet.public_key()], &answer).await;
    let (event, handshake) = service.next_handshake().await;
    assert_eq!(handshake.token, "the token");
    assert_ne!(event.id, unreadable.id);
    assert_eq!(wallet.services()[0].subkeys, [service.key()]);

    // And from the URL, when that names the subkey.
    let mut url = for_main.url();
    url.subkey = Some(service.key());
    let opened = wallet.open(&url, LONG).await.unwrap();
    assert_eq!(service.next_handshake().await.0.id, opened.event.id);
    let tagged: Vec<_> = opened.event.tags.public_keys().copied().collect();
    assert_eq!(tagged, [service.key(), main.public_key()]);

    // Its challenge is known as the service's by its key; another's by its proof.
    service.challenge(&wallet.public_key(), "c").await;
    assert_eq!(wallet.next_request(LONG).await.unwrap().service, Some(main.public_key()));
    let other = main.device(DeviceTerms::unlimited("other server")).unwrap();
    let mut other_service = Service::with_keys(other.keys().clone(), relay.url(), &[]).await;
    let to = wallet.public_key();
    other_service.send(&to, &[to], &challenge_with("d", Some(proof))).await;
    assert_eq!(wallet.next_request(LONG).await.unwrap().service, None);
    other_service.send(&to, &[to], &challenge_with("e", other.proof().cloned())).await;
    assert_eq!(wallet.next_request(LONG).await.unwrap().service, Some(main.public_key()));
}

#[tokio::test]
async fn false_proof_is_ignored() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut service = Service::start(relay.url()).await;
    let mut liar = Service::start(relay.url()).await;
    let wallet = Wallet::start(WalletOptions::new(Identity::generate())).await;
    let opened = wallet.open(&service.url(), LONG).await.unwrap();
    service.next_handshake().await;
    let stolen = Identity::generate().device(DeviceTerms::unlimited("x")).unwrap().proof().unwrap().clone();
    let mut proof = stolen;
    proof.main_key = service.key();
    let to = wallet.public_key();
    liar.send(&to, &[to], &ServiceMessage::SubkeyProof { proof, about: opened.event.id }).await;
    liar.challenge(&to, "c").await;
    assert_eq!(wallet.next_request(LONG).await.unwrap().service, None);
    assert_eq!(wallet.sent_events().len(), 1);
}
