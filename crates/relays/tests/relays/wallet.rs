//! A wallet over real connections, and events of users at relays.

use futures_util::{SinkExt as _, StreamExt as _};
use nostr::{Event, EventBuilder, Filter, JsonUtil as _, Kind, Tag, Timestamp};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use usher_protocol::{Keys, PublicKey, envelope, kind};

use crate::fixture::{DEADLINE, now};

/// A wallet that answers every challenge at once.
pub(crate) struct Wallet {
    pub(crate) keys: Keys,
    heard: mpsc::UnboundedReceiver<(Event, String)>,
}

impl Wallet {
    pub(crate) async fn connect(url: &str) -> Self {
        let keys = Keys::generate();
        let ((sender, heard), (ready, is_ready)) = (mpsc::unbounded_channel(), oneshot::channel());
        tokio::spawn(answer(url.to_owned(), keys.clone(), sender, ready));
        timeout(DEADLINE, is_ready).await.expect("in time").expect("the relay takes the wallet");
        Self { keys, heard }
    }

    pub(crate) fn key(&self) -> PublicKey {
        self.keys.public_key()
    }

    pub(crate) async fn next(&mut self) -> (Event, String) {
        timeout(DEADLINE, self.heard.recv()).await.expect("in time").expect("connected")
    }
}

async fn answer(
    url: String,
    keys: Keys,
    heard: mpsc::UnboundedSender<(Event, String)>,
    ready: oneshot::Sender<()>,
) -> Option<()> {
    let filter = Filter::new().pubkey(keys.public_key()).kinds(kind::FROM_SERVICE.map(Kind::from_u16));
    let mut socket = said(&url, &json!(["REQ", "wallet", filter])).await;
    let mut ready = Some(ready);
    loop {
        let frame = frame(&mut socket).await?;
        match frame[0].as_str() {
            Some("EOSE") => _ = ready.take().map(|ready| ready.send(())),
            Some("EVENT") => {
                let event = Event::from_json(frame[2].to_string()).expect("an event");
                let conversation = envelope::conversation_key(&keys, &event.pubkey).ok()?;
                let Ok(text) = envelope::open(&conversation, &event) else { continue };
                if event.kind.as_u16() == kind::AUTH_CHALLENGE {
                    let asked: Value = serde_json::from_str(&text).expect("JSON");
                    let answer = approval(&keys, &event.pubkey, asked["challenge"].as_str().expect("a challenge"));
                    socket.send(Message::text(json!(["EVENT", answer]).to_string())).await.ok()?;
                }
                heard.send((event, text)).ok()?;
            }
            _ => {}
        }
    }
}

/// A connection to a relay after these messages.
async fn said(url: &str, message: &Value) -> WebSocketStream<MaybeTlsStream<TcpStream>> {
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.expect("the relay is there");
    socket.send(Message::text(message.to_string())).await.expect("takes it");
    socket
}

/// The next frame, as long as there is one.
async fn frame(socket: &mut WebSocketStream<MaybeTlsStream<TcpStream>>) -> Option<Value> {
    loop {
        if let Ok(frame) = serde_json::from_str(socket.next().await?.ok()?.to_text().unwrap_or_default()) {
            return Some(frame);
        }
    }
}

pub(crate) async fn store(url: &str, events: &[&Event]) {
    for event in events {
        let mut socket = said(url, &json!(["EVENT", event])).await;
        let taken = async {
            while let Some(frame) = frame(&mut socket).await {
                if frame[0] == "OK" {
                    return assert_eq!(frame[2], true, "{frame}");
                }
            }
            panic!("no answer");
        };
        timeout(DEADLINE, taken).await.expect("in time");
    }
}

pub(crate) async fn stored(url: &str, author: &PublicKey, kind: u16) -> Option<Event> {
    let filter = json!({"authors": [author.to_hex()], "kinds": [kind]});
    let mut socket = said(url, &json!(["REQ", "s", filter])).await;
    let mut found = None;
    let looking = async {
        while let Some(frame) = frame(&mut socket).await {
            match frame[0].as_str() {
                Some("EVENT") => found = Some(Event::from_json(frame[2].to_string()).unwrap()),
                Some("EOSE") => break,
                _ => {}
            }
        }
    };
    timeout(DEADLINE, looking).await.expect("in time");
    found
}

pub(crate) fn approval(wallet: &Keys, service: &PublicKey, challenge: &str) -> Event {
    let status = json!({"status": "approved", "granted_permissions": [], "session_token": null});
    let text = json!({"challenge": challenge, "subkey_proof": null, "status": status}).to_string();
    seal(wallet, service, service, kind::AUTH_RESPONSE, &text, now().secs())
}

/// A wallet's first message, encrypted to `to` and tagged with `tagged`.
pub(crate) fn handshake(from: &Keys, to: &PublicKey, tagged: &PublicKey, created_at: u64) -> Event {
    seal(from, to, tagged, kind::KEY_HANDSHAKE, r#"{"token":"abcd"}"#, created_at)
}

fn seal(from: &Keys, to: &PublicKey, tagged: &PublicKey, kind: u16, text: &str, created_at: u64) -> Event {
    let conversation = envelope::conversation_key(from, to).unwrap();
    envelope::seal(from, &conversation, &[*tagged], None, kind, text, created_at).unwrap()
}

/// An event of `keys`, dated so many seconds ago.
pub(crate) fn event(keys: &Keys, kind: u16, content: &str, tags: &[&[&str]], age_secs: u64) -> Event {
    EventBuilder::new(Kind::from_u16(kind), content)
        .tags(tags.iter().map(|tag| Tag::parse(tag.iter().copied()).unwrap()))
        .custom_created_at(Timestamp::from_secs(now().secs() - age_secs))
        .sign_with_keys(keys)
        .unwrap()
}

/// A profile with a name, dated so many seconds ago.
pub(crate) fn named(keys: &Keys, name: &str, age_secs: u64) -> Event {
    event(keys, 0, &json!({"name": name}).to_string(), &[], age_secs)
}

pub(crate) fn relay_list(keys: &Keys, relays: &[&str], age_secs: u64) -> Event {
    let tags: Vec<[&str; 3]> = relays.iter().map(|relay| ["r", relay, "write"]).collect();
    let tags: Vec<&[&str]> = tags.iter().map(<[&str; 3]>::as_slice).collect();
    event(keys, 10_002, "", &tags, age_secs)
}
