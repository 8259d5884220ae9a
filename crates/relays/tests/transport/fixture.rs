//! The service under test and a wallet, over real connections.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use nostr::{Event, Filter, JsonUtil as _, Kind};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::UnixMillis;
use usher_engine::ports::{Clock as _, Inbound, Messenger as _, OutgoingMessage, SystemClock};
use usher_nostr_connection::{OnRefusal, SessionTiming, Timing as ConnectionTiming};
use usher_protocol::message::WalletMessage;
use usher_protocol::{EventId, Keys, PublicKey, envelope, kind};
use usher_relays::{Identity, RelayAddress, RelayOptions, RelayPool, RelayStatus, Timing};

/// Long enough on the slowest machine; no test waits for it to pass.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// Short pauses between connections.
pub(crate) fn quick_connection() -> ConnectionTiming {
    ConnectionTiming {
        reconnect_first: Duration::from_millis(100),
        reconnect_longest: Duration::from_secs(1),
        ..ConnectionTiming::default()
    }
}

/// Short time limits: what takes minutes in production takes moments.
pub(crate) fn quick() -> Timing {
    Timing {
        session: SessionTiming {
            resubscribe_first: Duration::from_millis(50),
            resubscribe_longest: Duration::from_secs(1),
            auth_within: Duration::from_secs(1),
            on_refusal: OnRefusal::RetryAfter(Duration::from_millis(300)),
            ..SessionTiming::default()
        },
        rate_limit_pause: Duration::from_millis(100),
        sweep: Duration::from_millis(50),
        ..Timing::default()
    }
}

pub(crate) fn now() -> UnixMillis {
    SystemClock.now()
}

pub(crate) fn address(url: &str) -> RelayAddress {
    RelayAddress::parse(url).unwrap()
}

/// A relay pool with the engine's end of the inbox.
pub(crate) struct Service {
    pub(crate) keys: Keys,
    pub(crate) pool: Arc<RelayPool>,
    pub(crate) inbox: mpsc::Receiver<Inbound>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Service {
    pub(crate) fn start(relays: &[&str]) -> Self {
        Self::start_with(relays, |_| {})
    }

    pub(crate) fn start_with(relays: &[&str], change: impl FnOnce(&mut RelayOptions)) -> Self {
        let keys = Keys::generate();
        let relays = relays.iter().map(|url| address(url)).collect();
        let mut options = RelayOptions::new(Identity::of_main_key(keys), relays);
        options.timing = quick();
        options.connection = quick_connection();
        change(&mut options);
        let keys = options.identity.keys.clone();
        Self::start_from(options, keys, 1024)
    }

    pub(crate) fn start_from(options: RelayOptions, keys: Keys, inbox: usize) -> Self {
        let (sender, inbox) = mpsc::channel(inbox);
        let tasks = TaskTracker::new();
        let stop = CancellationToken::new();
        let pool = RelayPool::start(options, sender, Arc::new(SystemClock), &tasks, stop.clone());
        Self { keys, pool, inbox, tasks, stop }
    }

    pub(crate) fn key(&self) -> PublicKey {
        self.keys.public_key()
    }

    /// A challenge for `wallet`.
    pub(crate) fn message(&self, wallet: &PublicKey, challenge: &str) -> OutgoingMessage {
        OutgoingMessage {
            kind: kind::AUTH_CHALLENGE,
            content: json!({"challenge": challenge}).to_string(),
            recipients: vec![*wallet],
            participants: vec![*wallet],
            relays: Vec::new(),
            until: now().plus(Duration::from_secs(60)),
            made_at: now(),
            signer: None,
        }
    }

    pub(crate) fn ask(&self, wallet: &PublicKey, challenge: &str) -> EventId {
        let ids = self.pool.send(&self.message(wallet, challenge));
        assert_eq!(ids.len(), 1);
        ids[0]
    }

    /// The next message; a handshake that arrived over another relay before is skipped.
    pub(crate) async fn next(&mut self) -> Inbound {
        loop {
            let next = timeout(DEADLINE, self.inbox.recv()).await;
            let next =
                next.unwrap_or_else(|_| panic!("no message: {:#?}\n{:#?}", self.pool.status(), self.pool.metrics()));
            let next = next.expect("the pool lives");
            if !next.via.copy {
                return next;
            }
        }
    }

    /// The challenge that the next message answers.
    pub(crate) async fn next_answer(&mut self) -> String {
        match self.next().await.message {
            WalletMessage::AuthResponse(answer) => answer.challenge,
            other => panic!("not an answer: {other:?}"),
        }
    }

    /// One challenge and its reply, repeated now and then as the engine does.
    pub(crate) async fn login(&mut self, wallet: &PublicKey, challenge: &str) {
        loop {
            self.ask(wallet, challenge);
            let answered = timeout(Duration::from_secs(5), self.next_answer());
            if answered.await.is_ok_and(|answered| answered == challenge) {
                return;
            }
        }
    }

    pub(crate) fn status_of(&self, url: &str) -> RelayStatus {
        let all = self.pool.status();
        all.into_iter().find(|status| status.url.as_str() == url).unwrap_or_else(|| panic!("{url} is not in use"))
    }

    pub(crate) async fn subscribed_at(&self, url: &str) {
        eventually("subscribed", || self.status_of(url).subscribed).await;
    }

    /// Stops it and waits until every task has ended.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        timeout(DEADLINE, self.tasks.wait()).await.expect("every task ends");
    }
}

