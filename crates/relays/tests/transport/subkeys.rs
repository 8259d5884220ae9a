//! A service that runs on a subkey.

use nostr::JsonUtil as _;
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_protocol::message::WalletMessage;
use usher_protocol::subkey::{Metadata, Permission, SubkeyProof, VERSION, derive_secret};
use usher_protocol::{Keys, kind};
use usher_relays::{Identity, RelayOptions};

use crate::fixture::{Service, Wallet, address, eventually, now, quick, quick_connection, seal};

fn identity(main: &Keys) -> Identity {
    let metadata = Metadata {
        name: "server".into(),
        nonce: [7; 32],
        valid_from: now().secs() - 10,
        expires_at: now().secs() + 1000,
        permissions: [Permission::Auth, Permission::Payment].into_iter().collect(),
        version: VERSION,
    };
    let keys = derive_secret(main.secret_key(), &metadata).unwrap();
    Identity {
        keys,
        main_key: main.public_key(),
        subkey_proof: Some(SubkeyProof { main_key: main.public_key(), metadata }),
    }
}

fn service(main: &Keys, relay: &QuirkyRelay) -> Service {
    let identity = identity(main);
    let keys = identity.keys.clone();
    let mut options = RelayOptions::new(identity, vec![address(relay.url())]);
    options.timing = quick();
    options.connection = quick_connection();
    Service::start_from(options, keys, 100)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wallet_that_knows_only_the_main_key_gets_the_proof_and_retries() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let main = Keys::generate();
    let mut service = service(&main, &relay);
    service.subscribed_at(relay.url()).await;
    let mut wallet = Wallet::connect(&[relay.url()]).await;
    let text = r#"{"token":"abcd"}"#;
    let unreadable = seal(&wallet.keys, &main.public_key(), &main.public_key(), kind::KEY_HANDSHAKE, text);
    relay.inject(unreadable.clone());

    let (answer, proof) = wallet.next().await;
    assert_eq!((answer.kind.as_u16(), answer.pubkey), (kind::SUBKEY_PROOF, service.key()));
    let tags: Vec<_> = answer.tags.iter().map(|tag| tag.as_slice().to_vec()).collect();
    let tag = |name: &str, value: String| vec![name.to_owned(), value];
    let about = unreadable.id.to_hex();
    assert_eq!(tags, [tag("p", wallet.key().to_hex()), tag("e", about.clone()), tag("d", about)]);
    let proof = SubkeyProof::parse(&proof).unwrap();
    proof.verify(&service.key(), Permission::Auth, now().secs()).unwrap();
    assert_eq!(proof.main_key, main.public_key());

    // The same event again is not another request.
    relay.inject(unreadable);
    let readable = seal(&wallet.keys, &service.key(), &main.public_key(), kind::KEY_HANDSHAKE, text);
    relay.inject(readable.clone());
    let inbound = service.next().await;
    assert_eq!(inbound.event_id, readable.id);
    assert!(matches!(inbound.message, WalletMessage::KeyHandshake(_)));
    assert_eq!(service.pool.metrics().proofs_sent, 1);
    service.stop().await;
}

const HANDSHAKE: &str = r#"{"token":"abcd"}"#;

/// An event that only the main key could read.
fn for_the_main_key(author: &Keys, main: &Keys) -> nostr::Event {
    seal(author, &main.public_key(), &main.public_key(), kind::KEY_HANDSHAKE, HANDSHAKE)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proofs_are_limited_per_author_and_per_relay() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let main = Keys::generate();
    let service = service(&main, &relay);
    service.subscribed_at(relay.url()).await;
    let author = Keys::generate();
    for _ in 0..20 {
        relay.inject(for_the_main_key(&author, &main));
    }
    eventually("twenty seen", || service.pool.metrics().verified == 20).await;
    assert_eq!(service.pool.metrics().proofs_sent, 3);
    for _ in 0..1000 {
        relay.inject(for_the_main_key(&Keys::generate(), &main));
    }
    eventually("all seen", || service.pool.metrics().verified == 1020).await;
    let counters = service.pool.metrics();
    assert!(counters.proofs_sent >= 120 && counters.proofs_withheld > 0, "{counters:?}");
    assert_eq!(counters.proofs_sent + counters.proofs_withheld, 1020);
    assert!(relay.seen().iter().all(|event| !event.as_json().contains("server")), "encrypted");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flood_at_one_relay_does_not_use_the_share_of_others() {
    let flooded = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let quiet = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let main = Keys::generate();
    let identity = identity(&main);
    let keys = identity.keys.clone();
    let mut options = RelayOptions::new(identity, vec![address(flooded.url()), address(quiet.url())]);
    options.timing = quick();
    options.connection = quick_connection();
    // Half of it for each relay, and no refill.
    options.limits.proofs = 20;
    options.limits.proofs_per_second = 0;
    let service = Service::start_from(options, keys, 100);
    service.subscribed_at(flooded.url()).await;
    service.subscribed_at(quiet.url()).await;
    for _ in 0..200 {
        flooded.inject(for_the_main_key(&Keys::generate(), &main));
    }
    eventually("all seen", || service.pool.metrics().verified == 200).await;
    assert_eq!(service.pool.metrics().proofs_sent, 10);
    let mut wallet = Wallet::connect(&[quiet.url()]).await;
    // Over the flooded relay it arrives first and has no effect.
    let asked = for_the_main_key(&wallet.keys, &main);
    flooded.inject(asked.clone());
    eventually("seen", || service.pool.metrics().verified == 201).await;
    quiet.inject(asked);
    assert_eq!(wallet.next().await.0.kind.as_u16(), kind::SUBKEY_PROOF);
    service.stop().await;
}
