//! A relay and a wallet service in one, controlled by the test, which reads what the backend sends and sends whatever
//! it likes.

use std::net::Ipv4Addr;

use futures_util::{SinkExt as _, StreamExt as _};
use nostr::nips::{nip04, nip44};
use nostr::{Event, EventBuilder, EventId, JsonUtil as _, Keys, Kind, PublicKey, Tag, Timestamp};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::fixture::{BackendHandle, LONG};

pub(crate) const ANSWER: u16 = 23_195;
pub(crate) const NOTIFICATION: u16 = 23_197;
pub(crate) const NOTIFICATION_NIP04: u16 = 23_196;

pub(crate) struct ScriptedWallet {
    listener: TcpListener,
    pub(crate) wallet: Keys,
    pub(crate) app: Keys,
}

/// One connection.
pub(crate) struct Wire {
    socket: WebSocketStream<TcpStream>,
    wallet: Keys,
    app: PublicKey,
    subscription: String,
}

pub(crate) struct Request {
    pub(crate) event: Event,
    pub(crate) method: String,
    pub(crate) params: Value,
}

impl ScriptedWallet {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        Self { listener, wallet: Keys::generate(), app: Keys::generate() }
    }

    pub(crate) async fn connected() -> (Self, BackendHandle, Wire) {
        let scripted = Self::start().await;
        let client = BackendHandle::start(&scripted.url());
        let wire = scripted.subscribed().await;
        client.until(true).await;
        (scripted, client, wire)
    }

    pub(crate) fn url(&self) -> String {
        let (wallet, secret) = (self.wallet.public_key().to_hex(), self.app.secret_key().to_secret_hex());
        let relay = self.listener.local_addr().unwrap();
        format!("nostr+walletconnect://{wallet}?relay=ws://{relay}&secret={secret}")
    }

    /// The next connection.
    pub(crate) async fn accept(&self) -> Wire {
        let accepting = async {
            let (stream, _) = self.listener.accept().await.unwrap();
            tokio_tungstenite::accept_async(stream).await.unwrap()
        };
        let socket = tokio::time::timeout(LONG, accepting).await.expect("a connection in time");
        Wire { socket, wallet: self.wallet.clone(), app: self.app.public_key(), subscription: String::new() }
    }

    /// The next connection, which subscribes and receives the announcement of NIP-44.
    pub(crate) async fn subscribed(&self) -> Wire {
        let mut wire = self.accept().await;
        wire.subscription().await;
        wire.greet().await;
        wire
    }
}

impl Wire {
    /// The socket below the WebSocket, to send frames of the test's own.
    pub(crate) fn into_stream(self) -> TcpStream {
        self.socket.into_inner()
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.socket.send(Message::text(message.to_string())).await.unwrap();
    }

    /// Sends an event to the backend's subscription, whatever that requested.
    pub(crate) async fn event(&mut self, event: &Event) {
        self.try_event(event).await.unwrap();
    }

    /// Like [`event`](Self::event), when the backend may be gone.
    pub(crate) async fn try_event(&mut self, event: &Event) -> Result<(), tokio_tungstenite::tungstenite::Error> {
        let text = format!("[\"EVENT\",{},{}]", json!(self.subscription), event.as_json());
        self.socket.send(Message::text(text)).await
    }

