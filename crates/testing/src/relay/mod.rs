//! A Nostr relay that can misbehave.

mod client_session;
mod connection;
mod hub;
mod junk;
mod published;
mod quirks;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use nostr::Event;

use self::hub::Hub;
pub use self::junk::{Junk, JunkEvents};
use self::published::Published;
pub use self::quirks::{Flood, LieOk, Quirks, RelayMetrics};
use crate::TcpServer;

/// A small Nostr relay on loopback whose faults can be set when it starts and while it runs, and which counts what it
/// receives.
///
/// Without faults it is a fast relay that loses nothing: NIP-01 subscriptions, ephemeral events forwarded and not
/// kept, other kinds kept in memory, NIP-42 when asked to.
#[derive(Debug)]
pub struct QuirkyRelay {
    hub: Arc<Hub>,
    server: TcpServer,
}

impl QuirkyRelay {
    pub async fn start(quirks: Quirks) -> io::Result<Self> {
        Self::start_on(0, quirks).await
    }

    /// Starts a relay on `port` of 127.0.0.1; 0 takes a free one. The port of a stopped relay can be taken again.
    pub async fn start_on(port: u16, quirks: Quirks) -> io::Result<Self> {
        let port = if port == 0 { usher_loopback_port::free()? } else { port };
        let hub = Arc::new(Hub::new(format!("ws://127.0.0.1:{port}"), quirks));
        hub.tasks.spawn(hub.stop.clone().run_until_cancelled_owned(connection::flood(Arc::clone(&hub))));
        let served = Arc::clone(&hub);
        let serve = move |stream| connection::serve(stream, Arc::clone(&served));
        Ok(Self { server: TcpServer::start_at(("127.0.0.1", port), serve).await, hub })
    }

    /// Its address, `ws://127.0.0.1:<port>`.
    pub fn url(&self) -> &str {
        &self.hub.url
    }

    pub fn port(&self) -> u16 {
        self.server.port()
    }

    /// Changes its quirks from now on, for open connections too.
    pub fn set(&self, change: impl FnOnce(&mut Quirks)) {
        self.hub.quirks.send_modify(|quirks| change(Arc::make_mut(quirks)));
    }

    pub fn metrics(&self) -> RelayMetrics {
        self.hub.metrics.borrow().clone()
    }

    /// Waits until its metrics satisfy `enough`.
    pub async fn wait_for(
        &self,
        deadline: Duration,
        enough: impl FnMut(&RelayMetrics) -> bool,
    ) -> Result<RelayMetrics, RelayMetrics> {
        let mut metrics = self.hub.metrics.subscribe();
        match tokio::time::timeout(deadline, metrics.wait_for(enough)).await {
            Ok(Ok(metrics)) => Ok(metrics.clone()),
            _ => Err(self.metrics()),
        }
    }

    /// The last 4,096 events received, refused and forged ones included, oldest first: what an eavesdropper sees.
    pub fn seen(&self) -> Vec<Event> {
        self.hub.seen()
    }

    /// Forwards an event as if a client had sent it, without any check: a relay can send anything.
    pub fn inject(&self, event: Event) {
        self.hub.forward(&Published::new(event), &self.hub.quirks());
    }

    /// Closes every connection that is open; new ones are accepted as before.
    pub fn hang_up(&self) {
        self.hub.hang_up.notify_waiters();
    }

    /// Closes the port and every connection; all stored events are lost. Dropping it does the same without waiting.
    pub async fn stop(&self) {
        self.server.stop().await;
        self.hub.stop.cancel();
        self.hub.tasks.close();
        self.hub.tasks.wait().await;
    }
}

impl Drop for QuirkyRelay {
    fn drop(&mut self) {
        self.hub.stop.cancel();
    }
}
