//! `QuirkyRelay` without quirks.

use nostr::{EventBuilder, Keys, Kind, Timestamp};
use serde_json::json;
use usher_faults::relay::{Quirks, QuirkyRelay};

use crate::raw_client::{LONG, Raw, as_value, event_by, event_to, key};

#[tokio::test]
async fn events_are_filtered_by_recipient_kind_and_since() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let (ours, other) = (key(), key());
    let mut reader = Raw::connect(relay.url()).await;
    let since = Timestamp::now().as_secs() - 60;
    reader.send(json!(["REQ", "s", {"#p": [ours.to_hex()], "kinds": [27001, 27010], "since": since}])).await;
    assert_eq!(reader.next_of("EOSE").await, json!(["EOSE", "s"]));
    reader.send(json!(["REQ", "all", {"kinds": [28001]}])).await;
    assert_eq!(reader.next_of("EOSE").await, json!(["EOSE", "all"]));

    let mut writer = Raw::connect(relay.url()).await;
    let old = EventBuilder::new(Kind::from_u16(27001), "old")
        .tag(nostr::Tag::public_key(ours))
        .custom_created_at(Timestamp::from_secs(since - 1))
        .sign_with_keys(&Keys::generate())
        .unwrap();
    let wanted = event_to(&ours, 27010, "wanted");
    let by_kind = event_to(&other, 28001, "by kind");
    for event in [&old, &event_to(&other, 27001, ""), &event_to(&ours, 27000, ""), &wanted, &by_kind] {
        writer.publish(event).await;
        assert_eq!(writer.next().await, json!(["OK", event.id.to_hex(), true, ""]));
    }
    assert_eq!(reader.next().await, json!(["EVENT", "s", as_value(&wanted)]));
    assert_eq!(reader.next().await, json!(["EVENT", "all", as_value(&by_kind)]));

    let metrics = relay.metrics();
    assert_eq!((metrics.connections, metrics.reqs, metrics.all_events(), metrics.forwarded), (2, 2, 5, 2));
    assert_eq!((metrics.events_of(27001), metrics.events_of(27010), metrics.most_subscriptions), (2, 1, 2));
    assert_eq!(relay.seen().len(), 5);
}

#[tokio::test]
async fn event_matching_a_subscription_twice_is_sent_once() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let (one, two) = (key(), key());
    let mut reader = Raw::connect(relay.url()).await;
    reader.send(json!(["REQ", "s", {"#p": [one.to_hex(), two.to_hex()]}, {"#p": [one.to_hex()]}])).await;
    reader.next_of("EOSE").await;
    let event = EventBuilder::new(Kind::from_u16(27000), "")
        .tags([nostr::Tag::public_key(one), nostr::Tag::public_key(two)])
        .sign_with_keys(&Keys::generate())
        .unwrap();
    reader.publish(&event).await;
    assert_eq!(reader.next().await, json!(["EVENT", "s", as_value(&event)]));
    assert_eq!(reader.next().await[0], "OK");
    reader.silent().await;
}

#[tokio::test]
async fn only_events_that_are_not_ephemeral_are_stored() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let key = key();
    let author = Keys::generate();
    let profile = |content: &str, at: u64| {
        EventBuilder::new(Kind::Metadata, content)
            .custom_created_at(Timestamp::from_secs(at))
            .sign_with_keys(&author)
            .unwrap()
    };
    let mut client = Raw::connect(relay.url()).await;
    let gone = event_to(&key, 27000, "ephemeral");
    let kept = event_to(&key, 1, "kept");
    let (first, newer, older) = (profile("first", 100), profile("newer", 102), profile("older", 101));
    let mut answers = Vec::new();
    for event in [&gone, &kept, &kept, &first, &newer, &older] {
        client.publish(event).await;
        answers.push(client.next().await[3].as_str().unwrap().to_owned());
    }
    assert_eq!(answers[2], "duplicate: already have this event");
    assert_eq!(answers[5], "duplicate: have a newer event");
    client.send(json!(["REQ", "s", {"#p": [key.to_hex()]}, {"authors": [author.public_key().to_hex()]}])).await;
    assert_eq!(client.next().await, json!(["EVENT", "s", as_value(&kept)]));
    assert_eq!(client.next().await, json!(["EVENT", "s", as_value(&newer)]));
    assert_eq!(client.next().await, json!(["EOSE", "s"]));
}

#[tokio::test]
async fn subscription_ends_on_close_replacement_or_disconnect() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let (one, two) = (key(), key());
    let mut client = Raw::connect(relay.url()).await;
    client.subscribe("s", &one).await;
    client.subscribe("s", &two).await;
    client.publish(&event_to(&one, 27000, "")).await;
    assert_eq!(client.next().await[0], "OK");
    client.send(json!(["CLOSE", "s"])).await;
    client.publish(&event_to(&two, 27000, "")).await;
    assert_eq!(client.next().await[0], "OK");
    client.subscribe("t", &two).await;
    assert_eq!(relay.metrics().open_subscriptions, 1);
    drop(client);
    relay.wait_for(LONG, |c| c.open_subscriptions == 0 && c.open_connections == 0).await.unwrap();
}

#[tokio::test]
async fn forged_and_malformed_events_are_refused() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let key = key();
    let mut client = Raw::connect(relay.url()).await;
    client.subscribe("s", &key).await;
    let mut event = event_to(&key, 27001, "a");
    event.sig = event_to(&key, 27001, "a").sig;
    client.publish(&event).await;
    assert_eq!(client.next().await[2], false);
    let mut event = event_to(&key, 27001, "a");
    event.content = "b".to_owned();
    client.publish(&event).await;
    assert_eq!(client.next().await[2], false);
    client.send(json!(["HELLO"])).await;
    assert_eq!(client.next().await[0], "NOTICE");
    client.send(json!(["REQ", "x".repeat(65), {}])).await;
    assert_eq!(client.next().await[0], "CLOSED");
    let metrics = relay.metrics();
    assert_eq!((metrics.events_forged, metrics.events_refused, metrics.nonsense, metrics.forwarded), (2, 2, 1, 0));
}

#[tokio::test]
async fn inject_delivers_events_nobody_sent() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let key = key();
    let mut client = Raw::connect(relay.url()).await;
    client.subscribe("s", &key).await;
    let mut forged = event_by(&Keys::generate(), &key, 27001, "a");
    forged.content = "b".to_owned();
    relay.inject(forged.clone());
    assert_eq!(client.next().await, json!(["EVENT", "s", as_value(&forged)]));
}

#[tokio::test]
async fn stop_closes_connections_and_releases_the_port() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let mut client = Raw::connect(relay.url()).await;
    client.subscribe("s", &key()).await;
    relay.stop().await;
    client.closed().await;
    let again = QuirkyRelay::start_on(relay.port(), Quirks::default()).await.unwrap();
    Raw::connect(again.url()).await.subscribe("s", &key()).await;
}
