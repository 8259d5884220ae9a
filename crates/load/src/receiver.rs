//! The app's webhook, which takes posts, and when the first event of each stream came there or elsewhere.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use parking_lot::Mutex;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use usher_testing::{TcpServer, read_request};

/// When the first event of each stream came.
#[derive(Clone, Default)]
pub(crate) struct FirstEvents(Arc<Mutex<HashMap<String, Instant>>>);

impl FirstEvents {
    pub(crate) fn record(&self, stream: String, at: Instant) {
        self.0.lock().entry(stream).or_insert(at);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }

    pub(crate) fn of(&self, stream: &str) -> Option<Instant> {
        self.0.lock().get(stream).copied()
    }

    /// Waits until those of this many streams have come.
    pub(crate) async fn wait_for(&self, count: usize, patience: Duration) -> Result<()> {
        let end = Instant::now() + patience;
        while self.len() < count {
            if Instant::now() > end {
                bail!("{} of {count} events came in {patience:?}", self.len());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }
}

/// A receiver; it ends with this value.
pub(crate) struct Receiver {
    server: TcpServer,
    world: World,
}

#[derive(Clone, Default)]
struct World {
    first_events: FirstEvents,
    hang_on: Arc<Mutex<HashSet<String>>>,
}

impl Receiver {
    /// Listens on loopback.
    pub(crate) async fn start() -> Self {
        let world = World::default();
        let accepting = world.clone();
        Self { server: TcpServer::start(move |stream| accepting.clone().converse(stream)).await, world }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.server.address())
    }

    /// What has come.
    pub(crate) fn first_events(&self) -> &FirstEvents {
        &self.world.first_events
    }

    /// Posts of these streams are never answered.
    pub(crate) fn hang_on(&self, streams: impl Iterator<Item = String>) {
        self.world.hang_on.lock().extend(streams);
    }
}

impl World {
    /// Until the service ends the connection.
    async fn converse(self, mut stream: TcpStream) {
        // An error shows when the connection is read.
        let _ = stream.set_nodelay(true);
        while let Some(request) = read_request(&mut stream).await {
            let at = Instant::now();
            let id = request.headers.get("x-service-event-id").map_or("", String::as_str);
            let id = id.rsplit_once(':').map_or(id, |(id, _)| id).to_owned();
            if self.hang_on.lock().contains(&id) {
                std::future::pending::<()>().await;
            }
            self.first_events.record(id, at);
            if stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.is_err() {
                return;
            }
        }
    }
}
