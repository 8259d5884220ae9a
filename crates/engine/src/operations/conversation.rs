//! A conversation with a user: whom a request goes to, and whose answer counts.
//!
//! An answer counts only from the asked key, a subkey the operator named, or a subkey whose proof leads to the asked main
//! key (docs/protocol.md, Authentication). All else is ignored, so that a stranger can neither agree nor refuse.

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::message::ServiceMessage;
use usher_protocol::subkey::{Permission, SubkeyProof};

use crate::UnixMillis;
use crate::ports::OutboxMessage;

/// Most subkeys one conversation may have (docs/protocol.md, Subkeys).
pub const MAX_SUBKEYS: usize = 8;

/// Whom we talk to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Conversation {
    /// The key the operator asked.
    asked: PublicKey,
    /// The main key of the conversation: the asked one, until a proof says that it is a subkey of another.
    main_key: PublicKey,
    /// Keys the operator named: they need no proof.
    subkeys: Vec<PublicKey>,
    /// Keys of devices that proved to be subkeys of the main key.
    devices: Vec<Device>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Device {
    key: PublicKey,
    /// Checked anew when the device answers: it may have expired meanwhile.
    proof: SubkeyProof,
}

impl Conversation {
    /// With `main_key`, whose `subkeys` may answer without a proof; those beyond [`MAX_SUBKEYS`] are left out.
    pub(super) fn new(main_key: PublicKey, subkeys: &[PublicKey]) -> Self {
        let mut named: Vec<PublicKey> = Vec::new();
        for key in subkeys {
            if *key != main_key && !named.contains(key) && named.len() < MAX_SUBKEYS {
                named.push(*key);
            }
        }
        Self { asked: main_key, main_key, subkeys: named, devices: Vec::new() }
    }

    pub(super) const fn main_key(&self) -> PublicKey {
        self.main_key
    }

    /// The keys the operator named, beside the main key: they are named again when the user is asked something else.
    pub(super) fn named(&self) -> Vec<PublicKey> {
        let asked = (self.asked != self.main_key).then_some(self.asked);
        self.subkeys.iter().copied().chain(asked).collect()
    }

    /// Everybody whose answer may count.
    pub(super) fn keys(&self) -> Vec<PublicKey> {
        let mut keys = vec![self.main_key];
        let others = self.subkeys.iter().chain(self.devices.iter().map(|device| &device.key)).chain([&self.asked]);
        for key in others {
            if !keys.contains(key) {
                keys.push(*key);
            }
        }
        keys
    }

    /// Whether the operator may mean this conversation's user by `key`.
    pub(super) fn is_with(&self, key: &PublicKey) -> bool {
        *key == self.main_key || *key == self.asked
    }

    /// The main key that an answer of `author` proves, if it counts at all.
    pub(super) fn main_key_of(
        &self,
        author: &PublicKey,
        proof: Option<&SubkeyProof>,
        permission: Permission,
        now: UnixMillis,
    ) -> Option<PublicKey> {
        let proven = proof.filter(|proof| counts(proof, author, permission, now)).map(|proof| proof.main_key);
        if *author == self.asked && self.asked == self.main_key {
            // The asked key itself; with a proof, it is a subkey of the proof's main key.
            return proven.or(Some(self.main_key));
        }
        if *author == self.main_key || self.subkeys.contains(author) {
            return Some(self.main_key);
        }
        let device_counts =
            self.devices.iter().any(|device| device.key == *author && counts(&device.proof, author, permission, now));
        (proven == Some(self.main_key) || device_counts).then_some(self.main_key)
    }

    /// Whether an answer of `author` without a proof of its own counts for what moves value.
    pub(super) fn may_pay(&self, author: &PublicKey, now: UnixMillis) -> bool {
        self.main_key_of(author, None, Permission::Payment, now).is_some()
    }

    /// A device could not read a message, and proves to be a subkey; says whether it is one more to ask.
    pub(super) fn prove(
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
            // A subscription may outlive many a device.
            self.devices.retain(|device| counts(&device.proof, &device.key, permission, now));
        }
        let known = self.devices.iter().any(|device| device.key == *author);
        let full = self.subkeys.len() + self.devices.len() >= MAX_SUBKEYS;
        if *author == self.asked && self.main_key == self.asked && proof.main_key != self.asked && !full {
            // The operator named a subkey as main key.
            self.main_key = proof.main_key;
        } else if proof.main_key != self.main_key || known || self.subkeys.contains(author) || full {
            return false;
        }
        self.devices.push(Device { key: *author, proof: proof.clone() });
        true
    }

    /// `message` to everybody who takes part, sent again until `until`.
    pub(super) fn message(&self, message: &ServiceMessage, until: UnixMillis) -> OutboxMessage {
        let keys = self.keys();
        self.message_to(keys.clone(), keys, message, until)
    }

    /// The same to a key that has just proven itself, and to nobody else: wallets lose a copy that arrives right behind another.
    /// Only when the proof has told who the main key is, that key is asked too: it was not before.
    pub(super) fn message_to_proven(
        &self,
        author: &PublicKey,
        message: &ServiceMessage,
        until: UnixMillis,
    ) -> OutboxMessage {
        let found_main = (*author == self.asked && self.asked != self.main_key).then_some(self.main_key);
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

fn counts(proof: &SubkeyProof, author: &PublicKey, permission: Permission, now: UnixMillis) -> bool {
    proof.verify(author, permission, now.secs()).is_ok()
}
