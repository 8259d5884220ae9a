//! Resending of messages: when, as which event, to which keys, and not after the user has replied.

use crate::common;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use common::paying::{payment, request_id, says};
use common::{FakeLightning, NOW, Running, approval, challenge, data, open, options, user};
use usher_engine::ports::OutgoingMessage;
use usher_engine::{AuthenticateKey, StreamId, UnixMillis};
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
async fn login_is_sent_as_one_event_within_a_minute_and_as_another_once() {
    let mut usher = Running::new().await;
    let stream = usher.engine.logins().authenticate(ask(1), None).await.unwrap();
    let mut sent = Vec::new();
    watch(&mut usher, 310, &mut sent, 0).await;
    let times: Vec<_> = sent.iter().map(|(at, ..)| *at).collect();
    assert_eq!(times.len(), 4, "{times:?}");
    assert!((19..30).contains(&times[1]) && times[2] - times[1] >= 34 && times[3] - times[2] >= 79, "{times:?}");
    let first = &sent[0].2;
    assert!(sent[1].2 == *first && sent[2].2 == *first && sent[3].2 != *first, "its reply may have been lost");
    assert_eq!(data(&usher.page(stream, 0).await, 0)["status"], "timeout");
    usher.stop().await;
}

#[tokio::test]
async fn same_event_is_resent_for_90_seconds_then_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut usher = Running::start(store.clone()).await;
    usher.engine.logins().authenticate(ask(1), None).await.unwrap();
    let (message, ids) = usher.next_message().await;
    let mut sent = vec![(0, message, ids)];
    watch(&mut usher, 30, &mut sent, 0).await;
    usher.stop().await;
    let mut usher = Running::start_at(store, options(), NOW.plus(Duration::from_secs(30)), 2).await;
    watch(&mut usher, 265, &mut sent, 30).await;
    usher.stop().await;

    assert!(sent.iter().all(|(_, message, _)| message.content == sent[0].1.content));
    let of_first =
        |from: u64, to: u64| sent.iter().filter(|(at, _, ids)| (from..to).contains(at) && *ids == sent[0].2).count();
    assert!(of_first(0, 31) >= 2 && of_first(31, 90) >= 1, "{} and {}", of_first(0, 31), of_first(31, 90));
    assert_eq!(of_first(100, 300), 0, "its answer may have been lost");
    let made: BTreeMap<EventId, u64> = sent.iter().map(|(_, message, ids)| (ids[0], message.made_at.secs())).collect();
    let mut made: Vec<_> = made.into_values().collect();
    made.sort_unstable();
    assert_eq!(made.len(), 2, "a prompt each: {made:?}");
    assert!(made[1] - made[0] >= 90, "{made:?}");
}

/// What it said may have been about something else, and the request lost: so it gets a fresh event all the same.
#[tokio::test]
async fn wallet_that_was_heard_gets_no_copy_of_the_same_event() {
    let mut usher = Running::new().await;
    for n in [1, 2] {
        usher.engine.logins().authenticate(ask(n), None).await.unwrap();
    }
    let mut sent = Vec::new();
    watch(&mut usher, 5, &mut sent, 0).await;
    // A copy of a reply to a login that ended long ago.
    usher.receive(1, &user(1), approval("unknown")).await;
    watch(&mut usher, 195, &mut sent, 5).await;
    let of = |n: u8| sent.iter().filter(move |(_, message, _)| message.recipients[0] == user(n).public_key());
    let ids = |n: u8| of(n).map(|(_, _, ids)| ids[0]).collect::<Vec<_>>();
    let (heard, silent) = (ids(1), ids(2));
    assert_eq!((heard.len(), silent.len()), (2, 4));
    assert!(heard[0] != heard[1] && of(1).next_back().unwrap().0 >= 133, "as another event, later");
    usher.stop().await;
}

/// A wallet that takes ten seconds for each message, one after the other, and replies to each copy of a challenge.
#[derive(Default)]
struct SlowWallet {
    waiting: VecDeque<String>,
    ready_at: u64,
    copies: u8,
}

impl SlowWallet {
    const TAKES: u64 = 10;

    /// A second passes.
    async fn second(&mut self, usher: &mut Running, second: u64) {
        let mut sent = Vec::new();
        watch(usher, 1, &mut sent, second).await;
        let now = second + 1;
        if self.waiting.is_empty() {
            self.ready_at = now + Self::TAKES;
        }
        self.waiting.extend(sent.iter().map(|(_, message, _)| challenge(message)));
        if now >= self.ready_at
            && let Some(challenge) = self.waiting.pop_front()
        {
            self.copies += 1;
            self.ready_at = now + Self::TAKES;
            usher.receive(self.copies, &user(1), approval(&challenge)).await;
        }
    }
}

