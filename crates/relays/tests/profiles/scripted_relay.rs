//! A relay that sends what the test scripts.

use std::sync::Arc;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use usher_test_tools::TcpServer;

/// The script for a request for events of a kind, without the envelope.
type Script = Arc<dyn Fn(&str) -> Vec<String> + Send + Sync>;

/// A relay that responds to every request with scripted messages, given the subscription's id.
pub(crate) struct Liar {
    pub(crate) url: String,
    _server: TcpServer,
}

impl Liar {
    pub(crate) async fn start(script: impl Fn(&str) -> Vec<String> + Send + Sync + 'static) -> Self {
        let script: Script = Arc::new(script);
        let server = TcpServer::start(move |stream| answer(stream, Arc::clone(&script))).await;
        Self { url: format!("ws://{}", server.address()), _server: server }
    }
}

async fn answer(stream: TcpStream, script: Script) {
    let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else { return };
    while let Some(Ok(message)) = socket.next().await {
        let Ok(frame) = serde_json::from_str::<Value>(message.to_text().unwrap_or_default()) else { continue };
        let (Some("REQ"), Some(id)) = (frame[0].as_str(), frame[1].as_str()) else { continue };
        for said in script(id) {
            if socket.send(Message::text(said)).await.is_err() {
                return;
            }
        }
    }
}

pub(crate) fn delivery(id: &str, event: &str) -> String {
    format!("[\"EVENT\",\"{id}\",{event}]")
}

pub(crate) fn end(id: &str) -> String {
    format!("[\"EOSE\",\"{id}\"]")
}
