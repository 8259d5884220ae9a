//! A wallet over real connections, and how tests wait.

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
use usher_engine::ports::{Clock as _, SystemClock};
use usher_protocol::{Keys, PublicKey, envelope, kind};

/// Long enough on the slowest machine; no test waits for it to pass.
pub(crate) const DEADLINE: Duration = Duration::from_secs(180);

pub(crate) fn now() -> UnixMillis {
    SystemClock.now()
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