/// Five logins of one user, one after the other or at the same time: how long each takes, and how many messages it takes.
async fn five_logins(at_once: bool) -> (Vec<u64>, u8) {
    let mut usher = Running::new().await;
    let (mut open, mut taken, mut wallet): (Vec<(StreamId, u64)>, _, _) =
        (Vec::new(), Vec::new(), SlowWallet::default());
    let mut started = 0;
    for second in 0..400 {
        while started < 5 && (at_once || open.is_empty()) {
            open.push((usher.engine.logins().authenticate(ask(1), None).await.unwrap(), second));
            started += 1;
        }
        wallet.second(&mut usher, second).await;
        let mut still_open = Vec::new();
        for (stream, since) in open {
            let page = usher.engine.events().read(stream, 0, 10).await.unwrap();
            if page.done {
                assert_eq!(data(&page, 0)["status"], "approved", "after {} s", second - since);
                taken.push(second - since);
            } else {
                still_open.push((stream, since));
            }
        }
        open = still_open;
    }
    usher.stop().await;
    (taken, wallet.copies)
}

#[tokio::test]
async fn five_logins_in_a_row_with_a_slow_wallet_are_approved() {
    let (taken, copies) = five_logins(false).await;
    assert!(taken.len() == 5 && taken.iter().all(|secs| *secs < 20), "{taken:?}");
    assert_eq!(copies, 5, "none is repeated");
}

#[tokio::test]
async fn five_logins_at_once_with_a_slow_wallet_are_approved() {
    let (taken, copies) = five_logins(true).await;
    assert!(taken.len() == 5 && taken.iter().all(|secs| *secs < 60), "{taken:?}");
    assert_eq!(copies, 5, "none is repeated: the wallet was heard");
}

#[tokio::test]
async fn login_arrives_though_every_second_message_is_lost() {
    for [request_lost, reply_lost] in [[false, false], [false, true], [true, false], [true, true]] {
        let mut usher = Running::new().await;
        let stream = usher.engine.logins().authenticate(ask(1), None).await.unwrap();
        let (mut request_lost, mut reply_lost, mut replies) = (request_lost, reply_lost, 0);
        for second in 0..200 {
            let mut sent = Vec::new();
            watch(&mut usher, 1, &mut sent, second).await;
            for (_, message, _) in sent {
                request_lost = !request_lost;
                if request_lost {
                    reply_lost = !reply_lost;
                    if reply_lost {
                        replies += 1;
                        usher.receive(replies, &user(1), approval(&challenge(&message))).await;
                    }
                }
            }
        }
        assert_eq!(data(&usher.page(stream, 0).await, 0)["status"], "approved");
        usher.stop().await;
    }
}

#[tokio::test]
async fn after_a_proof_only_the_device_gets_a_new_copy() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut usher = Running::start(store.clone()).await;
    let stream = usher.engine.logins().authenticate(ask(1), None).await.unwrap();
    let (asked, first) = usher.next_message().await;
    let (device, proof) = device(&user(1));
    usher.receive(1, &device, WalletMessage::SubkeyProof { proof, about: first[0] }).await;
    let (copy, of_device) = usher.next_message().await;
    assert_eq!((&copy.recipients[..], &copy.content), (&[device.public_key()][..], &asked.content));
    assert_eq!(copy.participants, [user(1).public_key(), device.public_key()]);
    let mut sent = Vec::new();
    watch(&mut usher, 25, &mut sent, 0).await;
    let ids: Vec<_> = sent.iter().flat_map(|(_, _, ids)| ids.clone()).collect();
    assert_eq!(ids[..2], [first[0], of_device[0]], "each is repeated as it was");
    usher.stop().await;
    // Also after a restart, and when both are renewed they name every key.
    let mut usher = Running::start_at(store, options(), NOW.plus(Duration::from_secs(30)), 2).await;
    assert_eq!(usher.next_message().await.1, first);
    assert_eq!(usher.next_message().await.1, of_device);
    let mut sent = Vec::new();
    watch(&mut usher, 170, &mut sent, 30).await;
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
    let wallet = std::sync::Arc::new(FakeLightning::default());
    let mut usher = Running::start_paying(store.clone(), &wallet, options(), NOW, 1).await;
    let stream = usher.engine.payments().request(payment(None, 3_600), None).await.unwrap().stream_id;
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
