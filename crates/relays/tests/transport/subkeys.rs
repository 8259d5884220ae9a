//! A service that runs on a subkey.

use nostr::JsonUtil as _;
use usher_protocol::message::WalletMessage;
use usher_protocol::subkey::{Metadata, Permission, SubkeyProof, VERSION, derive_secret};
use usher_protocol::{Keys, kind};
use usher_relays::{Identity, RelayOptions};
use usher_sandbox::relay::{Quirks, QuirkyRelay};

use crate::support::{DEADLINE, Service, Wallet, address, eventually, now, quick, seal};

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
    Service::start_from(options, keys, 100)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_knows_only_the_main_key_gets_the_proof_and_tries_again() {
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
    assert_eq!(tags, [vec!["p".to_owned(), wallet.key().to_hex()], vec!["e".to_owned(), unreadable.id.to_hex()]]);
    let proof = SubkeyProof::parse(&proof).unwrap();
    proof.verify(&service.key(), Permission::Auth, now().secs()).unwrap();
    assert_eq!(proof.main_key, main.public_key());

    // The same event again is no second question.
    relay.inject(unreadable);
    let readable = seal(&wallet.keys, &service.key(), &main.public_key(), kind::KEY_HANDSHAKE, text);
    relay.inject(readable.clone());
    let inbound = service.next().await;
    assert_eq!(inbound.event_id, readable.id);
    assert!(matches!(inbound.message, WalletMessage::KeyHandshake(_)));
    assert_eq!(service.pool.counters().proofs_sent, 1);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proofs_are_limited_per_author_and_in_all() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let main = Keys::generate();
    let service = service(&main, &relay);
    service.subscribed_at(relay.url()).await;
    let text = r#"{"token":"abcd"}"#;
    let pester =
        |author: &Keys| relay.inject(seal(author, &main.public_key(), &main.public_key(), kind::KEY_HANDSHAKE, text));
    let author = Keys::generate();
    for _ in 0..20 {
        pester(&author);
    }
    eventually("twenty seen", || service.pool.counters().verified == 20).await;
    assert_eq!(service.pool.counters().proofs_sent, 3);
    for _ in 0..100 {
        pester(&Keys::generate());
    }
    eventually("all seen", || service.pool.counters().verified == 120).await;
    let counters = service.pool.counters();
    assert!((30..=60).contains(&counters.proofs_sent), "{counters:?}");
    assert_eq!(counters.proofs_sent + counters.proofs_withheld, 120);

    // No two with one second: kind 30000 is addressable, and a relay would forward only one of them.
    let sent = counters.proofs_sent;
    relay.wait_for(DEADLINE, |counts| counts.events_of(kind::SUBKEY_PROOF) == sent).await.unwrap();
    let mut times: Vec<_> = relay.seen().iter().map(|event| event.created_at.as_secs()).collect();
    times.sort_unstable();
    times.dedup();
    assert_eq!(times.len() as u64, sent);
    assert!(relay.seen().iter().all(|event| !event.as_json().contains("server")), "encrypted");
    service.stop().await;
}
