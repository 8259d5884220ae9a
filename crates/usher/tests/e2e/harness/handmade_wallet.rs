//! A wallet whose messages a test writes. They are injected at a relay ([`QuirkyRelay::inject`]), so they can be anything.

use serde_json::{Value, json};
use usher_protocol::handshake_url::HandshakeUrl;
use usher_protocol::message::AuthChallenge;
use usher_protocol::subkey::{Permission, SubkeyProof};
use usher_protocol::{Event, EventId, Keys, PublicKey, envelope, kind};
use usher_sandbox::wallet::{DeviceTerms, Identity};
use usher_testing::relay::{QuirkyRelay, RelayMetrics};

use super::LONG;

/// A key that can send any message to a service.
#[derive(Clone)]
pub(crate) struct HandmadeWallet {
    pub(crate) keys: Keys,
}

/// Unix seconds.
pub(crate) fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

/// A device of `user`: allowed `permissions`, from `valid_from` until `expires_at`.
pub(crate) fn device(user: &Identity, permissions: &[Permission], valid_from: u64, expires_at: u64) -> Identity {
    let permissions = permissions.to_vec();
    user.device(DeviceTerms { name: "a device".to_owned(), valid_from, expires_at, permissions }).expect("a device")
}

impl HandmadeWallet {
    pub(crate) fn new() -> Self {
        Self { keys: Keys::generate() }
    }

    pub(crate) fn public_key(&self) -> PublicKey {
        self.keys.public_key()
    }

    /// An event with `text` to `to`.
    pub(crate) fn seal(&self, to: PublicKey, kind: u16, text: &str) -> Event {
        self.seal_at(to, kind, text, None, now())
    }

    /// An event with `text` to `to`, about an event, at a time.
    pub(crate) fn seal_at(&self, to: PublicKey, kind: u16, text: &str, about: Option<EventId>, at: u64) -> Event {
        let conversation = envelope::conversation_key(&self.keys, &to).unwrap();
        envelope::seal(&self.keys, &conversation, &[to], about, kind, text, at).unwrap()
    }

    pub(crate) fn handshake(&self, url: &HandshakeUrl) -> Event {
        let text = json!({"token": url.token, "preferred_relays": []}).to_string();
        self.seal(url.recipient(), kind::KEY_HANDSHAKE, &text)
    }

    pub(crate) fn approval(&self, to: PublicKey, challenge: &str, proof: Option<&SubkeyProof>) -> Event {
        let status = json!({"status": "approved", "granted_permissions": [], "session_token": null});
        self.answer(to, challenge, proof, &status)
    }

    pub(crate) fn answer(&self, to: PublicKey, challenge: &str, proof: Option<&SubkeyProof>, status: &Value) -> Event {
        let text = json!({"challenge": challenge, "subkey_proof": proof, "status": status}).to_string();
        self.seal(to, kind::AUTH_RESPONSE, &text)
    }

    /// Waits until a challenge for this key passes the relay; answers it and the event it came in.
    pub(crate) async fn challenged(&self, relay: &QuirkyRelay) -> (AuthChallenge, Event) {
        self.challenged_again(relay, &[]).await
    }

    /// As [`challenged`](Self::challenged), for a challenge that is not one of `known`.
    pub(crate) async fn challenged_again(&self, relay: &QuirkyRelay, known: &[&str]) -> (AuthChallenge, Event) {
        loop {
            let challenges = |metrics: &RelayMetrics| metrics.events_of(kind::AUTH_CHALLENGE);
            let before = challenges(&relay.metrics());
            let mut seen = relay.seen();
            seen.reverse();
            let found = seen.into_iter().find_map(|event| {
                let challenge = self.read_challenge(&event)?;
                (!known.contains(&challenge.challenge.as_str())).then_some((challenge, event))
            });
            if let Some(found) = found {
                return found;
            }
            relay.wait_for(LONG, |metrics| challenges(metrics) > before).await.expect("no challenge came");
        }
    }

    /// The challenge in an event, if it is one for this key.
    pub(crate) fn read_challenge(&self, event: &Event) -> Option<AuthChallenge> {
        if event.kind.as_u16() != kind::AUTH_CHALLENGE {
            return None;
        }
        let conversation = envelope::conversation_key(&self.keys, &event.pubkey).ok()?;
        serde_json::from_str(&envelope::open(&conversation, event).ok()?).ok()
    }
}
