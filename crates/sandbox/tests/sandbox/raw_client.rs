//! A relay client that shows the raw messages.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use nostr::{Event, EventBuilder, JsonUtil, Keys, Kind, PublicKey, RelayUrl, Tag, Timestamp};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// Longer than anything takes, on any machine.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// Long enough to see that nothing comes.
pub(crate) const QUIET: Duration = Duration::from_millis(300);

pub(crate) struct Raw {
    pub(crate) socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Raw {
    pub(crate) async fn connect(url: &str) -> Self {
        let connected = tokio::time::timeout(LONG, tokio_tungstenite::connect_async(url)).await;
        Self { socket: connected.expect("a handshake in time").expect("a handshake").0 }
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.socket.send(Message::text(message.to_string())).await.expect("sent");
    }

    pub(crate) async fn publish(&mut self, event: &Event) {
        let event: Value = serde_json::from_str(&event.as_json()).unwrap();
        self.send(json!(["EVENT", event])).await;
    }

    /// The next frame; `None` when the relay closed the connection.
    pub(crate) async fn frame(&mut self) -> Option<Result<Message, Error>> {
        tokio::time::timeout(LONG, self.socket.next()).await.expect("a frame in time")
    }

    /// The next message.
    pub(crate) async fn next(&mut self) -> Value {
        loop {
            match self.frame().await.expect("an open connection").expect("a frame") {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The next message of this type, others are skipped.
    pub(crate) async fn next_of(&mut self, kind: &str) -> Value {
        loop {
            let message = self.next().await;
            if message[0] == kind {
                return message;
            }
        }
    }

    /// Waits until the relay ends the connection.
    pub(crate) async fn closed(&mut self) {
        while let Some(Ok(_)) = self.frame().await {}
    }

    /// Asserts that nothing comes for a while.
    pub(crate) async fn silent(&mut self) {
        if let Ok(frame) = tokio::time::timeout(QUIET, self.socket.next()).await {
            panic!("silence expected: {frame:?}");
        }
    }

    /// Subscribes to everything for `key` and waits for the end of the stored events.
    pub(crate) async fn subscribe(&mut self, id: &str, key: &PublicKey) {
        self.send(json!(["REQ", id, {"#p": [key.to_hex()]}])).await;
        assert_eq!(self.next().await, json!(["EOSE", id]));
    }
}

pub(crate) fn event_to(key: &PublicKey, kind: u16, content: &str) -> Event {
    event_by(&Keys::generate(), key, kind, content)
}

pub(crate) fn event_by(author: &Keys, key: &PublicKey, kind: u16, content: &str) -> Event {
    EventBuilder::new(Kind::from_u16(kind), content).tag(Tag::public_key(*key)).sign_with_keys(author).unwrap()
}

pub(crate) fn auth_event(url: &str, challenge: &str, at: Timestamp) -> Event {
    EventBuilder::auth(challenge, RelayUrl::parse(url).unwrap())
        .custom_created_at(at)
        .sign_with_keys(&Keys::generate())
        .unwrap()
}

pub(crate) fn as_value(event: &Event) -> Value {
    serde_json::from_str(&event.as_json()).unwrap()
}

pub(crate) fn key() -> PublicKey {
    Keys::generate().public_key()
}
