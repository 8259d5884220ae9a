//! A service built from the protocol crate and a raw WebSocket.

use nostr::JsonUtil;
use serde_json::{Value, json};
use usher_protocol::handshake_url::HandshakeUrl;
use usher_protocol::message::{AuthChallenge, AuthResponse, AuthStatus, KeyHandshake, ServiceMessage, WalletMessage};
use usher_protocol::subkey::SubkeyProof;
use usher_protocol::{Event, EventId, Keys, PublicKey, envelope, kind};

use crate::raw_client::{QUIET, Raw};

pub(crate) struct Service {
    pub(crate) keys: Keys,
    pub(crate) raw: Raw,
    relays: Vec<String>,
}

impl Service {
    pub(crate) async fn start(url: &str) -> Self {
        Self::with_keys(Keys::generate(), url, &[url]).await
    }

    pub(crate) async fn with_keys(keys: Keys, listens_at: &str, relays: &[&str]) -> Self {
        let mut raw = Raw::connect(listens_at).await;
        raw.send(json!(["REQ", "s", {"#p": [keys.public_key().to_hex()], "kinds": kind::FROM_WALLET}])).await;
        raw.next_of("EOSE").await;
        Self { keys, raw, relays: relays.iter().map(|&url| url.to_owned()).collect() }
    }

    pub(crate) fn key(&self) -> PublicKey {
        self.keys.public_key()
    }

    pub(crate) fn url(&self) -> HandshakeUrl {
        HandshakeUrl {
            scheme: "portal".to_owned(),
            main_key: self.key(),
            relays: self.relays.clone(),
            token: "the token".to_owned(),
            subkey: None,
            no_request: false,
        }
    }

    /// The next event for us.
    pub(crate) async fn next_event(&mut self) -> Event {
        let message: Value = self.raw.next_of("EVENT").await;
        Event::from_json(message[2].to_string()).unwrap()
    }

    /// Asserts that no event arrives for a while.
    pub(crate) async fn receives_nothing(&mut self) {
        if let Ok(message) = tokio::time::timeout(QUIET, self.raw.next_of("EVENT")).await {
            panic!("silence expected: {message}");
        }
    }

    /// The next message to us, with its event.
    pub(crate) async fn next(&mut self) -> (Event, WalletMessage) {
        let event = self.next_event().await;
        event.verify().unwrap();
        let conversation = envelope::conversation_key(&self.keys, &event.pubkey).unwrap();
        let text = envelope::open(&conversation, &event).unwrap();
        let message = WalletMessage::from_event(&event, &text).unwrap();
        (event, message)
    }

    pub(crate) async fn next_handshake(&mut self) -> (Event, KeyHandshake) {
        match self.next().await {
            (event, WalletMessage::KeyHandshake(handshake)) => (event, handshake),
            other => panic!("{other:?}"),
        }
    }

    /// The next response. A handshake may come again: a wallet whose OK was cut off sends it once more.
    pub(crate) async fn next_response(&mut self) -> (Event, AuthResponse) {
        loop {
            match self.next().await {
                (event, WalletMessage::AuthResponse(response)) => return (event, response),
                (_, WalletMessage::KeyHandshake(_)) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    pub(crate) async fn next_proof(&mut self) -> (Event, SubkeyProof, EventId) {
        match self.next().await {
            (event, WalletMessage::SubkeyProof { proof, about }) => (event, proof, about),
            other => panic!("{other:?}"),
        }
    }

    /// Sends a message to `to`, tagged for `participants`.
    pub(crate) async fn send(&mut self, to: &PublicKey, participants: &[PublicKey], message: &ServiceMessage) -> Event {
        let event = self.seal(to, participants, message);
        self.raw.publish(&event).await;
        event
    }

    pub(crate) fn seal(&self, to: &PublicKey, participants: &[PublicKey], message: &ServiceMessage) -> Event {
        let conversation = envelope::conversation_key(&self.keys, to).unwrap();
        let now = nostr::Timestamp::now().as_secs();
        let (kind, text) = (message.kind(), message.to_json());
        envelope::seal(&self.keys, &conversation, participants, message.about(), kind, &text, now).unwrap()
    }

    pub(crate) async fn challenge(&mut self, to: &PublicKey, challenge: &str) -> Event {
        self.send(to, &[*to], &challenge_with(challenge, None)).await
    }
}

pub(crate) fn challenge_with(challenge: &str, subkey_proof: Option<SubkeyProof>) -> ServiceMessage {
    ServiceMessage::AuthChallenge(AuthChallenge {
        challenge: challenge.to_owned(),
        expires_at: nostr::Timestamp::now().as_secs() + 300,
        required_permissions: vec!["profile".to_owned()],
        subkey_proof,
    })
}

pub(crate) fn is_approved(response: &AuthResponse) -> bool {
    matches!(response.status, AuthStatus::Approved { .. })
}
