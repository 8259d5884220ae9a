//! The engine on a real store.

use crate::common;

use std::time::Duration;

use common::{NOW, Running, approval, challenge, data, handshake, open, options, token, user};
use usher_engine::ports::{Inbound, Store, Via};
use usher_engine::testing::COMMITS;
use usher_engine::{AuthenticateKey, EngineOptions, EventsError, KeyHandshakeRequest, StartError, StreamId};
use usher_protocol::message::WalletMessage;
use usher_protocol::subkey::{Metadata, Permission, Permissions, SubkeyProof, derive_secret};
use usher_protocol::{EventId, Keys, SecretKey};

fn reusable(token: &str) -> KeyHandshakeRequest {
    KeyHandshakeRequest { static_token: Some(token.to_owned()), no_request: None, return_url: None }
}

fn ask(n: u8) -> AuthenticateKey {
    AuthenticateKey { main_key: user(n).public_key(), subkeys: Vec::new() }
}

#[tokio::test]
async fn handshake_and_authentication_end_to_end() {
    let mut usher = Running::new().await;
    let started = usher.engine.handshakes().start(KeyHandshakeRequest::default(), None).await.unwrap();
    assert!(started.url.starts_with("nostr+walletconnect://npub1"), "{}", started.url);
    let page = usher.engine.events().read(started.stream_id, 0, 1000).await.unwrap();
    assert_eq!((page.events.len(), page.next, page.done), (0, 0, false));

    usher.receive(1, &user(1), handshake(&token(&started.url), &["wss://mine.example"])).await;
    let page = usher.page(started.stream_id, 0).await;
    assert_eq!((page.events.len(), page.next, page.done), (1, 1, true));
    assert_eq!(data(&page, 0)["main_key"], user(1).public_key().to_hex());

    let stream = usher.engine.logins().authenticate(ask(1), None).await.unwrap();
    let (message, _) = usher.next_message().await;
    assert_eq!(message.relays, ["wss://mine.example"], "the user's own relays are used");
    usher.receive(2, &user(9), approval(&challenge(&message))).await;
    usher.receive(3, &user(1), approval(&challenge(&message))).await;
    let page = usher.page(stream, 0).await;
    assert_eq!((page.events.len(), page.done), (1, true));
    assert_eq!(data(&page, 0)["status"], "approved");
    assert_eq!(usher.engine.open_streams(), 1, "only the reserved stream is open");
    usher.stop().await;
}

#[tokio::test]
async fn restart_loses_nothing_and_continues() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut usher = Running::start(store.clone()).await;
    let done = usher.engine.handshakes().start(KeyHandshakeRequest::default(), None).await.unwrap();
    usher.receive(1, &user(1), handshake(&token(&done.url), &[])).await;
    let before = usher.page(done.stream_id, 0).await;
    let waiting = usher.engine.handshakes().start(KeyHandshakeRequest::default(), None).await.unwrap();
    let reusable_handshake = usher.engine.handshakes().start(reusable("door"), None).await.unwrap();
    let login = usher.engine.logins().authenticate(ask(1), None).await.unwrap();
    let (asked, _) = usher.next_message().await;
    usher.stop().await;
    store.close().await;
    drop(store);

    let mut usher = Running::start_at(open(dir.path()), options(), NOW.plus(Duration::from_secs(60)), 2).await;
    assert_eq!(usher.engine.events().read(done.stream_id, 0, 1000).await.unwrap(), before);
    assert_eq!(
        usher.engine.handshakes().start(reusable("door"), None).await.unwrap().stream_id,
        reusable_handshake.stream_id
    );
    let (again, _) = usher.next_message().await;
    assert_eq!(again.content, asked.content, "what is unanswered is sent again");
    usher.receive(2, &user(1), approval(&challenge(&asked))).await;
    assert_eq!(data(&usher.page(login, 0).await, 0)["status"], "approved");
    usher.receive(3, &user(2), handshake("door", &[])).await;
    assert_eq!(data(&usher.page(reusable_handshake.stream_id, 0).await, 0)["main_key"], user(2).public_key().to_hex());
    usher.clock.turn(Duration::from_secs(540));
    assert_eq!(data(&usher.page(waiting.stream_id, 0).await, 0)["status"], "timeout");
    usher.stop().await;
}

