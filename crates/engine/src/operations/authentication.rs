//! Authentication: a user proves that they hold a key by answering our challenge.
//!
//! ```text
//! asking ──approved──▶ finished   StatusUpdate {status: approved, main_key, granted_permissions, session_token?}
//! asking ──declined──▶ finished   StatusUpdate {status: declined, main_key, reason?}
//! asking ──expired───▶ finished   StatusUpdate {status: timeout}
//! asking ──a device proves its subkey──▶ asking   the challenge is sent again, to that device too
//! ```
//!
//! An answer counts only from the asked key, a subkey the operator named, or a subkey whose proof leads to the asked main
//! key (wallet-protocol.md section 4). All else is ignored, so that a stranger can neither approve nor end it.
//!
//! | crash … | what resume does |
//! | --- | --- |
//! | before the start is committed | nothing was acknowledged; nothing is there |
//! | after the start, before or after the challenge is sent | the outbox sends it (again) until answered or expired |
//! | before an answer is committed | the challenge goes out again, and the wallet repeats its answer |
//! | after an answer | the event is in the stream; the same answer again finds nothing open |

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::json;
use usher_protocol::PublicKey;
use usher_protocol::kind;
use usher_protocol::message::{AuthChallenge, AuthResponse, AuthStatus, ServiceMessage, WalletMessage};
use usher_protocol::subkey::{Permission, SubkeyProof};

use super::{Effect, Input, Outcome, emit, millis};
use crate::UnixMillis;
use crate::event::EventType;
use crate::ports::{CorrelationKey, OutboxMessage};

/// Most subkeys one conversation may have (wallet-protocol.md section 6).
pub const MAX_SUBKEYS: usize = 8;

/// The state of an authentication.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authentication {
    challenge: String,
    /// The key the operator asked.
    asked: PublicKey,
    /// The main key of the conversation: the asked one, until a proof says that it is a subkey of another.
    main_key: PublicKey,
    /// Keys the operator named: they need no proof.
    subkeys: Vec<PublicKey>,
    /// Keys of devices that proved to be subkeys of the main key.
    devices: Vec<Device>,
    #[serde(with = "millis")]
    expires_at: UnixMillis,
    /// The service's own proof, when it runs on a subkey.
    service_proof: Option<SubkeyProof>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Device {
    key: PublicKey,
    /// Checked anew when the device answers: it may have expired meanwhile.
    proof: SubkeyProof,
}

impl fmt::Debug for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authentication").field("main_key", &self.main_key).finish_non_exhaustive()
    }
}

impl Authentication {
    /// Asks `main_key`, whose `subkeys` may answer without a proof, until `expires_at`; the challenge must be random.
    pub fn start(
        challenge: String,
        main_key: PublicKey,
        subkeys: &[PublicKey],
        expires_at: UnixMillis,
        service_proof: Option<SubkeyProof>,
    ) -> (Self, Vec<Effect>) {
        let mut named: Vec<PublicKey> = Vec::new();
        for key in subkeys {
            if *key != main_key && !named.contains(key) && named.len() < MAX_SUBKEYS {
                named.push(*key);
            }
        }
        let state = Self {
            challenge,
            asked: main_key,
            main_key,
            subkeys: named,
            devices: Vec::new(),
            expires_at,
            service_proof,
        };
        let ask = state.ask();
        (state, vec![ask])
    }

    pub(super) const fn expires_at(&self) -> UnixMillis {
        self.expires_at
    }

    pub(super) fn correlation(&self) -> CorrelationKey {
        CorrelationKey::challenge(&self.challenge)
    }

