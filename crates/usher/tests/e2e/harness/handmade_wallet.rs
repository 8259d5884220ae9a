//! A wallet whose messages a test writes. They are injected at a relay ([`QuirkyRelay::inject`]), so they can be anything.

use serde_json::{Value, json};
use usher_protocol::handshake_url::HandshakeUrl;
use usher_protocol::message::AuthChallenge;
use usher_protocol::subkey::Permission;
use usher_protocol::{Event, Keys, PublicKey, envelope, kind};
use usher_sandbox::wallet::{DeviceTerms, Identity};
use usher_testing::relay::{QuirkyRelay, RelayMetrics};

use super::LONG;

/// A key that can send any message to a service.
#[derive(Clone)]
pub(crate) struct HandmadeWallet {
    keys: Keys,
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

    fn seal(&self, to: PublicKey, kind: u16, text: &Value) -> Event {
        let conversation = envelope::conversation_key(&self.keys, &to).unwrap();
        envelope::seal(&self.keys, &conversation, &[to], None, kind, &text.to_string(), now()).unwrap()
    }

    pub(crate) fn handshake(&self, url: &HandshakeUrl) -> Event {
        let message = json!({"token": url.token, "preferred_relays": []});
        self.seal(url.recipient(), kind::KEY_HANDSHAKE, &message)
    }

    pub(crate) fn answer(&self, to: PublicKey, challenge: &str, status: &Value) -> Event {
        self.seal(to, kind::AUTH_RESPONSE, &json!({"challenge": challenge, "subkey_proof": null, "status": status}))
    }

    /// Waits until a challenge for this key passes the relay that is not one of `known`.
    pub(crate) async fn challenged(&self, relay: &QuirkyRelay, known: &[String]) -> String {
        loop {
            let challenges = |metrics: &RelayMetrics| metrics.events_of(kind::AUTH_CHALLENGE);
            let before = challenges(&relay.metrics());
            let seen = relay.seen();
            let mut received = seen.iter().rev().filter_map(|event| self.read_challenge(event));
            if let Some(found) = received.find(|found| !known.contains(found)) {
                return found;
            }
            relay.wait_for(LONG, |metrics| challenges(metrics) > before).await.expect("no challenge came");
        }
    }

    fn read_challenge(&self, event: &Event) -> Option<String> {
        if event.kind.as_u16() != kind::AUTH_CHALLENGE {
            return None;
        }
        let conversation = envelope::conversation_key(&self.keys, &event.pubkey).ok()?;
        let challenge: AuthChallenge = serde_json::from_str(&envelope::open(&conversation, event).ok()?).ok()?;
        Some(challenge.challenge)
    }
}
