//! A relay of our own that can misbehave.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use nostr::Event;
use tokio::net::TcpListener;

use super::connection;
use super::counts::Counts;
use super::delivery::Published;
use super::hub::Hub;
use super::quirks::Quirks;

/// A small Nostr relay on loopback whose faults can be set when it starts and while it runs, and which counts what it
/// saw.
///
/// Without faults it is a fast relay that loses nothing: NIP-01 subscriptions, ephemeral events forwarded and not
/// kept, other kinds kept in memory, NIP-42 when asked to.
#[derive(Debug)]
pub struct QuirkyRelay {
    hub: Arc<Hub>,
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
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let hub = Arc::new(Hub::new(format!("ws://{address}"), quirks));
        let stop = || hub.stop.clone();
        hub.tasks.spawn(stop().run_until_cancelled_owned(accept(listener, Arc::clone(&hub))));
        hub.tasks.spawn(stop().run_until_cancelled_owned(connection::flood(Arc::clone(&hub))));
        Ok(Self { hub, address })
    }

    /// Its address, `ws://127.0.0.1:<port>`.
    pub fn url(&self) -> &str {
        &self.hub.url
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// How it behaves now.
    pub fn quirks(&self) -> Quirks {
        Quirks::clone(&self.hub.quirks())
    }

    /// Changes how it behaves from now on, for open connections too.
    pub fn set(&self, change: impl FnOnce(&mut Quirks)) {
        self.hub.quirks.send_modify(|quirks| change(Arc::make_mut(quirks)));
    }

    /// What it saw so far.
    pub fn counts(&self) -> Counts {
        self.hub.counts.borrow().clone()
    }

    /// Waits until what it saw satisfies `enough`.
    ///
    /// # Errors
    /// What it had seen when `deadline` (from now) had passed.
    pub async fn wait_for(&self, deadline: Duration, enough: impl FnMut(&Counts) -> bool) -> Result<Counts, Counts> {
        let mut counts = self.hub.counts.subscribe();
        match tokio::time::timeout(deadline, counts.wait_for(enough)).await {
            Ok(Ok(counts)) => Ok(counts.clone()),
            _ => Err(self.counts()),
        }
    }

    /// The last 4,096 events received, the refused and forged ones too, oldest first: an eavesdropper's catch.
    pub fn seen(&self) -> Vec<Event> {
        self.hub.seen()
    }

    /// Forwards an event as if a client had sent it, without any check: a relay can make up what it likes.
    pub fn inject(&self, event: Event) {
        self.hub.forward(&Published::new(event), &self.hub.quirks());
    }

    /// Closes every connection that is open; new ones are accepted as before.
    pub fn hang_up(&self) {
        self.hub.hang_up.notify_waiters();
    }

    /// Closes the port and every connection; all it kept is gone. Dropping it does the same without waiting.
    pub async fn stop(&self) {
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

async fn accept(listener: TcpListener, hub: Arc<Hub>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors, most likely: let some connections end.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        hub.tasks.spawn(hub.stop.clone().run_until_cancelled_owned(connection::serve(stream, Arc::clone(&hub))));
    }
}
