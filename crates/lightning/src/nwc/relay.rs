//! One relay of the connection string: connected, subscribed, and again when that ends.

mod back_off;
mod outgoing;
mod session;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use nostr::{Event, EventId};
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_tungstenite::tungstenite;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream, client_async_tls_with_config};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};
use url::Url;
use usher_engine::ports::{Clock, Randomness};

use super::dialer::{Dialer, Stream};
use super::url::ConnectionUrl;
use back_off::BackOff;
pub(crate) use outgoing::Outgoing;
use session::Session;

/// What a wallet announces of itself.
pub(crate) const INFO: u16 = 13_194;
/// A request to a wallet.
pub(crate) const REQUEST: u16 = 23_194;
/// A wallet's answer.
pub(crate) const RESPONSE: u16 = 23_195;
/// What a wallet tells by itself, with NIP-04.
pub(crate) const NOTIFICATION_NIP04: u16 = 23_196;
/// What a wallet tells by itself, with NIP-44.
pub(crate) const NOTIFICATION: u16 = 23_197;

/// Largest message that is read, in bytes.
const MAX_MESSAGE_BYTES: usize = 256 * 1024;

/// How long connecting may take, TLS and the WebSocket's handshake included.
const CONNECT: Duration = Duration::from_secs(15);

/// How long a relay that does not say so is waited for to have subscribed us.
const SUBSCRIBE: Duration = Duration::from_secs(2);

/// How long one write may take.
const WRITE: Duration = Duration::from_secs(10);

/// After how much silence the relay is pinged; after as much again the connection is given up.
const SILENCE: Duration = Duration::from_secs(30);

/// How long a relay that wants to know who we are is given to ask.
const AUTHENTICATE: Duration = Duration::from_secs(15);

/// How far the wallet's clock may be behind ours: what it says is heard only if it is no older. Relays keep none of it, or not
/// for long.
const CLOCKS: Duration = Duration::from_secs(900);

type Socket = WebSocketStream<MaybeTlsStream<Box<dyn Stream>>>;

/// What a relay says that the wallet said.
pub(crate) struct Heard {
    /// Which relay.
    pub(crate) relay: usize,
    pub(crate) event: Event,
}

/// What the relays' tasks share.
pub(crate) struct Shared {
    pub(crate) url: ConnectionUrl,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) randomness: Arc<dyn Randomness>,
    /// Which relays have subscribed us.
    pub(crate) up: watch::Sender<Vec<bool>>,
    pub(crate) heard: mpsc::Sender<Heard>,
    pub(crate) stop: CancellationToken,
    pub(crate) tls: Arc<ClientConfig>,
    pub(crate) dialer: Arc<dyn Dialer>,
}

impl Shared {
    /// The roots that browsers trust, and ring.
    pub(crate) fn tls() -> Result<Arc<ClientConfig>, rustls::Error> {
        let mut roots = RootCertStore::empty();
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
    }

    fn set_up(&self, relay: usize, is_up: bool) {
        self.up.send_if_modified(|up| match up.get_mut(relay) {
            Some(was) if *was != is_up => {
                *was = is_up;
                true
            }
            _ => false,
        });
    }
}

/// Keeps a connection to the relay until everything stops.
pub(crate) async fn run(shared: Arc<Shared>, relay: usize, url: Url, mut outgoing: mpsc::Receiver<Arc<Outgoing>>) {
    let host = url.host_str().unwrap_or_default().to_owned();
    let mut back_off = BackOff::default();
    let mut told = false;
    loop {
        let begun = Instant::now();
        let listening = OnceLock::new();
        let ended = tokio::select! {
            ended = connect(&shared, relay, &url, &mut outgoing, &listening) => ended,
            () = shared.stop.cancelled() => return shared.set_up(relay, false),
        };
        shared.set_up(relay, false);
        // What is queued was meant for this connection: it is taken back by whoever waits for the answer.
        while outgoing.try_recv().is_ok() {}
        told &= begun.elapsed() <= SILENCE;
        if told {
            debug!(relay = host, reason = %ended, "the wallet's relay is down");
        } else {
            // Of its address the host alone: the rest may be a secret.
            warn!(relay = host, reason = %ended, "the wallet's relay is down; trying again until it is back");
            told = true;
        }
        let mut random = [0; 1];
        shared.randomness.fill(&mut random);
        let pause = back_off.after(listening.get().map(Instant::elapsed), random[0]);
        tokio::select! {
            () = sleep(pause) => {}
            () = shared.stop.cancelled() => return,
        }
    }
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error("cannot connect: {0}")]
    Connect(#[source] Box<tungstenite::Error>),
    #[error("connecting took too long")]
    ConnectTimeout,
    #[error("the connection broke: {0}")]
    Broken(#[source] Box<tungstenite::Error>),
    #[error("the relay closed the connection")]
    Closed,
    #[error("the relay takes nothing")]
    Stuck,
    #[error("the relay has fallen silent")]
    Silent,
    #[error("the relay does not let us listen")]
    Unwelcome,
}

async fn connect(
    shared: &Shared,
    relay: usize,
    url: &Url,
    outgoing: &mut mpsc::Receiver<Arc<Outgoing>>,
    listening: &OnceLock<Instant>,
) -> Ended {
    let config =
        WebSocketConfig::default().max_message_size(Some(MAX_MESSAGE_BYTES)).max_frame_size(Some(MAX_MESSAGE_BYTES));
    let connector = Connector::Rustls(Arc::clone(&shared.tls));
    let connecting = async {
        let stream = shared.dialer.dial(url).await.map_err(tungstenite::Error::Io)?;
        client_async_tls_with_config(url.as_str(), stream, Some(config), Some(connector)).await
    };
    let socket = match timeout(CONNECT, connecting).await {
        Ok(Ok((socket, _))) => socket,
        Ok(Err(error)) => return Ended::Connect(Box::new(error)),
        Err(_) => return Ended::ConnectTimeout,
    };
    match Session::new(shared, relay, url, socket, listening).run(outgoing).await {
        Ok(never) => match never {},
        Err(ended) => ended,
    }
}

/// The request that an answer is about: its first `e` tag.
pub(crate) fn answers_to(event: &Event) -> Option<EventId> {
    event.tags.iter().take(16).find_map(|tag| match tag.as_slice() {
        [name, id, ..] if name == "e" => EventId::from_hex(id).ok(),
        _ => None,
    })
}
