//! Relays that users choose.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio_tungstenite::tungstenite::{Bytes, Message};
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
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operator_may_use_private_addresses() {
    let inside = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let by_name = format!("ws://localhost:{}", inside.port());
    let service = Service::start(&[&by_name]);
    service.subscribed_at(&by_name).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn user_relays_are_limited_per_user_and_in_total() {
    let mut relays = Vec::new();
    for _ in 0..12 {
        relays.push(QuirkyRelay::start(Quirks::default()).await.unwrap());
    }
    let urls: Vec<_> = relays.iter().map(QuirkyRelay::url).collect();
    let service = Service::start_with(&[], |options| {
        options.allow_private = true;
        options.user_relays_per_user = 3;
        options.user_relays_in_all = 5;
    });
    let greedy = Keys::generate().public_key();
    service.pool.send(&message(&service, &greedy, "x", &urls));
    assert_eq!(open(&service).len(), 3);
    for url in &urls {
        service.pool.send(&message(&service, &greedy, "x", &[url]));
        assert!(open(&service).len() <= 3);
    }
    let waiting: Vec<_> = open(&service);
    for url in &urls {
        service.pool.send(&message(&service, &Keys::generate().public_key(), "x", &[url]));
        assert!(open(&service).len() <= 5);
    }
    let refused = service.pool.metrics().user_relays_refused;
    assert!(refused > 0, "when an answer is awaited on all of them, one more gets no place");
    let now_open = open(&service);
    assert!(waiting.iter().all(|url| now_open.contains(url)), "{waiting:?} {now_open:?}");
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
async fn invented_relays_do_not_displace_a_real_users_relay() {
    let theirs = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let silent = silent_relay("127.0.0.2").await;
    let port = silent.port();
    let mut service = Service::start_with(&[], |options| options.allow_private = true);
    let wallet = Keys::generate();
    service.pool.send(&message(&service, &wallet.public_key(), "honest", &[theirs.url()]));
    service.subscribed_at(theirs.url()).await;
    // 20 keys, four paths each.
    for sybil in 0..20 {
        let key = Keys::generate().public_key();
        let paths: Vec<_> = (0..4).map(|path| format!("ws://127.0.0.2:{port}/{sybil}/{path}")).collect();
        service.pool.send(&message(&service, &key, "x", &paths.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    let of_sybils = open(&service).iter().filter(|url| *url != theirs.url()).count();
    assert_eq!(of_sybils, 8);
    theirs.inject(approval(&wallet, &service.key(), "honest"));
    assert_eq!(service.next_answer().await, "honest");
    assert_eq!(theirs.metrics().connections, 1);
    assert_eq!(service.pool.metrics().user_relays_refused, 72);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousand_invented_users_do_not_displace_a_waiting_users_relay() {
    // On every address of this machine: as many hosts as one likes.
    let silent = silent_relay("0.0.0.0").await;
    let port = silent.port();
    let theirs = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let later = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let mut service = Service::start_with(&[], |options| options.allow_private = true);
    let sybil = |service: &Service, number: u32, relays: u32| {
        let urls: Vec<_> = (0..relays)
            .map(|relay| format!("ws://127.{}.{}.{}:{port}", 1 + relay, number / 200, 1 + number % 200))
            .chain([format!("ws://name{number}.invalid"), format!("ws://127.0.0.1:{}", 1 + number % 1000)])
            .collect();
        let urls: Vec<_> = urls.iter().map(String::as_str).collect();
        service.pool.send(&message(service, &Keys::generate().public_key(), "x", &urls));
    };
    let wallet = Keys::generate();
    service.pool.send(&message(&service, &wallet.public_key(), "early", &[theirs.url()]));
    service.subscribed_at(theirs.url()).await;
    for number in 0..40 {
        sybil(&service, number, 4);
    }
    // With four relays each they have all places, and a user who arrives now still gets one.
    assert_eq!(open(&service).len(), 64);
    service.pool.send(&message(&service, &wallet.public_key(), "late", &[theirs.url(), later.url()]));
    let other = Keys::generate();
    service.pool.send(&message(&service, &other.public_key(), "other", &[later.url()]));
    service.subscribed_at(later.url()).await;
    for number in 40..1000 {
        sybil(&service, number, 1);
        assert!(open(&service).len() <= 64);
    }
    for (relay, wallet, challenge) in [(&theirs, &wallet, "early"), (&later, &other, "other")] {
        assert!(service.status_of(relay.url()).subscribed);
        relay.inject(approval(wallet, &service.key(), challenge));
        assert_eq!(service.next_answer().await, challenge);
        assert_eq!(relay.metrics().connections, 1);
    }
    service.stop().await;
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

/// A relay that sends nothing but pings.
async fn pinging_relay() -> TcpServer {
    TcpServer::start(|stream| async move {
        let Ok(socket) = tokio_tungstenite::accept_async(stream).await else { return };
        let (mut sink, mut stream) = socket.split();
        let ping = async { while sink.feed(Message::Ping(Bytes::new())).await.is_ok() {} };
        let read = async { while let Some(Ok(_)) = stream.next().await {} };
        tokio::select! { () = ping => {}, () = read => {} }
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn user_relay_that_floods_pings_is_closed() {
    let pinging = pinging_relay().await;
    let url = format!("ws://{}", pinging.address());
    let service = Service::start_with(&[], |options| {
        options.allow_private = true;
        options.limits.user_relay_useless = 100;
        options.limits.user_relay_useless_per_second = 1;
    });
    service.pool.send(&message(&service, &Keys::generate().public_key(), "x", &[&url]));
    eventually("left", || format!("{:?}", service.status_of(&url).state).contains("floods us")).await;
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
