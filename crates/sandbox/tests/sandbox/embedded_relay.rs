//! The embedded relay.

use serde_json::json;
use usher_sandbox::relay::EmbeddedRelay;

use crate::raw_client::{Raw, as_value, event_by, event_to, key};

#[tokio::test]
async fn relay_forwards_ephemeral_events_and_sends_ok() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let key = key();
    let mut reader = Raw::connect(relay.url()).await;
    reader.subscribe("s", &key).await;
    let mut writer = Raw::connect(relay.url()).await;
    // The crate's default limit would end this at 60 events.
    for n in 0..200 {
        let event = event_to(&key, 27001, &n.to_string());
        writer.publish(&event).await;
        assert_eq!(writer.next().await, json!(["OK", event.id.to_hex(), true, ""]));
        assert_eq!(reader.next().await, json!(["EVENT", "s", as_value(&event)]));
    }
}

#[tokio::test]
async fn stop_closes_connections_and_releases_the_port() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut client = Raw::connect(relay.url()).await;
    client.subscribe("s", &key()).await;
    relay.stop().await;
    client.closed().await;
    let again = EmbeddedRelay::start_on(relay.port()).await.unwrap();
    assert_eq!(again.url(), relay.url());
    Raw::connect(again.url()).await.subscribe("s", &key()).await;
}

#[tokio::test]
async fn occupied_port_is_an_error() {
    let relay = EmbeddedRelay::start().await.unwrap();
    EmbeddedRelay::start_on(relay.port()).await.unwrap_err();
}

#[tokio::test]
async fn relay_forwards_every_subkey_proof() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let key = key();
    let author = nostr::Keys::generate();
    let mut client = Raw::connect(relay.url()).await;
    client.subscribe("s", &key).await;
    for n in 0..3 {
        let event = event_by(&author, &key, 30_000, &n.to_string());
        client.publish(&event).await;
        assert_eq!(client.next_of("EVENT").await[2], as_value(&event));
    }
}
