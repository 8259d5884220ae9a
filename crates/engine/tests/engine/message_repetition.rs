//! Resending of messages: as which event, to which keys, and not after the user has replied.

use crate::common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::paying::{payment, request_id, says};
use common::{FakeWallet, NOW, Running, approval, challenge, data, open, options, user};
use usher_engine::ports::OutgoingMessage;
use usher_engine::{AuthenticateKey, UnixMillis};
use usher_protocol::message::{PaymentStatus, WalletMessage};
use usher_protocol::subkey::{Metadata, Permission, SubkeyProof, derive_secret};
use usher_protocol::{EventId, Keys};

fn ask(n: u8) -> AuthenticateKey {
    AuthenticateKey { main_key: user(n).public_key(), subkeys: Vec::new() }
}

fn device(main: &Keys) -> (Keys, SubkeyProof) {
    let metadata = Metadata {
        name: "phone".to_owned(),
        nonce: [1; 32],
        valid_from: NOW.secs(),
        expires_at: NOW.secs() + 3600,
        permissions: [Permission::Auth, Permission::Payment].into_iter().collect(),
        version: 2,
    };
    let keys = derive_secret(main.secret_key(), &metadata).unwrap();
    (keys, SubkeyProof { main_key: main.public_key(), metadata })
}

/// Advances the clock second by second for `seconds`, and records which messages are sent when.
async fn watch(usher: &mut Running, seconds: u64, sent: &mut Vec<(u64, OutgoingMessage, Vec<EventId>)>, from: u64) {
    for second in from..from + seconds {
        usher.clock.turn(Duration::from_secs(1));
        // Messages that are due are sent while the clock stands still.
        tokio::time::sleep(Duration::from_millis(4)).await;
        while let Ok((message, ids)) = usher.messages.try_recv() {
            sent.push((second + 1, message, ids));
        }
    }
}

#[tokio::test]
async fn same_event_is_resent_for_90_seconds_then_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut usher = Running::start(store.clone()).await;
    usher.engine.start_authentication(ask(1), None).await.unwrap();
    let (message, ids) = usher.next_message().await;
    let mut sent = vec![(0, message, ids)];
    watch(&mut usher, 40, &mut sent, 0).await;
    usher.stop().await;
    let mut usher = Running::start_at(store, options(), NOW.plus(Duration::from_secs(40)), 2).await;
    watch(&mut usher, 260, &mut sent, 40).await;
    usher.stop().await;

    assert!(sent.iter().all(|(_, message, _)| message.content == sent[0].1.content));
    let of_first =
        |from: u64, to: u64| sent.iter().filter(|(at, _, ids)| (from..to).contains(at) && *ids == sent[0].2).count();
    assert!(of_first(0, 41) >= 4 && of_first(41, 90) >= 4, "{} and {}", of_first(0, 41), of_first(41, 90));
    assert_eq!(of_first(100, 300), 0, "its answer may have been lost");
    let made: BTreeMap<EventId, u64> = sent.iter().map(|(_, message, ids)| (ids[0], message.made_at.secs())).collect();
    let mut made: Vec<_> = made.into_values().collect();
    made.sort_unstable();
    assert!((2..=3).contains(&made.len()), "a prompt each: {made:?}");
    assert!(made.windows(2).all(|pair| pair[1] - pair[0] >= 90), "{made:?}");
}

#[tokio::test]
async fn after_a_proof_only_the_device_gets_a_new_copy() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut usher = Running::start(store.clone()).await;
    let stream = usher.engine.start_authentication(ask(1), None).await.unwrap();
    let (asked, first) = usher.next_message().await;
    let (device, proof) = device(&user(1));
    usher.receive(1, &device, WalletMessage::SubkeyProof { proof, about: first[0] }).await;
    let (copy, of_device) = usher.next_message().await;
    assert_eq!((&copy.recipients[..], &copy.content), (&[device.public_key()][..], &asked.content));
    assert_eq!(copy.participants, [user(1).public_key(), device.public_key()]);
    let mut sent = Vec::new();
    watch(&mut usher, 5, &mut sent, 0).await;
    let ids: Vec<_> = sent.iter().flat_map(|(_, _, ids)| ids.clone()).collect();
    assert_eq!(ids[..2], [first[0], of_device[0]], "each is repeated as it was");
    usher.stop().await;
    // Also after a restart, and when both are renewed they name every key.
    let mut usher = Running::start_at(store, options(), NOW.plus(Duration::from_secs(30)), 2).await;
    assert_eq!(usher.next_message().await.1, first);
    assert_eq!(usher.next_message().await.1, of_device);
    let mut sent = Vec::new();
    watch(&mut usher, 150, &mut sent, 30).await;
    let fresh: Vec<_> = sent.iter().filter(|(_, _, ids)| ids[0] != first[0] && ids[0] != of_device[0]).collect();
    assert!(fresh.len() >= 2);
    assert!(fresh.iter().all(|(_, message, _)| message.participants == copy.participants));
    usher.receive(2, &device, approval(&challenge(&asked))).await;
    assert_eq!(data(&usher.page(stream, 0).await, 0)["status"], "approved");
    usher.stop().await;
}

#[tokio::test]
async fn approval_pauses_resending_even_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let wallet = std::sync::Arc::new(FakeWallet::default());
    let mut usher = Running::start_paying(store.clone(), &wallet, options(), NOW, 1).await;
    let stream = usher.engine.start_single_payment(payment(None, 3_600), None).await.unwrap();
    let (asked, _) = usher.next_message().await;
    let content = serde_json::from_str(&asked.content).unwrap();
    usher.receive(1, &user(1), says(&request_id(&content), PaymentStatus::Approved)).await;
    assert_eq!(data(&usher.page(stream, 0).await, 0)["status"], "user_approved");
    let mut sent = Vec::new();
    watch(&mut usher, 60, &mut sent, 0).await;
    usher.stop().await;
    let now = NOW.plus(Duration::from_secs(60));
    let mut usher = Running::start_paying(store, &wallet, options(), now, 2).await;
    watch(&mut usher, 235, &mut sent, 60).await;
    assert!(sent.is_empty(), "{:?}", sent.iter().map(|(at, ..)| at).collect::<Vec<_>>());
    // Then its reply may have been lost.
    watch(&mut usher, 800, &mut sent, 295).await;
    assert!((1..=2).contains(&sent.len()), "rarely: {:?}", sent.iter().map(|(at, ..)| at).collect::<Vec<_>>());
    assert!(sent[0].0 >= 300 && sent[0].1.made_at > UnixMillis(NOW.0 + 290_000), "and as a fresh event");
    usher.stop().await;
}
