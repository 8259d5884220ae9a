use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::handshake_url::HandshakeUrl;

/// Services a wallet remembers; the oldest goes first.
const MAX_SERVICES: usize = 1_000;

/// Subkeys of a service that are remembered (docs/protocol.md, Subkeys).
const MAX_SUBKEYS: usize = 8;

/// A service whose handshake URL the user opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownService {
    pub main_key: PublicKey,
    /// The keys it ran on, as handshake URLs or proofs named them.
    #[serde(default)]
    pub subkeys: Vec<PublicKey>,
    pub relays: Vec<String>,
}

impl KnownService {
    pub(super) fn of(url: &HandshakeUrl, relays: &[String]) -> Self {
        Self { main_key: url.main_key, subkeys: url.subkey.into_iter().collect(), relays: relays.to_vec() }
    }

    pub fn has_key(&self, key: &PublicKey) -> bool {
        self.main_key == *key || self.subkeys.contains(key)
    }

    pub(super) fn remember(known: &mut Vec<Self>, service: &Self) {
        let Some(old) = known.iter_mut().find(|old| old.main_key == service.main_key) else {
            if known.len() >= MAX_SERVICES {
                known.remove(0);
            }
            known.push(service.clone());
            return;
        };
        old.relays.clone_from(&service.relays);
        for subkey in &service.subkeys {
            Self::add_subkey(known, &service.main_key, *subkey);
        }
    }

    /// Notes that a known service runs on this subkey, too; of many, the oldest is forgotten.
    pub(super) fn add_subkey(known: &mut [Self], main_key: &PublicKey, subkey: PublicKey) {
        let Some(service) = known.iter_mut().find(|service| service.main_key == *main_key) else { return };
        if !service.has_key(&subkey) {
            if service.subkeys.len() >= MAX_SUBKEYS {
                service.subkeys.remove(0);
            }
            service.subkeys.push(subkey);
        }
    }

    /// All keys of the service that has `key`, which comes first: the `p` tags of a message to it.
    pub(super) fn keys_of(known: &[Self], key: PublicKey) -> Vec<PublicKey> {
        let mut keys = vec![key];
        if let Some(service) = known.iter().find(|service| service.has_key(&key)) {
            keys.extend(std::iter::once(service.main_key).chain(service.subkeys.iter().copied()).filter(|k| *k != key));
        }
        keys
    }
}
