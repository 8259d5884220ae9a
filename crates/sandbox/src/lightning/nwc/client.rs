//! A NIP-47 client: the reference wallet uses it to pay from an external account.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use nostr::{EventBuilder, Filter, Kind, Tag, Timestamp};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{OnceCell, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_protocol::envelope::replies_to;
use usher_protocol::nwc::{Cipher, INFO, REQUEST, RESPONSE, Scheme};
use usher_protocol::{Event, EventId, Keys, PublicKey, SecretKey};

use super::Method;
use super::announcement::tag;
use crate::clock::SharedClock;
use crate::relay_client::{RelayClient, RelayClientError, RelayEvent};

/// How long to try to reach a relay.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait, once a relay listens, for what the wallet announced there.
const ANNOUNCED: Duration = Duration::from_secs(1);

/// How long to wait for a reply: a payment may be slow. The request expires after this time.
const TIMEOUT: Duration = Duration::from_secs(60);

const MAX_RELAYS: usize = 8;

/// A connection to a wallet service. Connects when it is first used; dropping it hangs up. `Debug` does not show the
/// secret.
pub struct NwcClient {
    wallet: PublicKey,
    app: Keys,
    relays: Vec<String>,
    cipher: Arc<Cipher>,
    clock: SharedClock,
    connection: OnceCell<Connection>,
}

struct Connection {
    client: RelayClient,
    answers: Arc<Answers>,
    stop: CancellationToken,
}

#[derive(Default)]
struct Answers {
    waiting: Mutex<HashMap<EventId, oneshot::Sender<Value>>>,
    scheme: watch::Sender<Option<Scheme>>,
}

/// A text is no connection string. Says nothing of it: it is a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid connection string; expected nostr+walletconnect://<key>?relay=<url>&secret=<key>")]
pub struct NotAConnection;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NwcError {
    #[error(transparent)]
    RelayClient(#[from] RelayClientError),
    #[error("the request could not be created")]
    Unsendable,
    /// It may have been done, or be done later.
    #[error("the Lightning wallet did not respond")]
    NoResponse,
    #[error("the Lightning wallet refused: {message} ({code})")]
    Refused {
        /// NIP-47's word for why.
        code: String,
        /// The wallet's own words.
        message: String,
    },
    #[error("the Lightning wallet sent an invalid response")]
    InvalidResponse,
}

impl NwcError {
    /// Whether it is sure that nothing was done.
    pub const fn is_definite(&self) -> bool {
        match self {
            Self::RelayClient(_) | Self::Unsendable | Self::Refused { .. } => true,
            Self::NoResponse | Self::InvalidResponse => false,
        }
    }
}

usher_protocol::debug_shows!(NwcClient { wallet, relays });

impl std::str::FromStr for NwcClient {
    type Err = NotAConnection;

    fn from_str(text: &str) -> Result<Self, NotAConnection> {
        let url = url::Url::parse(text).map_err(|_| NotAConnection)?;
        let host = url.host_str().filter(|_| url.scheme() == "nostr+walletconnect").ok_or(NotAConnection)?;
        let wallet = PublicKey::from_hex(host).map_err(|_| NotAConnection)?;
        let values = |name: &'static str| url.query_pairs().filter(move |(key, _)| key == name).map(|(_, value)| value);
        let secret = values("secret").next().and_then(|secret| SecretKey::from_hex(&secret).ok());
        let app = Keys::new(secret.ok_or(NotAConnection)?);
        let relays: Vec<String> = values("relay").take(MAX_RELAYS).map(|relay| relay.into_owned()).collect();
        if relays.is_empty() {
            return Err(NotAConnection);
        }
        let cipher = Arc::new(Cipher::new(app.secret_key(), wallet).map_err(|_| NotAConnection)?);
        let clock = SharedClock::default();
        Ok(Self { wallet, app, relays, cipher, clock, connection: OnceCell::new() })
    }
}

impl NwcClient {
    #[must_use]
    pub fn with_clock(mut self, clock: SharedClock) -> Self {
        self.clock = clock;
        self
    }

