//! The Chrome DevTools Protocol: commands, replies and events over a WebSocket.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// Longer than anything takes, on any machine.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(180);

/// A connection to a browser, or to one of its pages.
pub(crate) struct Connection {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    next_id: u64,
    /// What was reported so far.
    pub(crate) events: Vec<Value>,
}

impl Connection {
    pub(crate) async fn open(url: &str) -> Self {
        let connected = within(tokio_tungstenite::connect_async(url)).await;
        let socket = connected.unwrap_or_else(|error| panic!("no browser at {url}: {error}")).0;
        Self { socket, next_id: 0, events: Vec::new() }
    }

    pub(crate) async fn command(&mut self, method: &str, parameters: Value) -> Value {
        self.try_command(method, parameters).await.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// The result of a command, or the browser's error.
    pub(crate) async fn try_command(&mut self, method: &str, parameters: Value) -> Result<Value, String> {
        self.next_id += 1;
        let id = self.next_id;
        let command = json!({ "id": id, "method": method, "params": parameters });
        self.socket.send(Message::text(command.to_string())).await.unwrap();
        loop {
            let mut message = self.next().await;
            if message["id"] == id {
                return if message["error"].is_null() {
                    Ok(message["result"].take())
                } else {
                    Err(message["error"].to_string())
                };
            }
            self.events.push(message);
        }
    }

    pub(crate) async fn next_event(&mut self) {
        let event = self.next().await;
        self.events.push(event);
    }

    async fn next(&mut self) -> Value {
        loop {
            let message = within(self.socket.next()).await.expect("the browser has ended").unwrap();
            if let Message::Text(text) = message {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }
}

pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(TIMEOUT, future).await.expect("the browser takes too long")
}