#[tokio::test]
async fn received_messages_are_processed_before_the_stop() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let usher = Running::start(store.clone()).await;
    let mut started = Vec::new();
    for _ in 0..16 {
        started.push(usher.engine.handshakes().start(KeyHandshakeRequest::default(), None).await.unwrap());
    }
    for (n, started) in (1..).zip(&started) {
        usher.receive(n, &user(n), handshake(&token(&started.url), &[])).await;
    }
    usher.stop().await;
    for started in started {
        assert_eq!(store.events(started.stream_id, 0, 10).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn requests_that_expired_during_downtime_time_out_at_start() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let usher = Running::start(store.clone()).await;
    let mut streams = Vec::new();
    for n in 0..50 {
        streams.push(usher.engine.logins().authenticate(ask(n + 1), None).await.unwrap());
    }
    usher.stop().await;
    let mut usher = Running::start_at(store, options(), NOW.plus(Duration::from_secs(301)), 2).await;
    for stream in streams {
        let page = usher.page(stream, 0).await;
        assert_eq!((page.events.len(), page.done), (1, true));
        assert_eq!(data(&page, 0)["status"], "timeout");
    }
    assert!(usher.messages.try_recv().is_err(), "nothing is sent for what has expired");
    usher.stop().await;
}

#[tokio::test]
async fn unanswered_requests_are_resent_with_backoff_until_they_expire() {
    let mut usher = Running::new().await;
    let stream = usher.engine.logins().authenticate(ask(1), None).await.unwrap();
    let (first, _) = usher.next_message().await;
    // Each comes up to a twentieth of its interval sooner or later. The clock stands still until the message arrives,
    // however long that takes.
    for millis in [20_000, 36_000, 84_000] {
        usher.clock.turn(Duration::from_millis(millis * 95 / 100 - 1));
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert!(usher.messages.try_recv().is_err(), "less than {millis} ms have passed");
        usher.clock.turn(Duration::from_millis(millis / 10 + 1));
        assert_eq!(usher.next_message().await.0.content, first.content, "the same challenge");
    }
    // 147 s are over, and the next would be due after the 300.
    usher.clock.turn(Duration::from_millis(152_999));
    tokio::time::sleep(Duration::from_millis(30)).await;
    assert!(usher.messages.try_recv().is_err(), "three repetitions are enough");
    assert!(usher.engine.events().read(stream, 0, 1).await.unwrap().events.is_empty(), "it is not over yet");
    usher.clock.turn(Duration::from_millis(1));
    assert_eq!(data(&usher.page(stream, 0).await, 0)["status"], "timeout");
    usher.clock.turn(Duration::from_secs(120));
    tokio::time::sleep(Duration::from_millis(30)).await;
    assert!(usher.messages.try_recv().is_err(), "nothing after the end");
    usher.stop().await;
}

#[tokio::test]
async fn corrected_fast_clock_does_not_delay_resending() {
    const AHEAD: Duration = Duration::from_secs(3 * 3600);
    let mut usher = Running::new().await;
    usher.clock.turn(AHEAD);
    usher.engine.logins().authenticate(ask(1), None).await.unwrap();
    let first = usher.next_message().await.0;
    usher.clock.turn(Duration::from_secs(21));
    assert_eq!(usher.next_message().await.0.content, first.content);
    usher.clock.turn_back(AHEAD);
    let mut repeated = false;
    for _ in 0..100 {
        usher.clock.turn(Duration::from_millis(500));
        tokio::time::sleep(Duration::from_millis(10)).await;
        while let Ok((message, _)) = usher.messages.try_recv() {
            repeated |= message.content == first.content;
        }
    }
    assert!(repeated, "the user is not asked again");
    usher.stop().await;
}

#[tokio::test]
async fn reply_stops_resending() {
    let mut usher = Running::new().await;
    let stream = usher.engine.logins().authenticate(ask(1), None).await.unwrap();
    let (message, _) = usher.next_message().await;
    usher.receive(1, &user(1), approval(&challenge(&message))).await;
    usher.page(stream, 0).await;
    for _ in 0..20 {
        usher.clock.turn(Duration::from_secs(30));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!(usher.messages.try_recv().is_err());
    usher.stop().await;
}

#[tokio::test]
async fn nostr_event_is_handled_once_even_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let usher = Running::start(store.clone()).await;
    let reusable_handshake = usher.engine.handshakes().start(reusable("door"), None).await.unwrap().stream_id;
    usher.receive(1, &user(1), handshake("door", &[])).await;
    usher.page(reusable_handshake, 0).await;
    usher.stop().await;

    let usher = Running::start_at(store, options(), NOW.plus(Duration::from_secs(100)), 2).await;
    usher.receive(1, &user(1), handshake("door", &[])).await; // replayed: the user has not scanned again
    usher.receive(2, &user(2), handshake("door", &[])).await;
    let page = usher.page(reusable_handshake, 1).await;
    assert_eq!(page.events.len(), 1);
    assert_eq!(data(&page, 0)["main_key"], user(2).public_key().to_hex());
    usher.stop().await;
}

#[tokio::test]
async fn concurrent_requests_with_one_static_token_open_one_stream() {
    let usher = Running::new().await;
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let engine = usher.engine.clone();
            tokio::spawn(async move { engine.handshakes().start(reusable("door"), None).await.unwrap() })
        })
        .collect();
    let mut answers = Vec::new();
    for call in calls {
        let started = call.await.unwrap();
        answers.push((started.stream_id, started.url));
    }
    answers.dedup();
    assert_eq!(answers.len(), 1);
    let other = KeyHandshakeRequest { no_request: Some(true), ..reusable("door") };
    let refused = usher.engine.handshakes().start(other, None).await.unwrap_err();
    assert!(matches!(refused, StartError::Invalid(fields) if fields[0].pointer == "/no_request"));
    usher.stop().await;
}

