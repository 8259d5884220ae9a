//! Each quirk of `QuirkyRelay`.

use std::time::Duration;

use nostr::Timestamp;
use serde_json::json;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;
use usher_faults::relay::{LieOk, Quirks, QuirkyRelay};

use crate::raw_client::{LONG, QUIET, Raw, as_value, auth_event, event_to, key};

#[tokio::test]
async fn no_ok_for_ephemeral() {
    let relay = QuirkyRelay::start(Quirks { no_ok_for_ephemeral: true, ..Quirks::default() }).await.unwrap();
    let key = key();
    let mut client = Raw::connect(relay.url()).await;
    client.subscribe("s", &key).await;
    let event = event_to(&key, 27001, "");
    client.publish(&event).await;
    assert_eq!(client.next().await, json!(["EVENT", "s", as_value(&event)]));
    client.silent().await;
    client.publish(&event_to(&key, 1, "")).await;
    client.next_of("OK").await;
}

#[tokio::test]
async fn forged_events_can_be_accepted() {
    let relay = QuirkyRelay::start(Quirks { accept_forged: true, ..Quirks::default() }).await.unwrap();
    let key = key();
    let mut client = Raw::connect(relay.url()).await;
    client.subscribe("s", &key).await;
    let mut event = event_to(&key, 27001, "a");
    event.content = "b".to_owned();
    client.publish(&event).await;
    assert_eq!(client.next_of("EVENT").await, json!(["EVENT", "s", as_value(&event)]));
    assert_eq!(relay.metrics().events_forged, 0);
}

#[tokio::test]
async fn forgets_no_ephemeral() {
    let relay = QuirkyRelay::start(Quirks { forgets_no_ephemeral: true, ..Quirks::default() }).await.unwrap();
    let key = key();
    let mut client = Raw::connect(relay.url()).await;
    client.subscribe("s", &key).await;
    let event = event_to(&key, 27001, "");
    client.publish(&event).await;
    client.next_of("OK").await;
    client.publish(&event).await;
    assert_eq!(client.next().await[3], "duplicate: already have this event");
    assert_eq!(relay.metrics().forwarded, 1);
}

#[tokio::test]
async fn loses_every_second() {
    let relay = QuirkyRelay::start(Quirks { loses_every_second: true, ..Quirks::default() }).await.unwrap();
    let key = key();
    let mut reader = Raw::connect(relay.url()).await;
    reader.subscribe("s", &key).await;
    for _ in 0..2 {
        let mut writer = Raw::connect(relay.url()).await;
        let events: Vec<_> = (0..4).map(|n| event_to(&key, 27001, &n.to_string())).collect();
        for event in &events {
            writer.publish(event).await;
            assert_eq!(writer.next().await, json!(["OK", event.id.to_hex(), true, ""]));
        }
        for arrived in [&events[0], &events[2]] {
            assert_eq!(reader.next().await, json!(["EVENT", "s", as_value(arrived)]));
        }
    }
    reader.silent().await;
}

#[tokio::test]
async fn max_subscriptions() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let mut client = Raw::connect(relay.url()).await;
    for n in 0..20 {
        client.subscribe(&n.to_string(), &key()).await;
    }
    client.send(json!(["REQ", "20", {}])).await;
    assert_eq!(client.next().await, json!(["CLOSED", "20", "error: too many subscriptions"]));
    // One of the old ids is a replacement, not one more.
    client.subscribe("3", &key()).await;
    assert_eq!(relay.metrics().most_subscriptions, 20);
}

#[tokio::test]
async fn refuse_events_until_turned_off() {
    let relay = QuirkyRelay::start(Quirks { refuse_events: true, ..Quirks::default() }).await.unwrap();
    let key = key();
    let mut client = Raw::connect(relay.url()).await;
    client.subscribe("s", &key).await;
    client.publish(&event_to(&key, 27001, "")).await;
    let answer = client.next().await;
    assert_eq!(answer[2], false);
    assert!(answer[3].as_str().unwrap().starts_with("blocked: "));
    relay.set(|quirks| quirks.refuse_events = false);
    client.publish(&event_to(&key, 27001, "")).await;
    client.next_of("EVENT").await;
    assert_eq!(relay.metrics().events_refused, 1);
}

