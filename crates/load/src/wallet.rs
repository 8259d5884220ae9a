//! A lean user's wallet: the protocol's messages on a websocket, and nothing else.
//!
//! It trusts what the relay forwards to it. A real wallet checks signatures, on the user's own device.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, bail};
use futures_util::{SinkExt as _, StreamExt as _};
use nostr::nips::nip44::v2::ConversationKey;
use nostr::{Event, JsonUtil as _, Timestamp};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};
use usher_protocol::message::{
    AuthResponse, AuthStatus, KeyHandshake, PaymentRequest, PaymentResponse, PaymentStatus, ServiceMessage,
    WalletMessage,
};
use usher_protocol::{Keys, PublicKey, envelope, kind};

/// A user's key, and what encrypts between it and the service.
pub(crate) struct Identity {
    keys: Keys,
    service: PublicKey,
    conversation: ConversationKey,
}

impl Identity {
    /// A new wallet. It derives its conversation key now, so that this is not measured.
    pub(crate) fn new(service: PublicKey) -> Result<Self> {
        let keys = Keys::generate();
        Ok(Self { conversation: envelope::conversation_key(&keys, &service)?, keys, service })
    }

    /// Derives the conversation key again.
    pub(crate) fn agree(&self) -> Result<ConversationKey> {
        Ok(envelope::conversation_key(&self.keys, &self.service)?)
    }

    pub(crate) fn main_key(&self) -> String {
        self.keys.public_key().to_hex()
    }

    pub(crate) fn handshake(&self, token: String, relay: &str) -> Result<Event> {
        self.seal(&WalletMessage::KeyHandshake(KeyHandshake {
            token,
            client_info: None,
            preferred_relays: vec![relay.to_owned()],
        }))
    }

    /// The event that approves the challenge in `event`; `None` when it is none for this key.
    pub(crate) fn approve(&self, event: &Event) -> Result<Option<Event>> {
        let ours = self.keys.public_key();
        if !event.tags.public_keys().any(|key| *key == ours) {
            return Ok(None);
        }
        let plain = envelope::open(&self.conversation, event)?;
        let ServiceMessage::AuthChallenge(challenge) = ServiceMessage::from_event(event, &plain)? else {
            bail!("the service sent something else than a challenge");
        };
        let status = AuthStatus::Approved { granted_permissions: Vec::new(), session_token: None };
        let response = AuthResponse { challenge: challenge.challenge, subkey_proof: None, status };
        Ok(Some(self.seal(&WalletMessage::AuthResponse(response))?))
    }

    /// The request for a payment in `event`; `None` when it is none for this key.
    pub(crate) fn asked(&self, event: &Event) -> Result<Option<PaymentRequest>> {
        let ours = self.keys.public_key();
        if !event.tags.public_keys().any(|key| *key == ours) {
            return Ok(None);
        }
        match ServiceMessage::from_event(event, &envelope::open(&self.conversation, event)?)? {
            ServiceMessage::PaymentRequest(request) => Ok(Some(request)),
            _ => bail!("the service sent something else than a request for a payment"),
        }
    }

    /// The event that says how it stands with a payment.
    pub(crate) fn says(&self, request: &PaymentRequest, status: PaymentStatus) -> Result<Event> {
        let request_id = request.request_id.clone();
        self.seal(&WalletMessage::PaymentResponse(PaymentResponse { request_id, status }))
    }

    fn seal(&self, message: &WalletMessage) -> Result<Event> {
        let now = Timestamp::now().as_secs();
        let (kind, text) = (message.kind(), message.to_json());
        Ok(envelope::seal(&self.keys, &self.conversation, &[self.service], None, kind, &text, now)?)
    }
}

/// A wallet's connection to the relay.
pub(crate) struct Wallet {
    socket: WebSocketStream<TcpStream>,
}

impl Wallet {
    /// Connects and listens for challenges to all of `identities`, and for requests for payments.
    pub(crate) async fn connect(relay: SocketAddr, identities: &[Identity]) -> Result<Self> {
        let stream = TcpStream::connect(relay).await?;
        stream.set_nodelay(true)?;
        // The buffer is cleared before each read: the default of 128 KiB would be most of what a wallet does.
        let config = WebSocketConfig::default().read_buffer_size(4096);
        let (mut socket, _) = client_async_with_config(format!("ws://{relay}"), stream, Some(config)).await?;
        let keys: Vec<_> = identities.iter().map(Identity::main_key).collect();
        let req = json!(["REQ", "w", { "kinds": [kind::AUTH_CHALLENGE, kind::PAYMENT_REQUEST], "#p": keys }]);
        socket.send(Message::text(req.to_string())).await?;
        loop {
            let Message::Text(text) = socket.next().await.context("the relay hung up")?? else { continue };
            if text.starts_with(r#"["EOSE""#) {
                return Ok(Self { socket });
            }
        }
    }

    pub(crate) async fn publish(&mut self, event: &Event) -> Result<()> {
        let text = format!(r#"["EVENT",{}]"#, event.as_json());
        Ok(self.socket.send(Message::text(text)).await?)
    }

    /// The next event for one of the identities. Nothing is lost when it is cancelled and called again.
    pub(crate) async fn next(&mut self) -> Result<Event> {
        loop {
            let Message::Text(text) = self.socket.next().await.context("the relay hung up")?? else { continue };
            if text.starts_with(r#"["EVENT""#) {
                let (_, _, event): (&str, &str, &RawValue) = serde_json::from_str(&text)?;
                return Ok(Event::from_json(event.get())?);
            }
        }
    }
}
