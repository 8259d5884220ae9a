//! Relays that users choose.

use std::time::Duration;

use futures_util::StreamExt as _;
use usher_engine::ports::{Messenger as _, OutgoingMessage};
use usher_faults::relay::{Flood, Junk, JunkEvents, Quirks, QuirkyRelay};
use usher_protocol::{Keys, PublicKey};
use usher_relays::Origin;
use usher_test_tools::TcpServer;

use crate::fixture::{DEADLINE, Service, Wallet, address, approval, eventually, now};

fn message(service: &Service, wallet: &PublicKey, challenge: &str, relays: &[&str]) -> OutgoingMessage {
    let mut message = service.message(wallet, challenge);
    message.relays = relays.iter().map(|url| (*url).to_owned()).collect();
    message
}

fn open(service: &Service) -> Vec<String> {
    let all = service.pool.status().into_iter();
    all.filter(|status| status.origin == Origin::User).map(|status| status.url.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn user_is_reached_at_their_own_relay_which_is_closed_afterwards() {
    let ours = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let theirs = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let mut service = Service::start_with(&[ours.url()], |options| {
        options.allow_private = true;
        options.user_relay_grace = Duration::from_millis(100);
    });
    let wallet = Wallet::connect(&[theirs.url()]).await;
    let mut message = message(&service, &wallet.key(), "theirs", &[theirs.url(), ours.url()]);
    service.pool.send(&message);
    assert_eq!(service.next_answer().await, "theirs");
    assert_eq!(open(&service), [theirs.url()], "ours is not opened a second time");
    assert_eq!(ours.metrics().connections, 1);
    assert_eq!(service.pool.relays(), [ours.url()], "handshake URLs name ours alone");

    message.until = now();
    service.pool.send(&message);
    assert_eq!(service.next_answer().await, "theirs");
    assert_eq!(open(&service), [theirs.url()], "another answer is awaited there for longer");
    wallet.stop().await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn user_relay_is_closed_when_no_reply_is_awaited() {
    let theirs = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let service = Service::start_with(&[], |options| {
        options.allow_private = true;
        options.user_relay_grace = Duration::from_millis(100);
    });
    let mut message = message(&service, &Keys::generate().public_key(), "x", &[theirs.url()]);
    message.until = now().plus(Duration::from_secs(1));
    service.pool.send(&message);
    theirs.wait_for(DEADLINE, |metrics| metrics.events_of(27_000) == 1).await.unwrap();
    theirs.wait_for(DEADLINE, |metrics| metrics.open_connections == 0).await.unwrap();
    eventually("forgotten", || open(&service).is_empty()).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_addresses_of_users_are_never_connected_to() {
    let inside = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let port = inside.port();
    let service = Service::start(&[]);
    let wallet = Keys::generate().public_key();
    let by_number = [
        inside.url().to_owned(),
        format!("ws://[::1]:{port}"),
        format!("ws://[::ffff:127.0.0.1]:{port}"),
        format!("ws://0.0.0.0:{port}"),
        format!("ws://2130706433:{port}"),
        format!("ws://0x7f000001:{port}"),
        "ws://10.0.0.1".to_owned(),
        "ws://169.254.169.254/latest".to_owned(),
        "http://relay.example".to_owned(),
        "wss://user:word@relay.example".to_owned(),
        "wss://relay.example:22".to_owned(),
    ];
    for url in &by_number {
        service.pool.send(&message(&service, &wallet, "x", &[url]));
    }
    assert!(open(&service).is_empty(), "{:?}", open(&service));
    assert_eq!(service.pool.metrics().user_relays_refused, by_number.len() as u64);

    // By name: known only when it has been resolved.
    let by_name = format!("ws://localhost:{port}");
    service.pool.send(&message(&service, &wallet, "x", &[&by_name]));
    eventually("refused", || service.status_of(&by_name).state.as_str() == "disconnected").await;
    let status = format!("{:?}", service.status_of(&by_name).state);
    assert!(status.contains("not on the public Internet"), "{status}");
    assert_eq!(inside.metrics().connections, 0);
    service.stop().await;
    // The operator may.
    let service = Service::start(&[&by_name]);
    service.subscribed_at(&by_name).await;
    service.stop().await;
}

/// A relay on another network address of this machine that accepts every subscription and sends nothing else.
async fn silent_relay(ip: &str) -> TcpServer {
    TcpServer::start_at((ip, 0), |stream| async move {
        let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else { return };
        while let Some(Ok(_)) = socket.next().await {}
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_of_one_network_address_count_as_one_host() {
    let silent = silent_relay("127.0.0.2").await;
    let port = silent.port();
    let service = Service::start_with(&[], |options| {
        options.allow_private = true;
        options.user_relays_per_host = 2;
    });
    // As different as names can be that this machine resolves by itself.
    let urls: Vec<_> = ["127.0.0.2", "2130706434", "[::ffff:127.0.0.2]", "0x7f.2"]
        .iter()
        .map(|host| format!("ws://{host}:{port}"))
        .collect();
    for url in &urls {
        service.pool.send(&message(&service, &Keys::generate().public_key(), "x", &[url]));
    }
    assert!(open(&service).len() <= 2, "{:?}", open(&service));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn user_relay_that_becomes_a_service_relay_stays_connected() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let mut service = Service::start_with(&[], |options| options.allow_private = true);
    let wallet = Wallet::connect(&[relay.url()]).await;
    service.pool.send(&message(&service, &wallet.key(), "before", &[relay.url()]));
    assert_eq!(service.next_answer().await, "before");
    assert!(service.pool.add(address(relay.url()), false));
    for number in 0..20 {
        let challenge = format!("c{number}");
        service.pool.send(&message(&service, &wallet.key(), &challenge, &[relay.url()]));
        assert_eq!(service.next_answer().await, challenge);
    }
    wallet.stop().await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flooding_user_relay_is_closed_but_a_service_relay_is_not() {
    let ours = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let theirs = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let service = Service::start_with(&[ours.url()], |options| {
        options.allow_private = true;
        options.limits.user_relay_useless = 100;
        options.limits.user_relay_useless_per_second = 1;
    });
    service.subscribed_at(ours.url()).await;
    service.pool.send(&message(&service, &Keys::generate().public_key(), "x", &[theirs.url()]));
    service.subscribed_at(theirs.url()).await;
    let junk = JunkEvents::generate(service.key(), &[27_001], &[Junk::GarbageContent], 500);
    let flood = Flood { per_second: 1000, events: junk };
    theirs.set(|quirks| quirks.flood = Some(flood.clone()));
    eventually("left", || format!("{:?}", service.status_of(theirs.url()).state).contains("floods us")).await;
    ours.set(|quirks| quirks.flood = Some(flood));
    eventually("much junk", || service.pool.metrics().received > 500).await;
    assert!(service.status_of(ours.url()).state.is_connected());
    assert_eq!(ours.metrics().connections, 1);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn message_size_limit_is_smaller_for_user_relays() {
    let theirs = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let service = Service::start_with(&[], |options| options.allow_private = true);
    let wallet = Keys::generate();
    service.pool.send(&message(&service, &wallet.public_key(), "x", &[theirs.url()]));
    service.subscribed_at(theirs.url()).await;
    let mut huge = approval(&wallet, &service.key(), "huge");
    huge.content = "A".repeat(1_000_000);
    theirs.inject(huge);
    eventually("left", || service.pool.metrics().disconnects == 1).await;
    service.stop().await;
}
