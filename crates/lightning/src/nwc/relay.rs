//! One relay of the connection string: connected, subscribed, and again when that ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use nostr::{
    ClientMessage, Event, EventBuilder, EventId, Filter, JsonUtil as _, Kind, RelayMessage, RelayUrl, SubscriptionId,
    Timestamp,
};
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream, connect_async_tls_with_config};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};
use url::Url;
use usher_engine::ports::{Clock, Randomness};

use super::url::ConnectionUrl;

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

/// The first pause before connecting again; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// The longest pause before connecting again.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Most subscriptions that are asked for again on one connection when the relay closes them.
const MAX_RESUBSCRIPTIONS: u32 = 10;

const SUBSCRIPTION: &str = "usher-nwc";

type Socket = WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>>;

/// A request on its way: taken back, or written, but never both.
pub(crate) struct Outgoing {
    pub(crate) text: String,
    state: AtomicU8,
}

const WAITING: u8 = 0;
const WRITTEN: u8 = 1;
const TAKEN_BACK: u8 = 2;

impl Outgoing {
    pub(crate) fn new(text: String) -> Arc<Self> {
        Arc::new(Self { text, state: AtomicU8::new(WAITING) })
    }

    /// Takes it back: `true` when no socket has it, and none will.
    pub(crate) fn take_back(&self) -> bool {
        let swapped = self.state.compare_exchange(WAITING, TAKEN_BACK, Ordering::SeqCst, Ordering::SeqCst);
        !matches!(swapped, Err(WRITTEN))
    }

    /// Says that a socket is about to have it: `false` when it was taken back.
    fn begin(&self) -> bool {
        let swapped = self.state.compare_exchange(WAITING, WRITTEN, Ordering::SeqCst, Ordering::SeqCst);
        !matches!(swapped, Err(TAKEN_BACK))
    }
}

/// What the relays' tasks share.
pub(crate) struct Shared {
    pub(crate) url: ConnectionUrl,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) randomness: Arc<dyn Randomness>,
    /// Which relays have subscribed us.
    pub(crate) up: watch::Sender<Vec<bool>>,
    pub(crate) heard: mpsc::Sender<Event>,
    pub(crate) stop: CancellationToken,
    pub(crate) tls: Arc<ClientConfig>,
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
    let mut pause = FIRST_PAUSE;
    let mut told = false;
    loop {
        let begun = Instant::now();
        let ended = tokio::select! {
            ended = connect(&shared, relay, &url, &mut outgoing) => ended,
            () = shared.stop.cancelled() => return,
        };
        shared.set_up(relay, false);
        // What is queued was meant for this connection: it is taken back by whoever waits for the answer.
        while outgoing.try_recv().is_ok() {}
        if begun.elapsed() > SILENCE {
            pause = FIRST_PAUSE;
            told = false;
        }
        if told {
            debug!(relay = host, reason = %ended, "the wallet's relay is down");
        } else {
            // Of its address the host alone: the rest may be a secret.
            warn!(relay = host, reason = %ended, "the wallet's relay is down; trying again until it is back");
            told = true;
        }
        let mut random = [0; 1];
        shared.randomness.fill(&mut random);
        let jittered = pause.mul_f64(0.75 + f64::from(random[0]) / 510.0);
        tokio::select! {
            () = sleep(jittered) => {}
            () = shared.stop.cancelled() => return,
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
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
    #[error("the relay ends our subscription again and again")]
    Unwelcome,
}

async fn connect(shared: &Shared, relay: usize, url: &Url, outgoing: &mut mpsc::Receiver<Arc<Outgoing>>) -> Ended {
    let config =
        WebSocketConfig::default().max_message_size(Some(MAX_MESSAGE_BYTES)).max_frame_size(Some(MAX_MESSAGE_BYTES));
    let connector = Connector::Rustls(Arc::clone(&shared.tls));
    let connecting = connect_async_tls_with_config(url.as_str(), Some(config), true, Some(connector));
    let socket = match timeout(CONNECT, connecting).await {
        Ok(Ok((socket, _))) => socket,
        Ok(Err(error)) => return Ended::Connect(Box::new(error)),
        Err(_) => return Ended::ConnectTimeout,
    };
    match (Session { shared, relay, url, socket, resubscriptions: 0, subscribed: false, asked_at: Instant::now() })
        .run(outgoing)
        .await
    {
        Ok(never) => match never {},
        Err(ended) => ended,
    }
}

struct Session<'a> {
    shared: &'a Shared,
    relay: usize,
    url: &'a Url,
    socket: Socket,
    resubscriptions: u32,
    subscribed: bool,
    asked_at: Instant,
}

