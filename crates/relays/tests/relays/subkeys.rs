//! A service that runs on a subkey.

use nostr::JsonUtil as _;
use usher_protocol::message::WalletMessage;
use usher_protocol::subkey::{Metadata, Permission, SubkeyProof, VERSION, derive_secret};
use usher_protocol::{Keys, kind};
use usher_relays::Identity;
use usher_testing::relay::QuirkyRelay;

use crate::fixture::{Plan, Wallet, now, relay, until};
use crate::wallet::handshake;

fn plan(main: &Keys, relays: &[&QuirkyRelay]) -> Plan {
    let metadata = Metadata {
        name: "server".into(),
        nonce: [7; 32],
        valid_from: now().secs() - 10,
        expires_at: now().secs() + 1000,
        permissions: [Permission::Auth, Permission::Payment].into_iter().collect(),
        version: VERSION,
    };
    let keys = derive_secret(main.secret_key(), &metadata).unwrap();
    let main_key = main.public_key();
    let mut plan = Plan::new(&relays.iter().map(|relay| relay.url()).collect::<Vec<_>>());
    plan.relays.identity = Identity { keys, main_key, subkey_proof: Some(SubkeyProof { main_key, metadata }) };
    plan
}

fn for_the_main_key(author: &Keys, main: &Keys) -> nostr::Event {
    handshake(author, &main.public_key(), &main.public_key(), now().secs())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wallet_that_knows_only_the_main_key_gets_the_proof_and_retries() {
    let (relay, main) = (relay().await, Keys::generate());
    let mut service = plan(&main, &[&relay]).serve().await;
    let mut wallet = Wallet::connect(relay.url()).await;
    let unreadable = for_the_main_key(&wallet.keys, &main);
    relay.inject(unreadable.clone());

    let (answer, proof) = wallet.next().await;
    assert_eq!((answer.kind.as_u16(), answer.pubkey), (kind::SUBKEY_PROOF, service.key()));
    let tags: Vec<_> = answer.tags.iter().map(|tag| tag.as_slice().to_vec()).collect();
    let about = unreadable.id.to_hex();
    assert_eq!(tags, [["p", &wallet.key().to_hex()], ["e", &about], ["d", &about]]);
    let proof = SubkeyProof::parse(&proof).unwrap();
    proof.verify(&service.key(), Permission::Auth, now().secs()).unwrap();
    assert_eq!(proof.main_key, main.public_key());

    // The same event again is not another request.
    relay.inject(unreadable);
    let readable = handshake(&wallet.keys, &service.key(), &main.public_key(), now().secs());
    relay.inject(readable.clone());
    let inbound = service.next().await;
    assert_eq!(inbound.event_id, readable.id);
    assert!(matches!(inbound.message, WalletMessage::KeyHandshake(_)));
    assert_eq!(service.pool.metrics().proofs_sent.get(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proofs_are_limited_per_author_and_per_relay() {
    let (relay, main, author) = (relay().await, Keys::generate(), Keys::generate());
    let service = plan(&main, &[&relay]).serve().await;
    for _ in 0..20 {
        relay.inject(for_the_main_key(&author, &main));
    }
    until("twenty seen", async || service.pool.metrics().verified.get() == 20).await;
    assert_eq!(service.pool.metrics().proofs_sent.get(), 3);
    for _ in 0..1000 {
        relay.inject(for_the_main_key(&Keys::generate(), &main));
    }
    until("all seen", async || service.pool.metrics().verified.get() == 1020).await;
    let counters = service.pool.metrics();
    assert!(counters.proofs_sent.get() >= 120 && counters.proofs_withheld.get() > 0, "{counters:?}");
    assert_eq!(counters.proofs_sent.get() + counters.proofs_withheld.get(), 1020);
    assert!(relay.seen().iter().all(|event| !event.as_json().contains("server")), "encrypted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flood_at_one_relay_does_not_use_the_share_of_others() {
    let (flooded, quiet, main) = (relay().await, relay().await, Keys::generate());
    let mut plan = plan(&main, &[&flooded, &quiet]);
    // Half of it for each relay, and no refill.
    plan.relays.limits.proofs = 20;
    plan.relays.limits.proofs_per_second = 0;
    let service = plan.serve().await;
    for _ in 0..200 {
        flooded.inject(for_the_main_key(&Keys::generate(), &main));
    }
    until("all seen", async || service.pool.metrics().verified.get() == 200).await;
    assert_eq!(service.pool.metrics().proofs_sent.get(), 10);
    let mut wallet = Wallet::connect(quiet.url()).await;
    // Over the flooded relay it arrives first and has no effect.
    let asked = for_the_main_key(&wallet.keys, &main);
    flooded.inject(asked.clone());
    until("seen", async || service.pool.metrics().verified.get() == 201).await;
    quiet.inject(asked);
    assert_eq!(wallet.next().await.0.kind.as_u16(), kind::SUBKEY_PROOF);
}
