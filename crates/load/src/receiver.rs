//! The app's webhook: takes posts, and notes when each came.

use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::first_events::FirstEvents;

/// A receiver; it ends with this value.
pub(crate) struct Receiver {
    address: SocketAddr,
    world: World,
    _tasks: JoinSet<()>,
}

#[derive(Clone)]
struct World {
    first_events: FirstEvents,
    hang_on: Arc<Mutex<HashSet<String>>>,
}

impl Receiver {
    /// Listens on loopback.
    pub(crate) async fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let world = World { first_events: FirstEvents::default(), hang_on: Arc::default() };
        let mut tasks = JoinSet::new();
        let accepting = world.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let world = accepting.clone();
                connections.spawn(async move {
                    // An error is the service's end.
                    let _ = world.converse(stream).await;
                });
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self { address, world, _tasks: tasks })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
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
    async fn converse(self, mut stream: TcpStream) -> Result<()> {
        stream.set_nodelay(true)?;
        let mut received = Vec::with_capacity(4096);
        loop {
            if let Some((id, end)) = request(&received)? {
                let at = Instant::now();
                received.drain(..end);
                if self.hang_on.lock().contains(&id) {
                    std::future::pending::<()>().await;
                }
                self.first_events.record(id, at);
                stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await?;
            } else if stream.read_buf(&mut received).await? == 0 {
                return Ok(());
            }
        }
    }
}

/// The stream that a post is about, and where the request ends; `None` when not all of it is there.
fn request(received: &[u8]) -> Result<Option<(String, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut head = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(body) = head.parse(received).context("not an HTTP request")? else {
        return Ok(None);
    };
    let header = |name: &str| -> Result<&str> {
        let found = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        Ok(std::str::from_utf8(found.with_context(|| format!("a post without {name}"))?.value)?)
    };
    let end = body + header("content-length")?.parse::<usize>()?;
    let id = header("x-service-event-id")?;
    let stream = id.rsplit_once(':').map_or(id, |(stream, _)| stream).to_owned();
    Ok((received.len() >= end).then_some((stream, end)))
}