    pub(super) fn step(&mut self, input: &Input, now: UnixMillis) -> Outcome {
        match input {
            Input::Timer if now >= self.expires_at => {
                let data = json!({ "status": "timeout", "reason": "the user did not answer in time" });
                Outcome::Stepped(vec![emit(EventType::StatusUpdate, data, now), Effect::Finish])
            }
            // Between expiry and the timer nothing counts any more: the wallet was told when it ends.
            _ if now >= self.expires_at => Outcome::Ignored,
            Input::Wallet { author, message: WalletMessage::AuthResponse(response), .. } => {
                self.answered(author, response, now)
            }
            Input::Wallet { author, message: WalletMessage::SubkeyProof { proof, .. }, .. } => {
                self.proven(author, proof, now)
            }
            Input::Wallet { .. } | Input::Timer => Outcome::Ignored,
        }
    }

    fn answered(&self, author: &PublicKey, response: &AuthResponse, now: UnixMillis) -> Outcome {
        if response.challenge != self.challenge {
            return Outcome::Ignored;
        }
        let Some(main_key) = self.main_key_of(author, response.subkey_proof.as_ref(), now) else {
            return Outcome::Ignored;
        };
        let data = match &response.status {
            AuthStatus::Approved { granted_permissions, session_token } => json!({
                "status": "approved",
                "main_key": main_key.to_hex(),
                "granted_permissions": granted_permissions,
                "session_token": session_token,
            }),
            AuthStatus::Declined { reason } => json!({
                "status": "declined",
                "main_key": main_key.to_hex(),
                "reason": reason,
            }),
        };
        Outcome::Stepped(vec![emit(EventType::StatusUpdate, data, now), Effect::Finish])
    }

    /// The main key that an answer of `author` proves, if it counts at all.
    fn main_key_of(&self, author: &PublicKey, proof: Option<&SubkeyProof>, now: UnixMillis) -> Option<PublicKey> {
        let proven = proof.filter(|proof| counts(proof, author, now)).map(|proof| proof.main_key);
        if *author == self.asked {
            // The asked key itself; with a proof, it is a subkey of the proof's main key.
            return proven.or(Some(self.main_key));
        }
        if *author == self.main_key || self.subkeys.contains(author) {
            return Some(self.main_key);
        }
        let device_counts =
            self.devices.iter().any(|device| device.key == *author && counts(&device.proof, author, now));
        (proven == Some(self.main_key) || device_counts).then_some(self.main_key)
    }

    /// A device could not read the challenge, and proves to be a subkey: it is asked too.
    fn proven(&mut self, author: &PublicKey, proof: &SubkeyProof, now: UnixMillis) -> Outcome {
        if !counts(proof, author, now) {
            return Outcome::Ignored;
        }
        let known = self.devices.iter().any(|device| device.key == *author);
        let full = self.subkeys.len() + self.devices.len() >= MAX_SUBKEYS;
        if *author == self.asked && self.main_key == self.asked && proof.main_key != self.asked && !full {
            // The operator named a subkey as main key.
            self.main_key = proof.main_key;
        } else if proof.main_key != self.main_key || known || self.subkeys.contains(author) || full {
            return Outcome::Ignored;
        }
        self.devices.push(Device { key: *author, proof: proof.clone() });
        Outcome::Stepped(vec![self.ask()])
    }

    fn ask(&self) -> Effect {
        let mut keys = vec![self.main_key];
        let others = self.subkeys.iter().chain(self.devices.iter().map(|device| &device.key)).chain([&self.asked]);
        for key in others {
            if !keys.contains(key) {
                keys.push(*key);
            }
        }
        let message = ServiceMessage::AuthChallenge(AuthChallenge {
            challenge: self.challenge.clone(),
            expires_at: self.expires_at.secs(),
            required_permissions: Vec::new(),
            subkey_proof: self.service_proof.clone(),
        });
        Effect::Send(OutboxMessage {
            kind: kind::AUTH_CHALLENGE,
            content: message.to_json(),
            main_key: self.main_key,
            recipients: keys.clone(),
            participants: keys,
            until: self.expires_at,
        })
    }
}

fn counts(proof: &SubkeyProof, author: &PublicKey, now: UnixMillis) -> bool {
    proof.verify(author, Permission::Auth, now.secs()).is_ok()
}

#[cfg(test)]
mod tests;