    pub(crate) async fn next(&mut self) -> Value {
        loop {
            let frame = tokio::time::timeout(LONG, self.socket.next()).await.expect("a frame in time");
            if let Message::Text(text) = frame.expect("an open connection").expect("a frame") {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }

    /// The next message, which must be of this type.
    pub(crate) async fn expect(&mut self, kind: &str) -> Value {
        let message = self.next().await;
        assert_eq!(message[0], kind, "{message}");
        message
    }

    /// The next message, which must subscribe.
    pub(crate) async fn subscription(&mut self) -> Value {
        let message = self.expect("REQ").await;
        self.subscription = message[1].as_str().unwrap().to_owned();
        message
    }

    /// This message subscribes anew.
    pub(crate) async fn resubscribed(&mut self, message: &Value) {
        self.subscription = message[1].as_str().unwrap().to_owned();
        self.greet().await;
    }

    /// Waits until the backend closes the connection, whatever it sends before.
    pub(crate) async fn ended(&mut self) {
        while let Some(Ok(_)) = tokio::time::timeout(LONG, self.socket.next()).await.expect("an end in time") {}
    }

    /// Sends the announcement and `EOSE`.
    pub(crate) async fn greet(&mut self) {
        let announcement = EventBuilder::new(Kind::from_u16(13_194), "pay_invoice lookup_invoice make_invoice")
            .tag(Tag::parse(["encryption", "nip44_v2 nip04"]).unwrap())
            .tag(Tag::parse(["notifications", "payment_received payment_sent"]).unwrap())
            .sign_with_keys(&self.wallet)
            .unwrap();
        self.event(&announcement).await;
        self.send(&json!(["EOSE", self.subscription])).await;
    }

    /// Acknowledges or refuses an event.
    pub(crate) async fn ok(&mut self, id: EventId, taken: bool, reason: &str) {
        self.send(&json!(["OK", id.to_hex(), taken, reason])).await;
    }

    /// The next message, which must be a request.
    pub(crate) async fn request(&mut self) -> Request {
        let event = Event::from_json(self.expect("EVENT").await[1].to_string()).unwrap();
        event.verify().unwrap();
        let secret = self.wallet.secret_key();
        let text = if event.content.contains("?iv=") {
            nip04::decrypt(secret, &self.app, &event.content).unwrap()
        } else {
            nip44::decrypt(secret, &self.app, &event.content).unwrap()
        };
        let call: Value = serde_json::from_str(&text).unwrap();
        Request { event, method: call["method"].as_str().unwrap().to_owned(), params: call["params"].clone() }
    }

    /// What `by` would write to the backend, by NIP-44 or NIP-04 as the kind requires.
    pub(crate) fn sealed(&self, by: &Keys, kind: u16, text: &str) -> String {
        if kind == NOTIFICATION_NIP04 {
            return nip04::encrypt(by.secret_key(), &self.app, text).unwrap();
        }
        nip44::encrypt(by.secret_key(), &self.app, text, nip44::Version::V2).unwrap()
    }

    /// An event of `by` to the backend with this content, about these events.
    pub(crate) fn signed(&self, by: &Keys, kind: u16, content: &str, about: &[EventId]) -> Event {
        EventBuilder::new(Kind::from_u16(kind), content)
            .tag(Tag::public_key(self.app))
            .tags(about.iter().map(|id| Tag::event(*id)))
            .custom_created_at(Timestamp::now())
            .sign_with_keys(by)
            .unwrap()
    }

    pub(crate) fn answer_to(&self, request: &Request, answer: &Value) -> Event {
        let content = self.sealed(&self.wallet, ANSWER, &answer.to_string());
        self.signed(&self.wallet, ANSWER, &content, &[request.event.id])
    }

    pub(crate) async fn answer(&mut self, request: &Request, result: &Value) {
        let answer = json!({"result_type": request.method, "error": null, "result": result});
        let answer = self.answer_to(request, &answer);
        self.event(&answer).await;
    }

    /// Responds to the next request with this content.
    pub(crate) async fn answer_with(&mut self, content: &str) {
        let request = self.request().await;
        let answer = self.signed(&self.wallet, ANSWER, content, &[request.event.id]);
        self.event(&answer).await;
    }

    /// Responds to the next request: it is pending.
    pub(crate) async fn answer_pending(&mut self) -> Request {
        let request = self.request().await;
        self.answer(&request, &json!({"state": "pending"})).await;
        request
    }

    /// Sends notifications that invoices were paid, as many as these.
    pub(crate) async fn tell_of_payments(&mut self, payments: usize) {
        for number in 0..payments {
            let fields = json!({"payment_hash": format!("{number:064x}")});
            let told = json!({"notification_type": "payment_received", "notification": fields});
            self.tell(NOTIFICATION, &told.to_string()).await;
        }
    }

    /// Sends a notification.
    pub(crate) async fn tell(&mut self, kind: u16, text: &str) {
        let content = self.sealed(&self.wallet, kind, text);
        let event = self.signed(&self.wallet, kind, &content, &[]);
        self.event(&event).await;
    }
}
