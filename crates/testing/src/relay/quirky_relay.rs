//! A small relay that can misbehave.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use nostr::Event;
use tokio::net::TcpListener;

use super::connection;
use super::metrics::RelayMetrics;
use super::outbox::Published;
use super::quirks::Quirks;
use super::shared_state::SharedState;

/// A small Nostr relay on loopback whose faults can be set when it starts and while it runs, and which counts what it
/// receives.
///
/// Without faults it is a fast relay that loses nothing: NIP-01 subscriptions, ephemeral events forwarded and not
/// kept, other kinds kept in memory, NIP-42 when asked to.
#[derive(Debug)]
pub struct QuirkyRelay {
    state: Arc<SharedState>,
    address: SocketAddr,
}

impl QuirkyRelay {
    /// Starts a relay on a free port.
    ///
    /// # Errors
    /// When loopback cannot be listened on.
    pub async fn start(quirks: Quirks) -> io::Result<Self> {
        Self::start_on(0, quirks).await
    }

    /// Starts a relay on `port` of 127.0.0.1; 0 takes a free one. The port of a stopped relay can be taken again.
    ///
    /// # Errors
    /// When the port cannot be listened on.
    pub async fn start_on(port: u16, quirks: Quirks) -> io::Result<Self> {
        let port = if port == 0 { usher_loopback_port::free()? } else { port };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(SharedState::new(format!("ws://{address}"), quirks));
        let stop = || state.stop.clone();
        state.tasks.spawn(stop().run_until_cancelled_owned(accept(listener, Arc::clone(&state))));
        state.tasks.spawn(stop().run_until_cancelled_owned(connection::flood(Arc::clone(&state))));
        Ok(Self { state, address })
    }

    /// Its address, `ws://127.0.0.1:<port>`.
    pub fn url(&self) -> &str {
        &self.state.url
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Changes its quirks from now on, for open connections too.
    pub fn set(&self, change: impl FnOnce(&mut Quirks)) {
        self.state.quirks.send_modify(|quirks| change(Arc::make_mut(quirks)));
    }

    /// Its metrics so far.
    pub fn metrics(&self) -> RelayMetrics {
        self.state.metrics.borrow().clone()
    }

    /// Waits until its metrics satisfy `enough`.
    ///
    /// # Errors
    /// The metrics when `deadline` (from now) has passed.
    pub async fn wait_for(
        &self,
        deadline: Duration,
        enough: impl FnMut(&RelayMetrics) -> bool,
    ) -> Result<RelayMetrics, RelayMetrics> {
        let mut metrics = self.state.metrics.subscribe();
        match tokio::time::timeout(deadline, metrics.wait_for(enough)).await {
            Ok(Ok(metrics)) => Ok(metrics.clone()),
            _ => Err(self.metrics()),
        }
    }

    /// The last 4,096 events received, refused and forged ones included, oldest first: what an eavesdropper sees.
    pub fn seen(&self) -> Vec<Event> {
        self.state.seen()
    }

    /// Forwards an event as if a client had sent it, without any check: a relay can send anything.
    pub fn inject(&self, event: Event) {
        self.state.forward(&Published::new(event), &self.state.quirks());
    }

    /// Closes every connection that is open; new ones are accepted as before.
    pub fn hang_up(&self) {
        self.state.hang_up.notify_waiters();
    }

    /// Closes the port and every connection; all stored events are lost. Dropping it does the same without waiting.
    pub async fn stop(&self) {
        self.state.stop.cancel();
        self.state.tasks.close();
        self.state.tasks.wait().await;
    }
}

impl Drop for QuirkyRelay {
    fn drop(&mut self) {
        self.state.stop.cancel();
    }
}

async fn accept(listener: TcpListener, state: Arc<SharedState>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors, most likely: let some connections end.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        state.tasks.spawn(state.stop.clone().run_until_cancelled_owned(connection::serve(stream, Arc::clone(&state))));
    }
}
