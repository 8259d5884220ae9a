//! A scripted webhook endpoint at a real socket.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use url::Url;
use usher_engine::event::{Event, EventType};
use usher_engine::ports::{Posted, WebhookSender as _};
use usher_engine::{StreamId, UnixMillis};
use usher_testing::TcpServer;
pub(crate) use usher_testing::{Request, read_request};
use usher_webhooks::{HttpWebhookSender, WebhookOptions};

/// Longer than anything here takes, also on a loaded machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// When the tests' attempts happen: Sun, 06 Nov 1994 08:49:37 GMT.
pub(crate) const NOW: UnixMillis = UnixMillis::from_secs(784_111_777);

/// An endpoint for as long as it lives.
pub(crate) struct Server {
    pub(crate) url: Url,
    server: TcpServer,
}

impl Server {
    /// Serves each connection by `behave`.
    pub(crate) async fn start<F, Fut>(behave: F) -> Self
    where
        F: Fn(TcpStream) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let server = TcpServer::start(behave).await;
        let url = Url::parse(&format!("http://{}/hook", server.address())).unwrap();
        Self { url, server }
    }

    /// Answers every request with these bytes, on the same connection, and passes the requests on.
    pub(crate) async fn answering(answer: impl Into<Vec<u8>>) -> (Self, mpsc::UnboundedReceiver<Request>) {
        let answer: Arc<[u8]> = answer.into().into();
        let (requests, received) = mpsc::unbounded_channel();
        let server = Self::start(move |mut stream| {
            let (answer, requests) = (Arc::clone(&answer), requests.clone());
            async move {
                while let Some(request) = read_request(&mut stream).await {
                    let _ = requests.send(request);
                    if stream.write_all(&answer).await.is_err() {
                        return;
                    }
                }
            }
        });
        (server.await, received)
    }

    /// Reads one request, writes `answer` and closes.
    pub(crate) async fn closing_after(answer: &'static [u8]) -> Self {
        Self::start(move |mut stream| async move {
            read_request(&mut stream).await;
            let _ = stream.write_all(answer).await;
            let _ = stream.shutdown().await;
        })
        .await
    }

    /// Connections made so far.
    pub(crate) fn connections(&self) -> usize {
        self.server.connections()
    }
}

/// An answer with this status line and these headers, and no body.
pub(crate) fn empty(status: &str, headers: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: 0\r\n\r\n").into_bytes()
}

pub(crate) fn stream_id() -> StreamId {
    StreamId::from_parts(1_700_000_000_000, [0xab; 10])
}

pub(crate) fn event(index: u64) -> Event {
    let data = r#"{"status": "paid", "reason": "żółw 🐢 \"quoted\"", "preimage": "00"}"#;
    Event { index, event_type: EventType::StatusUpdate, timestamp: 1_700_000_000, data: data.into() }
}

pub(crate) fn receiver(url: &Url, timeout: Duration) -> HttpWebhookSender {
    signing_receiver(url, timeout, &[])
}

pub(crate) fn signing_receiver(url: &Url, timeout: Duration, secrets: &[&str]) -> HttpWebhookSender {
    let secrets = secrets.iter().map(|secret| SecretString::from(*secret)).collect();
    HttpWebhookSender::new(WebhookOptions { secrets, timeout, ..WebhookOptions::new(url.clone()) }).unwrap()
}

/// That so many posts over one sender are accepted with this status.
pub(crate) async fn accepts(url: &Url, posts: u64, http_status: u16) {
    let receiver = receiver(url, LONG);
    for index in 0..posts {
        assert_eq!(receiver.post(stream_id(), &event(index), NOW).await, Posted::Accepted { http_status });
    }
}

pub(crate) async fn post(url: &Url, timeout: Duration) -> Posted {
    receiver(url, timeout).post(stream_id(), &event(0), NOW).await
}

/// The reason of a failure without a response.
#[track_caller]
pub(crate) fn no_answer(posted: Posted) -> String {
    match posted {
        Posted::Refused { http_status: None, reason, retry_after: None } => reason,
        other => panic!("{other:?}"),
    }
}