enum Never {}

impl Session<'_> {
    async fn run(mut self, outgoing: &mut mpsc::Receiver<Arc<Outgoing>>) -> Result<Never, Ended> {
        self.subscribe().await?;
        let mut heard_at = Instant::now();
        let mut pinged = false;
        loop {
            let silent = heard_at + if pinged { SILENCE * 2 } else { SILENCE };
            tokio::select! {
                message = self.socket.next() => {
                    heard_at = Instant::now();
                    pinged = false;
                    match message {
                        Some(Ok(Message::Text(text))) => self.heard(&text).await?,
                        Some(Ok(Message::Close(_))) | None => return Err(Ended::Closed),
                        Some(Ok(_)) => {}
                        Some(Err(error)) => return Err(Ended::Broken(Box::new(error))),
                    }
                }
                // Nothing is sent before we can hear the answer.
                request = outgoing.recv(), if self.subscribed => match request {
                    Some(request) if request.begin() => self.write(Message::text(request.text.clone())).await?,
                    Some(_) => {}
                    None => return Err(Ended::Closed),
                },
                () = sleep_until(self.asked_at + SUBSCRIBE), if !self.subscribed => self.is_subscribed(),
                () = sleep_until(silent) => {
                    if pinged {
                        return Err(Ended::Silent);
                    }
                    pinged = true;
                    self.write(Message::Ping(Vec::new().into())).await?;
                }
            }
        }
    }

    async fn write(&mut self, message: Message) -> Result<(), Ended> {
        match timeout(WRITE, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Ended::Broken(Box::new(error))),
            Err(_) => Err(Ended::Stuck),
        }
    }

    /// What the wallet announces, and from now on what it says to us.
    async fn subscribe(&mut self) -> Result<(), Ended> {
        self.subscribed = false;
        self.asked_at = Instant::now();
        let wallet = self.shared.url.wallet;
        let announced = Filter::new().author(wallet).kind(Kind::from_u16(INFO)).limit(1);
        let said = Filter::new()
            .author(wallet)
            .kinds([RESPONSE, NOTIFICATION, NOTIFICATION_NIP04].map(Kind::from_u16))
            .pubkey(self.shared.url.keys.public_key())
            .since(Timestamp::from_secs(self.shared.clock.now().secs().saturating_sub(60)));
        let request = ClientMessage::req(SubscriptionId::new(SUBSCRIPTION), vec![announced, said]);
        self.write(Message::text(request.as_json())).await
    }

    fn is_subscribed(&mut self) {
        if !std::mem::replace(&mut self.subscribed, true) {
            info!(relay = self.url.host_str(), "connected to the wallet's relay");
            self.shared.set_up(self.relay, true);
        }
    }

    async fn heard(&mut self, text: &str) -> Result<(), Ended> {
        // A flood of what is not from the wallet is refused by a look.
        if text.starts_with("[\"EVENT\"") && !text.contains(&self.shared.url.wallet.to_hex()) {
            return Ok(());
        }
        let Ok(message) = RelayMessage::from_json(text) else { return Ok(()) };
        match message {
            RelayMessage::Event { event, .. } if event.pubkey == self.shared.url.wallet => {
                // Full: the relay waits. Fails only when everything stops.
                let _ = self.shared.heard.send(event.into_owned()).await;
            }
            RelayMessage::EndOfStoredEvents(_) => self.is_subscribed(),
            RelayMessage::Auth { challenge } => {
                let Ok(relay) = RelayUrl::parse(self.url.as_str()) else { return Ok(()) };
                let event = EventBuilder::auth(challenge, relay)
                    .custom_created_at(Timestamp::from_secs(self.shared.clock.now().secs()));
                if let Ok(event) = event.sign_with_keys(&self.shared.url.keys) {
                    self.write(Message::text(ClientMessage::auth(event).as_json())).await?;
                    self.again().await?;
                }
            }
            RelayMessage::Closed { message, .. } if !message.starts_with("auth-required") => self.again().await?,
            _ => {}
        }
        Ok(())
    }

    async fn again(&mut self) -> Result<(), Ended> {
        self.resubscriptions += 1;
        if self.resubscriptions > MAX_RESUBSCRIPTIONS {
            return Err(Ended::Unwelcome);
        }
        self.shared.set_up(self.relay, false);
        self.subscribe().await
    }
}

/// The request that an answer is about: its first `e` tag.
pub(crate) fn answers_to(event: &Event) -> Option<EventId> {
    event.tags.iter().take(16).find_map(|tag| match tag.as_slice() {
        [name, id, ..] if name == "e" => EventId::from_hex(id).ok(),
        _ => None,
    })
}