#[tokio::test]
async fn static_tokens_are_checked() {
    let usher = Running::new().await;
    for bad in ["", " ", "a b", "é", "a\n", &"x".repeat(129)] {
        let refused = usher.engine.handshakes().start(reusable(bad), None).await.unwrap_err();
        assert!(matches!(refused, StartError::Invalid(fields) if fields[0].pointer == "/static_token"), "{bad:?}");
    }
    usher.engine.handshakes().start(reusable(&"x".repeat(128)), None).await.unwrap();
    let single = usher.engine.handshakes().start(KeyHandshakeRequest::default(), None).await.unwrap();
    let refused = usher.engine.handshakes().start(reusable(&token(&single.url)), None).await.unwrap_err();
    assert!(matches!(refused, StartError::Invalid(fields) if fields[0].pointer == "/static_token"));
    usher.stop().await;
}

#[tokio::test]
async fn long_poll_wakes_on_an_event_and_leaves_nothing_behind() {
    let usher = Running::new().await;
    let reusable_handshake = usher.engine.handshakes().start(reusable("door"), None).await.unwrap().stream_id;
    let polls: Vec<_> = (0..20)
        .map(|_| {
            let engine = usher.engine.clone();
            tokio::spawn(async move {
                engine.events().wait(reusable_handshake, 0, 10, Duration::from_secs(60)).await.unwrap()
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(20)).await;
    usher.receive(1, &user(1), handshake("door", &[])).await;
    for poll in polls {
        assert_eq!(poll.await.unwrap().events.len(), 1);
    }
    // A waiting reader without an event times out by the clock; one that waits while the engine stops ends as well.
    let engine = usher.engine.clone();
    let vain =
        tokio::spawn(
            async move { engine.events().wait(reusable_handshake, 1, 10, Duration::from_secs(60)).await.unwrap() },
        );
    tokio::time::sleep(Duration::from_millis(20)).await;
    usher.clock.turn(Duration::from_secs(60));
    assert_eq!(vain.await.unwrap().events.len(), 0);
    let engine = usher.engine.clone();
    let last =
        tokio::spawn(
            async move { engine.events().wait(reusable_handshake, 1, 10, Duration::from_secs(60)).await.unwrap() },
        );
    tokio::time::sleep(Duration::from_millis(20)).await;
    usher.stop().await;
    assert!(!last.await.unwrap().done);
}

#[tokio::test]
async fn pages_are_bounded_and_only_the_last_is_done() {
    let usher = Running::new().await;
    let reusable_handshake = usher.engine.handshakes().start(reusable("door"), None).await.unwrap().stream_id;
    for n in 1..=5 {
        usher.receive(n, &user(n), handshake("door", &[])).await;
        usher.page(reusable_handshake, u64::from(n) - 1).await;
    }
    let page = usher.engine.events().read(reusable_handshake, 1, 3).await.unwrap();
    assert_eq!(page.events.iter().map(|event| event.index).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!((page.next, page.done), (4, false));
    assert_eq!(usher.engine.events().read(reusable_handshake, 77, 3).await.unwrap().next, 77);

    let single = usher.engine.handshakes().start(KeyHandshakeRequest::default(), None).await.unwrap();
    usher.receive(9, &user(1), handshake(&token(&single.url), &[])).await;
    assert!(usher.page(single.stream_id, 0).await.done);
    assert!(!usher.engine.events().read(single.stream_id, 0, 0).await.unwrap().done);
    assert!(usher.engine.events().read(single.stream_id, 1, 10).await.unwrap().done);
    usher.stop().await;
}

#[tokio::test]
async fn device_that_cannot_decrypt_gets_its_own_copy() {
    let mut usher = Running::new().await;
    let metadata = Metadata {
        name: "phone".to_owned(),
        nonce: [1; 32],
        valid_from: NOW.secs(),
        expires_at: NOW.secs() + 3600,
        permissions: [Permission::Auth].into_iter().collect::<Permissions>(),
        version: 2,
    };
    let device = derive_secret(user(1).secret_key(), &metadata).unwrap();
    let proof = SubkeyProof { main_key: user(1).public_key(), metadata };
    let stream = usher.engine.logins().authenticate(ask(1), None).await.unwrap();
    let (message, ids) = usher.next_message().await;
    usher.receive(1, &device, WalletMessage::SubkeyProof { proof, about: ids[0] }).await;
    let (second, _) = usher.next_message().await;
    assert_eq!(second.recipients, [device.public_key()], "the main key has its copy");
    assert_eq!(second.participants, [user(1).public_key(), device.public_key()]);
    assert_eq!(second.content, message.content);
    usher.receive(2, &device, approval(&challenge(&message))).await;
    assert_eq!(data(&usher.page(stream, 0).await, 0)["main_key"], user(1).public_key().to_hex());
    usher.stop().await;
}

#[tokio::test]
async fn open_streams_are_limited_and_finished_ones_make_room() {
    let dir = tempfile::tempdir().unwrap();
    let small = EngineOptions { max_open_streams: 2, ..options() };
    let usher = Running::start_at(open(dir.path()), small, NOW, 1).await;
    let first = usher.engine.handshakes().start(KeyHandshakeRequest::default(), None).await.unwrap();
    usher.engine.logins().authenticate(ask(1), None).await.unwrap();
    assert!(matches!(usher.engine.logins().authenticate(ask(1), None).await, Err(StartError::TooManyOpen)));
    usher.receive(1, &user(1), handshake(&token(&first.url), &[])).await;
    usher.page(first.stream_id, 0).await;
    usher.engine.logins().authenticate(ask(1), None).await.unwrap();
    usher.stop().await;
}

#[tokio::test]
async fn finished_streams_are_removed_after_retention_and_open_ones_stay() {
    let usher = Running::new().await;
    let done = usher.engine.handshakes().start(KeyHandshakeRequest::default(), None).await.unwrap();
    let reusable_handshake = usher.engine.handshakes().start(reusable("door"), None).await.unwrap();
    usher.receive(1, &user(1), handshake(&token(&done.url), &[])).await;
    usher.page(done.stream_id, 0).await;
    usher.clock.turn(options().retention);
    usher
        .until(Duration::from_secs(3600), "still there", async || {
            usher.engine.events().read(done.stream_id, 0, 10).await.is_err()
        })
        .await;
    for open in [reusable_handshake.stream_id, StreamId::SUBSCRIPTIONS] {
        assert!(!usher.engine.events().read(open, 0, 10).await.unwrap().done);
    }
    let unknown = StreamId::from_parts(NOW.0, [1; 10]);
    assert!(matches!(usher.engine.events().read(unknown, 0, 10).await, Err(EventsError::NotFound)));
    usher.stop().await;
}

#[tokio::test]
async fn long_store_outage_loses_no_reply_and_no_timeout() {
    let (usher, store) = Running::faulty().await;
    let scanned = usher.engine.handshakes().start(KeyHandshakeRequest::default(), None).await.unwrap();
    let forgotten = usher.engine.logins().authenticate(ask(1), None).await.unwrap();
    store.fail(COMMITS, usize::MAX);
    usher.receive(1, &user(1), handshake(&token(&scanned.url), &[])).await;
    for _ in 0..150 {
        tokio::time::sleep(Duration::from_millis(2)).await;
        usher.clock.turn(Duration::from_secs(5));
    }
    store.fail(COMMITS, 0);
    for stream in [scanned.stream_id, forgotten] {
        let is_done = async || usher.engine.events().read(stream, 0, 10).await.unwrap().done;
        usher.until(Duration::from_secs(1), "the stream ends", is_done).await;
    }
    usher.stop().await;
}

#[tokio::test]
async fn scan_flood_delays_nobody_and_reports_each_user_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut usher = Running::start(store.clone()).await;
    let reusable_handshake = usher.engine.handshakes().start(reusable("door"), None).await.unwrap().stream_id;
    let inbox = usher.inbox.clone();
    // More than one handshake accepts, each twice, and half of them under the same Nostr event.
    let crowd = tokio::spawn(async move {
        for n in 0..4000_u32 {
            let mut secret = [7; 32];
            secret[..4].copy_from_slice(&n.to_be_bytes());
            let author = Keys::new(SecretKey::from_slice(&secret).unwrap()).public_key();
            let message = handshake("door", &["wss://mine.example"]);
            let event_id = EventId::from_byte_array(secret);
            let inbound = Inbound { event_id, author, created_at: NOW.secs(), message, via: Via::default() };
            inbox.send(inbound.clone()).await.unwrap();
            if n % 2 == 0 {
                inbox.send(inbound).await.unwrap();
            }
        }
    });
    let login = usher.engine.logins().authenticate(ask(1), None).await.unwrap();
    let (message, _) = usher.next_message().await;
    usher.receive(255, &user(1), approval(&challenge(&message))).await;
    assert_eq!(data(&usher.page(login, 0).await, 0)["status"], "approved");
    crowd.await.unwrap();
    usher.stop().await;
    let mut users = Vec::new();
    loop {
        let events = store.events(reusable_handshake, users.len() as u64, 1000).await.unwrap();
        if events.is_empty() {
            break;
        }
        for event in events {
            assert_eq!(event.index, users.len() as u64);
            let data: serde_json::Value = serde_json::from_str(&event.data).unwrap();
            users.push(data["main_key"].as_str().unwrap().to_owned());
        }
    }
    let accepted = users.len();
    assert_eq!(accepted, 2000, "a copy uses up nothing");
    users.sort_unstable();
    users.dedup();
    assert_eq!(users.len(), accepted, "each user once");
}

#[tokio::test]
async fn short_store_outage_loses_no_reply() {
    let (usher, store) = Running::faulty().await;
    store.fail(COMMITS, 1);
    assert!(matches!(usher.engine.logins().authenticate(ask(1), None).await, Err(StartError::Store(_))));
    let started = usher.engine.handshakes().start(KeyHandshakeRequest::default(), None).await.unwrap();
    store.fail(COMMITS, 5);
    usher.receive(1, &user(1), handshake(&token(&started.url), &[])).await;
    usher
        .until(Duration::from_secs(1), "the answer was lost", async || {
            usher.engine.events().read(started.stream_id, 0, 10).await.unwrap().done
        })
        .await;
    usher.stop().await;
}
