//! The network: streams in memory to relays that may be down, under the real sessions.

use std::fmt;
use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::DuplexStream;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use url::Url;
use usher_nostr_connection::{ByteStream, Dialer};

use crate::world::World;
use crate::world::instances::Seat;

/// The most bytes in transit in one direction.
const BUFFER: usize = 256 * 1024;

/// The network of one start of the service.
#[derive(Clone)]
pub struct Network {
    /// The world.
    pub world: Arc<World>,
    /// The relays' ends of the connections.
    pub tasks: TaskTracker,
    /// Where those run.
    pub relays: Handle,
    /// Whose network it is, of several instances.
    pub seat: Option<Seat>,
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Network")
    }
}

impl Network {
    async fn connect(&self, host: &str) -> io::Result<DuplexStream> {
        let way = self.world.lock().decisions.delay(1..600);
        tokio::time::sleep(way).await;
        let (ours, theirs) = tokio::io::duplex(BUFFER);
        let (out, sent) = mpsc::unbounded_channel();
        let broken = CancellationToken::new();
        let (relay, number) = {
            let mut state = self.world.lock();
            let (now, number) = (state.now(), state.number());
            let is_cut_off = state.is_cut_from_relays(self.seat);
            let is_there =
                |relay: &crate::world::relay::Relay| relay.host == host && relay.down_until <= now && !is_cut_off;
            let relay = state.relays.iter().position(is_there);
            let relay = relay.ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionRefused))?;
            if let Some(relay) = state.relays.get_mut(relay) {
                relay.connect(number, self.seat, out, broken.clone());
            }
            state.log(&format!("connected to {host}"));
            (relay, number)
        };
        let (world, seat) = (Arc::clone(&self.world), self.seat);
        let served = async move {
            tokio::select! {
                biased;
                () = broken.cancelled() => {}
                () = serve(&world, (relay, number), seat, theirs, sent) => {}
            }
            if let Some(relay) = world.lock().relays.get_mut(relay) {
                relay.connections.remove(&number);
            }
        };
        self.tasks.spawn_on(served, &self.relays);
        Ok(ours)
    }
}

/// A relay's end of a connection.
async fn serve(
    world: &World,
    (relay, number): (usize, u64),
    seat: Option<Seat>,
    stream: DuplexStream,
    mut sent: mpsc::UnboundedReceiver<String>,
) {
    let Ok(mut socket) = accept_async(stream).await else { return };
    loop {
        let message = tokio::select! {
            biased;
            text = sent.recv() => match text {
                Some(text) => match socket.send(Message::text(text)).await {
                    Ok(()) => continue,
                    Err(_) => return,
                },
                None => return,
            },
            message = socket.next() => message,
        };
        match message {
            Some(Ok(Message::Text(text))) => {
                let mut state = world.lock();
                let published = state.relays.get_mut(relay).and_then(|relay| relay.hear(number, &text));
                if let Some(event) = published {
                    state.arrives(seat, &event);
                    state.published(relay, event);
                }
                drop(state);
                world.queued.notify_one();
            }
            Some(Ok(Message::Close(_)) | Err(_)) | None => return,
            Some(Ok(_)) => {}
        }
    }
}

#[async_trait]
impl Dialer for Network {
    async fn dial(&self, url: &Url) -> io::Result<Box<dyn ByteStream>> {
        Ok(Box::new(self.connect(url.host_str().unwrap_or_default()).await?))
    }
}
