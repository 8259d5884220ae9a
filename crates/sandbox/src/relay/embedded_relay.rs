use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nostr_relay_builder::builder::{PolicyResult, RateLimit, RelayBuilder, WritePolicy};
use nostr_relay_builder::local::LocalRelay;
use nostr_relay_builder::prelude::{BoxedFuture, Event};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::database::Database;

/// A relay in process, usually on loopback: the `nostr-relay-builder` relay, with limits that nobody reaches. The
/// sockets are ours, so that small messages leave at once (`TCP_NODELAY`) and [`stop`](Self::stop) closes every
/// connection. A subscriber that lags more than 1,024 events behind misses some.
#[derive(Debug)]
pub struct EmbeddedRelay {
    address: SocketAddr,
    url: String,
    received: EventCount,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// How many events have arrived. A clone is another handle of the same count.
#[derive(Clone, Debug, Default)]
pub struct EventCount(Arc<AtomicU64>);

impl EventCount {
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl WritePolicy for EventCount {
    fn admit_event<'a>(&'a self, _: &'a Event, _: &'a SocketAddr) -> BoxedFuture<'a, PolicyResult> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { PolicyResult::Accept })
    }
}

impl EmbeddedRelay {
    /// Starts a relay on a free port of 127.0.0.1.
    pub async fn start() -> io::Result<Self> {
        Self::start_on(0).await
    }

    /// Starts a relay on `port` of 127.0.0.1; 0 takes a free one.
    pub async fn start_on(port: u16) -> io::Result<Self> {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await
    }

    /// Starts a relay at this address; port 0 takes a free one. One at all addresses is named by 127.0.0.1.
    ///
    /// # Errors
    /// When the address cannot be listened on, for example as its port is taken.
    pub async fn start_at(address: SocketAddr) -> io::Result<Self> {
        let listener = match address.port() {
            0 => {
                let listener = usher_loopback_port::listener(address.ip())?;
                listener.set_nonblocking(true)?;
                TcpListener::from_std(listener)?
            }
            _ => TcpListener::bind(address).await?,
        };
        let address = listener.local_addr()?;
        // Default: 60 events per minute and 500 subscriptions per connection, which a test passes in a second.
        let limits = RateLimit { max_reqs: 100_000, notes_per_minute: 1_000_000_000 };
        let received = EventCount::default();
        let relay = LocalRelay::new(
            RelayBuilder::default()
                .database(Database::new())
                .rate_limit(limits)
                .default_filter_limit(10_000)
                .write_policy(received.clone()),
        );
        let tasks = TaskTracker::new();
        let stop = CancellationToken::new();
        tasks.spawn(stop.clone().run_until_cancelled_owned(accept(listener, relay, tasks.clone(), stop.clone())));
        let host = if address.ip().is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { address.ip() };
        let url = format!("ws://{}", SocketAddr::new(host, address.port()));
        Ok(Self { address, url, received, tasks, stop })
    }

    /// Its address, such as `ws://127.0.0.1:<port>`.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn received(&self) -> EventCount {
        self.received.clone()
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Closes the port and every connection; all stored events are lost. Dropping it does the same without waiting.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for EmbeddedRelay {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn accept(listener: TcpListener, relay: LocalRelay, tasks: TaskTracker, stop: CancellationToken) {
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // Out of file descriptors, most likely: let some connections end.
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            continue;
        };
        tasks.spawn(stop.clone().run_until_cancelled_owned(serve(stream, peer, relay.clone())));
    }
}

async fn serve(stream: TcpStream, peer: SocketAddr, relay: LocalRelay) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    // The relay's own accept keeps Nagle's algorithm on. Nothing is lost: a client sends no frame before the answer.
    let Ok(upgraded) = tokio_tungstenite::accept_async(stream).await else { return };
    if let Err(error) = relay.take_connection(upgraded.into_inner(), peer).await {
        tracing::debug!(%error, "a connection to the embedded relay ended");
    }
}
