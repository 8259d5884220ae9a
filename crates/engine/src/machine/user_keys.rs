//! The keys of a user: to which a request is sent, and whose reply is valid: that of the requested key, of a subkey
//! named by the operator, or of a subkey with a proof for the requested main key (docs/protocol.md, Authentication).

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::message::ServiceMessage;
use usher_protocol::subkey::{Permission, SubkeyProof};

use crate::UnixMillis;
use crate::ports::OutboxMessage;

/// Most subkeys of one user (docs/protocol.md, Subkeys).
pub const MAX_SUBKEYS: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UserKeys {
    #[serde(rename = "asked")]
    requested_key: PublicKey,
    /// The user's main key: the requested key, unless a proof shows that it is a subkey of another.
    main_key: PublicKey,
    /// Keys named by the operator, which need no proof.
    subkeys: Vec<PublicKey>,
    devices: Vec<Device>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Device {
    key: PublicKey,
    /// Checked again at each reply, because it may have expired.
    proof: SubkeyProof,
}

impl UserKeys {
    /// The keys of `main_key`, whose `subkeys` may reply without a proof; those beyond [`MAX_SUBKEYS`] are omitted.
    pub(crate) fn new(main_key: PublicKey, subkeys: &[PublicKey]) -> Self {
        let mut named: Vec<PublicKey> = Vec::new();
        for key in subkeys {
            if *key != main_key && !named.contains(key) && named.len() < MAX_SUBKEYS {
                named.push(*key);
            }
        }
        Self { requested_key: main_key, main_key, subkeys: named, devices: Vec::new() }
    }

    pub(crate) const fn main_key(&self) -> PublicKey {
        self.main_key
    }

    pub(crate) const fn requested_key(&self) -> PublicKey {
        self.requested_key
    }

    /// The keys named by the operator in addition to the main key, for later requests to the user.
    pub(crate) fn named(&self) -> Vec<PublicKey> {
        let asked = (self.requested_key != self.main_key).then_some(self.requested_key);
        self.subkeys.iter().copied().chain(asked).collect()
    }

    pub(crate) fn keys(&self) -> Vec<PublicKey> {
        let mut keys = vec![self.main_key];
        let others =
            self.subkeys.iter().chain(self.devices.iter().map(|device| &device.key)).chain([&self.requested_key]);
        for key in others {
            if !keys.contains(key) {
                keys.push(*key);
            }
        }
        keys
    }

    pub(crate) fn is_with(&self, key: &PublicKey) -> bool {
        *key == self.main_key || *key == self.requested_key
    }

    /// The main key proven by a reply of `author`; `None` if the reply is not valid.
    pub(crate) fn main_key_of(
        &self,
        author: &PublicKey,
        proof: Option<&SubkeyProof>,
        permission: Permission,
        now: UnixMillis,
    ) -> Option<PublicKey> {
        let proven = proof.filter(|proof| counts(proof, author, permission, now)).map(|proof| proof.main_key);
        if *author == self.requested_key && self.requested_key == self.main_key {
            // The requested key itself; with a proof, it is a subkey of the proof's main key.
            return proven.or(Some(self.main_key));
        }
        if *author == self.main_key || self.subkeys.contains(author) {
            return Some(self.main_key);
        }
        let device_counts =
            self.devices.iter().any(|device| device.key == *author && counts(&device.proof, author, permission, now));
        (proven == Some(self.main_key) || device_counts).then_some(self.main_key)
    }

    /// Whether a reply of `author` without a proof is valid for payments.
    pub(crate) fn may_pay(&self, author: &PublicKey, now: UnixMillis) -> bool {
        self.main_key_of(author, None, Permission::Payment, now).is_some()
    }

    /// Handles the subkey proof of a device that could not read a message; returns whether it is a new recipient.
    pub(crate) fn prove(
        &mut self,
        author: &PublicKey,
        proof: &SubkeyProof,
        permission: Permission,
        now: UnixMillis,
    ) -> bool {
        if !counts(proof, author, permission, now) {
            return false;
        }
        if self.subkeys.len() + self.devices.len() >= MAX_SUBKEYS {
            // A subscription may outlive many devices.
            self.devices.retain(|device| counts(&device.proof, &device.key, permission, now));
        }
        let known = self.devices.iter().any(|device| device.key == *author);
        let full = self.subkeys.len() + self.devices.len() >= MAX_SUBKEYS;
        if *author == self.requested_key
            && self.main_key == self.requested_key
            && proof.main_key != self.requested_key
            && !full
        {
            // The operator gave a subkey as main key.
            self.main_key = proof.main_key;
        } else if proof.main_key != self.main_key || known || self.subkeys.contains(author) || full {
            return false;
        }
        self.devices.push(Device { key: *author, proof: proof.clone() });
        true
    }

    pub(crate) fn message(&self, message: &ServiceMessage, until: UnixMillis) -> OutboxMessage {
        let keys = self.keys();
        self.message_to(keys.clone(), keys, message, until)
    }

    /// The message for a key that has just proven itself, and for no other: wallets lose a copy that arrives right
    /// after another. If the proof has revealed the main key, that key gets it, too.
    pub(crate) fn message_to_proven(
        &self,
        author: &PublicKey,
        message: &ServiceMessage,
        until: UnixMillis,
    ) -> OutboxMessage {
        let found_main =
            (*author == self.requested_key && self.requested_key != self.main_key).then_some(self.main_key);
        let recipients = [*author].into_iter().chain(found_main).collect();
        self.message_to(recipients, self.keys(), message, until)
    }

    fn message_to(
        &self,
        recipients: Vec<PublicKey>,
        participants: Vec<PublicKey>,
        message: &ServiceMessage,
        until: UnixMillis,
    ) -> OutboxMessage {
        OutboxMessage {
            kind: message.kind(),
            content: message.to_json(),
            main_key: self.main_key,
            recipients,
            participants,
            until,
            made_at: UnixMillis(0),
            not_before: UnixMillis(0),
        }
    }
}

/// Deserialises a user's optional keys among the fields of an operation: all of them, or none.
///
/// # Errors
/// Some are missing or invalid, for which serde's own `Option` would return `None`.
pub(crate) fn all_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<UserKeys>, D::Error> {
    let fields = serde_json::Map::deserialize(deserializer)?;
    let names = ["asked", "main_key", "subkeys", "devices"];
    if names.iter().all(|name| !fields.contains_key(*name)) {
        return Ok(None);
    }
    serde_json::from_value(fields.into()).map(Some).map_err(D::Error::custom)
}

fn counts(proof: &SubkeyProof, author: &PublicKey, permission: Permission, now: UnixMillis) -> bool {
    proof.verify(author, permission, now.secs()).is_ok()
}