#[tokio::test]
async fn max_event_bytes() {
    let relay = QuirkyRelay::start(Quirks { max_event_bytes: 65_536, ..Quirks::default() }).await.unwrap();
    let mut client = Raw::connect(relay.url()).await;
    client.publish(&event_to(&key(), 27001, &"a".repeat(70_000))).await;
    assert_eq!(client.next().await[3], "invalid: the event is too large");
}

#[tokio::test]
async fn accept_tcp_only_until_turned_off() {
    let relay = QuirkyRelay::start(Quirks { accept_tcp_only: true, ..Quirks::default() }).await.unwrap();
    let url = relay.url().to_owned();
    let connecting = tokio::spawn(async move { Raw::connect(&url).await });
    relay.wait_for(LONG, |metrics| metrics.connections == 1).await.unwrap();
    tokio::time::sleep(QUIET).await;
    assert!(!connecting.is_finished());
    assert_eq!(relay.metrics().handshakes, 0);
    relay.set(|quirks| quirks.accept_tcp_only = false);
    connecting.await.unwrap().subscribe("s", &key()).await;
}

#[tokio::test]
async fn mute_relay_still_answers_pings() {
    let relay = QuirkyRelay::start(Quirks { mute: true, require_auth: true, ..Quirks::default() }).await.unwrap();
    let mut client = Raw::connect(relay.url()).await;
    client.send(json!(["REQ", "s", {}])).await;
    client.publish(&event_to(&key(), 1, "")).await;
    client.silent().await;
    relay.wait_for(LONG, |metrics| metrics.reqs == 1 && metrics.all_events() == 1).await.unwrap();
    futures_util::SinkExt::send(&mut client.socket, Message::Ping("x".into())).await.unwrap();
    assert!(matches!(client.frame().await, Some(Ok(Message::Pong(_)))));
}

#[tokio::test]
async fn stop_reading_ignores_even_pings() {
    let relay = QuirkyRelay::start(Quirks { stop_reading: true, ..Quirks::default() }).await.unwrap();
    let mut client = Raw::connect(relay.url()).await;
    futures_util::SinkExt::send(&mut client.socket, Message::Ping("x".into())).await.unwrap();
    client.silent().await;
    relay.set(|quirks| quirks.stop_reading = false);
    assert!(matches!(client.frame().await, Some(Ok(Message::Pong(_)))));
}

#[tokio::test]
async fn rate_limit() {
    let relay = QuirkyRelay::start(Quirks { rate_limit: Some(3), ..Quirks::default() }).await.unwrap();
    let mut client = Raw::connect(relay.url()).await;
    let start = Instant::now();
    let (mut taken, mut refused) = (0, 0);
    for _ in 0..12 {
        client.publish(&event_to(&key(), 27001, "")).await;
        let answer = client.next().await;
        if answer[2] == true {
            taken += 1;
        } else {
            assert!(answer[3].as_str().unwrap().starts_with("rate-limited: "));
            refused += 1;
        }
    }
    let windows = start.elapsed().as_secs() + 2;
    assert!(taken >= 3 && taken <= 3 * windows, "{taken} in {windows} windows");
    assert_eq!(relay.metrics().events_refused, refused);
}

#[tokio::test]
async fn require_auth() {
    let relay = QuirkyRelay::start(Quirks { require_auth: true, ..Quirks::default() }).await.unwrap();
    let key = key();
    let mut client = Raw::connect(relay.url()).await;
    let hello = client.next().await;
    assert_eq!(hello[0], "AUTH");
    let challenge = hello[1].as_str().unwrap();

    client.send(json!(["REQ", "s", {"#p": [key.to_hex()]}])).await;
    assert!(client.next_of("CLOSED").await[2].as_str().unwrap().starts_with("auth-required: "));
    client.publish(&event_to(&key, 27001, "")).await;
    assert!(client.next_of("OK").await[3].as_str().unwrap().starts_with("auth-required: "));

    let now = Timestamp::now();
    let mut forged = auth_event(relay.url(), challenge, now);
    forged.pubkey = key;
    let wrong = [
        auth_event(relay.url(), "another challenge", now),
        auth_event("ws://127.0.0.1:1", challenge, now),
        auth_event(relay.url(), challenge, now - 3600_u64),
        event_to(&key, 27001, ""),
        forged,
    ];
    for event in &wrong {
        client.send(json!(["AUTH", as_value(event)])).await;
        assert_eq!(client.next().await[2], false);
    }
    client.send(json!(["AUTH", as_value(&auth_event(relay.url(), challenge, now))])).await;
    assert_eq!(client.next().await[2], true);
    client.subscribe("s", &key).await;
    client.publish(&event_to(&key, 27001, "")).await;
    client.next_of("EVENT").await;
    let metrics = relay.metrics();
    assert_eq!((metrics.auths, metrics.auths_valid), (6, 1));
}

