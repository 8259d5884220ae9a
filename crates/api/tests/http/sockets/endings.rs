//! How WebSockets end, and that lost clients are detected.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::client::Client;
use crate::app::{TestApp, key, within};

#[tokio::test]
async fn client_that_does_not_answer_pings_is_disconnected() {
    let app = TestApp::with(|of| of.limits.ping_interval = Duration::from_millis(200)).await;
    let (stream, token) = app.handshake(json!({ "static_token": "poster" })).await;
    let mut living = Client::open(&app).await;
    living.subscribe(&stream, 0).await;
    let mut dead = Client::open(&app).await;
    // The client library answers pings while the client reads.
    for _ in 0..8 {
        let said = within(living.stream.next()).await.unwrap().unwrap();
        assert!(matches!(said, Message::Ping(_)), "{said:?}");
    }
    // The other client has not read in all that time, and receives one ping and the close frame.
    assert_eq!(dead.end().await, 4009);
    app.scan(&token, key(1)).await;
    assert_eq!(living.event(&stream).await.0, 0);
}

#[tokio::test]
async fn sockets_count_as_connections_until_they_end() {
    let app = TestApp::with(|of| of.serve.max_connections = 2).await;
    let mut one = Client::open(&app).await;
    let two = Client::open(&app).await;
    assert_eq!(Client::try_open(app.address, None).await.err(), Some(503));
    one.done("ping", json!({})).await;
    // Without a close frame.
    drop(two);
    within(async { while Client::try_open(app.address, None).await.is_err() {} }).await;
}
