//! A relay that sends what the test scripts.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{SinkExt as _, StreamExt as _};
use nostr::{Event, JsonUtil as _};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::task::AbortOnDropHandle;

/// The script for a request for events of a kind, without the envelope.
type Script = Arc<dyn Fn(&str) -> Vec<String> + Send + Sync>;

/// A relay that responds to every request with scripted messages, given the subscription's id.
pub(crate) struct Liar {
    pub(crate) url: String,
    pub(crate) asked: Arc<AtomicUsize>,
    _task: AbortOnDropHandle<()>,
}

impl Liar {
    pub(crate) async fn start(script: impl Fn(&str) -> Vec<String> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        let (asked, script): (_, Script) = (Arc::<AtomicUsize>::default(), Arc::new(script));
        let counting = Arc::clone(&asked);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, asked) = (Arc::clone(&script), Arc::clone(&counting));
                tokio::spawn(async move {
                    let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else { return };
                    while let Some(Ok(message)) = socket.next().await {
                        let Ok(frame) = serde_json::from_str::<Value>(message.to_text().unwrap_or_default()) else {
                            continue;
                        };
                        let (Some("REQ"), Some(id)) = (frame[0].as_str(), frame[1].as_str()) else { continue };
                        if id != "usher" {
                            asked.fetch_add(1, Ordering::SeqCst);
                        }
                        for said in script(id) {
                            if socket.send(Message::text(said)).await.is_err() {
                                return;
                            }
                        }
                    }
                });
            }
        });
        Self { url, asked, _task: AbortOnDropHandle::new(task) }
    }

    /// A relay that sends these events, whatever is requested.
    pub(crate) async fn with(events: Vec<Event>) -> Self {
        Self::start(move |id| {
            let frames = events.iter().map(|event| delivery(id, &event.as_json()));
            frames.chain([end(id)]).collect()
        })
        .await
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

pub(crate) fn delivery(id: &str, event: &str) -> String {
    format!("[\"EVENT\",\"{id}\",{event}]")
}

pub(crate) fn end(id: &str) -> String {
    format!("[\"EOSE\",\"{id}\"]")
}
