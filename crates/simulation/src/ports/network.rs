//! The network: streams in memory to relays that may be down, under the real sessions; the app's webhook; and an observer of
//! the messages that the real messenger sends.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::DuplexStream;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;
use url::Url;
use usher_engine::event::Event;
use usher_engine::ports::{Messenger, OutgoingMessage, Posted, WebhookSender};
use usher_engine::{StreamId, UnixMillis};
use usher_nostr_connection::{ByteStream, Dialer};
use usher_protocol::EventId;
use usher_relays::RelayPool;

use crate::world::World;

/// The most bytes in transit in one direction.
const BUFFER: usize = 256 * 1024;

/// How long a response of the webhook is awaited.
const TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Clone)]
pub(crate) struct Network {
    pub(crate) world: Arc<World>,
}

usher_protocol::debug_shows!(Network {});

impl Network {
    async fn connect(&self, host: &str) -> io::Result<DuplexStream> {
        let way = self.world.lock().decisions.delay(1..600);
        sleep(way).await;
        let (ours, theirs) = tokio::io::duplex(BUFFER);
        let (out, sent) = mpsc::unbounded_channel();
        let broken = CancellationToken::new();
        let (relay, number) = {
            let mut state = self.world.lock();
            let (now, number) = (state.now(), state.number());
            let relay = state.relays.iter().position(|relay| relay.host == host && relay.down_until <= now);
            let relay = relay.ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionRefused))?;
            if let Some(relay) = state.relays.get_mut(relay) {
                relay.connect(number, out, broken.clone());
            }
            state.log(&format!("connected to {host}"));
            (relay, number)
        };
        let world = Arc::clone(&self.world);
        let served = async move {
            tokio::select! {
                biased;
                () = broken.cancelled() => {}
                () = serve(&world, (relay, number), theirs, sent) => {}
            }
            if let Some(relay) = world.lock().relays.get_mut(relay) {
                relay.connections.remove(&number);
            }
        };
        drop(Handle::current().spawn(served));
        Ok(ours)
    }
}

/// A relay's end of a connection.
async fn serve(
    world: &World,
    (relay, number): (usize, u64),
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

#[async_trait]
impl WebhookSender for Network {
    async fn post(&self, stream: StreamId, event: &Event, _now: UnixMillis) -> Posted {
        let way = self.world.lock().decisions.delay(1..400);
        sleep(way).await;
        self.world.instant("before a post arrives").await;
        let posted = self.world.lock().posted(stream, event.index);
        self.world.queued.notify_one();
        self.world.instant("after a post arrived, before its answer").await;
        match posted {
            Some(posted) => {
                sleep(way).await;
                posted
            }
            None => {
                sleep(TIMEOUT).await;
                Posted::Refused { http_status: None, reason: "no answer".to_owned(), retry_after: None }
            }
        }
    }
}

/// The real messenger, observed.
pub(crate) struct Observed {
    pub(crate) pool: Arc<RelayPool>,
    pub(crate) world: Arc<World>,
}

impl Messenger for Observed {
    fn send(&self, message: &OutgoingMessage) -> Vec<EventId> {
        self.world.lock().asks(message);
        self.pool.send(message)
    }

    fn relays(&self) -> Vec<String> {
        self.pool.relays()
    }

    fn is_reachable(&self) -> bool {
        self.pool.is_reachable()
    }
}