/// Waits for a condition that nothing notifies of.
pub(crate) async fn eventually(what: &str, mut is_true: impl FnMut() -> bool) {
    let waiting = async {
        while !is_true() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(DEADLINE, waiting).await.unwrap_or_else(|_| panic!("never {what}"));
}

/// A wallet that answers every challenge at once, at each of its relays.
pub(crate) struct Wallet {
    pub(crate) keys: Keys,
    heard: mpsc::UnboundedReceiver<(Event, String)>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Wallet {
    pub(crate) async fn connect(urls: &[&str]) -> Self {
        Self::connect_as(Keys::generate(), urls).await
    }

    pub(crate) async fn connect_as(keys: Keys, urls: &[&str]) -> Self {
        let (sender, heard) = mpsc::unbounded_channel();
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        for url in urls {
            let (ready, is_ready) = tokio::sync::oneshot::channel();
            let line = answer((*url).to_owned(), keys.clone(), sender.clone(), ready);
            tasks.spawn(stop.clone().run_until_cancelled_owned(line));
            timeout(DEADLINE, is_ready).await.expect("in time").expect("the relay takes the wallet");
        }
        Self { keys, heard, tasks, stop }
    }

    pub(crate) fn key(&self) -> PublicKey {
        self.keys.public_key()
    }

    /// The next event for this wallet, and its text.
    pub(crate) async fn next(&mut self) -> (Event, String) {
        timeout(DEADLINE, self.heard.recv()).await.expect("in time").expect("connected")
    }

    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

async fn answer(
    url: String,
    keys: Keys,
    heard: mpsc::UnboundedSender<(Event, String)>,
    ready: tokio::sync::oneshot::Sender<()>,
) {
    let (mut socket, _) = tokio_tungstenite::connect_async(url.as_str()).await.expect("the relay is there");
    let filter = Filter::new().pubkey(keys.public_key()).kinds(kind::FROM_SERVICE.map(Kind::from_u16));
    socket.send(Message::text(json!(["REQ", "wallet", filter]).to_string())).await.expect("takes a REQ");
    let mut ready = Some(ready);
    while let Some(Ok(message)) = socket.next().await {
        let Message::Text(text) = message else { continue };
        let Ok(frame) = serde_json::from_str::<Value>(&text) else { continue };
        match frame[0].as_str() {
            Some("EOSE") => {
                if let Some(ready) = ready.take() {
                    let _ = ready.send(());
                }
            }
            Some("EVENT") => {
                let event = Event::from_json(frame[2].to_string()).expect("an event");
                let Some(text) = read(&keys, &event) else { continue };
                if event.kind.as_u16() == kind::AUTH_CHALLENGE {
                    let asked: Value = serde_json::from_str(&text).expect("JSON");
                    let answer = approval(&keys, &event.pubkey, asked["challenge"].as_str().expect("a challenge"));
                    let frame = json!(["EVENT", answer]).to_string();
                    if socket.send(Message::text(frame)).await.is_err() {
                        return;
                    }
                }
                let _ = heard.send((event, text));
            }
            _ => {}
        }
    }
}

fn read(keys: &Keys, event: &Event) -> Option<String> {
    let conversation = envelope::conversation_key(keys, &event.pubkey).ok()?;
    envelope::open(&conversation, event).ok()
}

/// The event with which a wallet approves a challenge.
pub(crate) fn approval(wallet: &Keys, service: &PublicKey, challenge: &str) -> Event {
    let status = json!({"status": "approved", "granted_permissions": [], "session_token": null});
    let text = json!({"challenge": challenge, "subkey_proof": null, "status": status}).to_string();
    seal(wallet, service, service, kind::AUTH_RESPONSE, &text)
}

/// An event of `kind`, encrypted to `to` and tagged with `tagged`.
pub(crate) fn seal(from: &Keys, to: &PublicKey, tagged: &PublicKey, kind: u16, text: &str) -> Event {
    let conversation = envelope::conversation_key(from, to).unwrap();
    envelope::seal(from, &conversation, &[*tagged], None, kind, text, now().secs()).unwrap()
}