#[tokio::test]
async fn require_auth_can_be_turned_on_later_for_another_url() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let mut client = Raw::connect(relay.url()).await;
    client.subscribe("s", &key()).await;
    relay.set(|quirks| {
        quirks.require_auth = true;
        quirks.auth_urls = vec!["ws://relay.example/".to_owned()];
    });
    let challenge = client.next().await[1].as_str().unwrap().to_owned();
    client.send(json!(["AUTH", as_value(&auth_event("ws://relay.example", &challenge, Timestamp::now()))])).await;
    assert_eq!(client.next().await[2], true);
}

#[tokio::test]
async fn drop_every() {
    let every = Duration::from_millis(200);
    let relay = QuirkyRelay::start(Quirks { drop_every: Some(every), ..Quirks::default() }).await.unwrap();
    for _ in 0..3 {
        let start = Instant::now();
        let mut client = Raw::connect(relay.url()).await;
        client.closed().await;
        assert!(start.elapsed() >= every - Duration::from_millis(50));
    }
    assert_eq!(relay.metrics().connections, 3);
}

#[tokio::test]
async fn duplicate_and_delay() {
    let late = Duration::from_millis(150);
    let relay = QuirkyRelay::start(Quirks { duplicate_and_delay: Some(late), ..Quirks::default() }).await.unwrap();
    let key = key();
    let mut client = Raw::connect(relay.url()).await;
    client.subscribe("s", &key).await;
    let event = event_to(&key, 27001, "");
    let start = Instant::now();
    client.publish(&event).await;
    assert_eq!(client.next().await[0], "OK");
    for n in 1..=2 {
        assert_eq!(client.next().await, json!(["EVENT", "s", as_value(&event)]));
        assert!(start.elapsed() >= late * n);
    }
    client.silent().await;
}

#[tokio::test]
async fn false_ok_replies() {
    let relay = QuirkyRelay::start(Quirks { lie_ok: Some(LieOk::AcceptAndDrop), ..Quirks::default() }).await.unwrap();
    let key = key();
    let mut client = Raw::connect(relay.url()).await;
    client.subscribe("s", &key).await;
    client.publish(&event_to(&key, 27001, "")).await;
    assert_eq!(client.next().await[2], true);
    client.silent().await;
    relay.set(|quirks| quirks.lie_ok = Some(LieOk::RefuseAndForward));
    let event = event_to(&key, 27001, "");
    client.publish(&event).await;
    assert_eq!(client.next().await, json!(["EVENT", "s", as_value(&event)]));
    assert_eq!(client.next().await[2], false);
}

#[tokio::test]
async fn close_subscriptions_after() {
    let age = Duration::from_millis(150);
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let key = key();
    let mut client = Raw::connect(relay.url()).await;
    client.subscribe("s", &key).await;
    relay.set(|quirks| quirks.close_subscriptions_after = Some(age));
    assert_eq!(client.next().await[0], "CLOSED");
    client.publish(&event_to(&key, 27001, "")).await;
    assert_eq!(client.next().await[0], "OK");
    client.subscribe("s", &key).await;
    assert_eq!(client.next().await[1], "s");
}

#[tokio::test]
async fn latency_applies_both_ways_without_reordering() {
    let latency = Duration::from_millis(60);
    let relay = QuirkyRelay::start(Quirks { latency, ..Quirks::default() }).await.unwrap();
    let key = key();
    let mut client = Raw::connect(relay.url()).await;
    let start = Instant::now();
    client.subscribe("s", &key).await;
    assert!(start.elapsed() >= latency * 2);
    let start = Instant::now();
    let events: Vec<_> = (0..50).map(|n| event_to(&key, 27001, &n.to_string())).collect();
    for event in &events {
        client.publish(event).await;
    }
    for event in &events {
        assert_eq!(client.next_of("EVENT").await[2]["id"], event.id.to_hex());
    }
    // All were under way at once: fifty one after the other would have taken 50 times as long.
    assert!(start.elapsed() >= latency * 2);
    assert!(start.elapsed() < latency * 2 * 50);
}