    /// Asks, and waits for the result, a minute at most.
    ///
    /// # Errors
    /// [`NwcError`]; only after [`Refused`](NwcError::Refused) and when nothing was asked it is sure that nothing was
    /// done.
    pub async fn call(&self, method: Method, params: Value) -> Result<Value, NwcError> {
        let connection = self.connection.get_or_init(|| self.connect()).await;
        connection.client.wait_for_any(&self.relays, CONNECT_TIMEOUT).await?;
        // What the relay kept is here, or about to be read. A wallet that announces nothing is an old one.
        let mut announced = connection.answers.scheme.subscribe();
        let scheme = match tokio::time::timeout(ANNOUNCED, announced.wait_for(Option::is_some)).await {
            Ok(Ok(scheme)) => scheme.unwrap_or(Scheme::Nip04),
            _ => Scheme::Nip04,
        };
        let request = self.request(scheme, method, &params).ok_or(NwcError::Unsendable)?;
        let (sender, answer) = oneshot::channel();
        connection.answers.waiting.lock().insert(request.id, sender);
        let sent = connection.client.send(&request);
        let answered = match &sent {
            Ok(()) => tokio::time::timeout(TIMEOUT, answer).await.ok().and_then(Result::ok),
            Err(_) => None,
        };
        connection.answers.waiting.lock().remove(&request.id);
        sent?;
        let answer = answered.ok_or(NwcError::NoResponse)?;
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match (answer.get("error"), answer.get("result")) {
            (Some(error), _) if !error.is_null() => {
                Err(NwcError::Refused { code: word(&error["code"]), message: word(&error["message"]) })
            }
            (_, Some(result)) if !result.is_null() => Ok(result.clone()),
            _ => Err(NwcError::InvalidResponse),
        }
    }

    fn request(&self, scheme: Scheme, method: Method, params: &Value) -> Option<Event> {
        let text = json!({"method": method.as_str(), "params": params}).to_string();
        let now = self.clock.now();
        let until = now.saturating_add(TIMEOUT.as_secs());
        let builder = EventBuilder::new(Kind::from_u16(REQUEST), self.cipher.seal(scheme, &text).ok()?)
            .tag(Tag::public_key(self.wallet))
            .tag(tag("encryption", scheme.as_str()))
            .tag(Tag::expiration(Timestamp::from_secs(until)))
            .custom_created_at(Timestamp::from_secs(now));
        builder.sign_with_keys(&self.app).ok()
    }

    async fn connect(&self) -> Connection {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let filter = Filter::new().author(self.wallet).kinds([INFO, RESPONSE].map(Kind::from_u16)).limit(10);
        let (client, events) = RelayClient::new(self.app.clone(), filter, tasks.clone(), stop.clone());
        let answers = Arc::<Answers>::default();
        let reading = read(Arc::clone(&self.cipher), Arc::clone(&answers), events);
        tasks.spawn(stop.clone().run_until_cancelled_owned(reading));
        client.add(&self.relays);
        Connection { client, answers, stop }
    }
}

impl Drop for NwcClient {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.get() {
            connection.stop.cancel();
        }
    }
}

async fn read(cipher: Arc<Cipher>, answers: Arc<Answers>, mut events: mpsc::Receiver<RelayEvent>) {
    while let Some(RelayEvent { event, .. }) = events.recv().await {
        if event.kind.as_u16() == INFO {
            let spoken = event.tags.iter().find(|tag| tag.as_slice().first().is_some_and(|name| name == "encryption"));
            let modern = spoken.and_then(|tag| tag.content()).is_some_and(|words| words.contains("nip44_v2"));
            answers.scheme.send_replace(Some(if modern { Scheme::Nip44 } else { Scheme::Nip04 }));
            continue;
        }
        let Some(waiting) = replies_to(&event).and_then(|id| answers.waiting.lock().remove(&id)) else { continue };
        let text = cipher.open(&event.content).unwrap_or_default();
        // Who asked may have given up.
        let _ = waiting.send(serde_json::from_str(&text).unwrap_or(Value::Null));
    }
}
