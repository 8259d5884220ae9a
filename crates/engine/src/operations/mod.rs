//! Operations: small pure state machines, one file each, with no clock, no network and no database in them.
//!
//! An operation gets an [`Input`] and the time, changes its state, and says what shall happen as [`Effect`]s. The engine
//! commits state and effects in one transaction; only then do they take place.

mod authentication;
#[cfg(test)]
mod fixtures;
mod key_handshake;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use usher_protocol::PublicKey;
use usher_protocol::message::WalletMessage;

pub use authentication::{Authentication, MAX_SUBKEYS};
pub use key_handshake::KeyHandshake;

use crate::UnixMillis;
use crate::event::{EventType, NewEvent};
use crate::ports::{CorrelationKey, OperationKind, OutboxMessage, State, UserRelays};

/// The state of an operation, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "snake_case")]
pub enum Operation {
    /// A key handshake.
    KeyHandshake(KeyHandshake),
    /// A key authentication.
    Authentication(Authentication),
}

/// What happens to an operation.
#[expect(
    clippy::large_enum_variant,
    reason = "an input lives for one step; a box would only stand between the patterns"
)]
#[derive(Clone, Debug)]
pub enum Input {
    /// A wallet's message that belongs to it.
    Wallet {
        /// Who signed it.
        author: PublicKey,
        /// When its author says it was made.
        sent_at: UnixMillis,
        /// What it says.
        message: WalletMessage,
    },
    /// The time it asked to be woken at has come.
    Timer,
}

/// What an operation wants to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The app is told.
    Emit(NewEvent),
    /// The user is sent a message, again and again until the operation is finished or sends another.
    Send(OutboxMessage),
    /// A user's relays are remembered.
    RememberRelays(UserRelays),
    /// The operation is over: no input reaches it any more, nothing more is sent.
    Finish,
}

/// What an input did to an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing: the input did not count. The state is as it was.
    Ignored,
    /// The state may have changed, and this shall happen.
    Stepped(Vec<Effect>),
}

impl Operation {
    /// Its kind.
    pub const fn kind(&self) -> OperationKind {
        match self {
            Self::KeyHandshake(_) => OperationKind::KeyHandshake,
            Self::Authentication(_) => OperationKind::Authentication,
        }
    }

    /// When it wants to be woken.
    pub const fn wake_at(&self) -> Option<UnixMillis> {
        match self {
            Self::KeyHandshake(handshake) => handshake.expires_at(),
            Self::Authentication(authentication) => Some(authentication.expires_at()),
        }
    }

    /// By what wallets' messages are matched to it.
    pub fn correlation(&self) -> CorrelationKey {
        match self {
            Self::KeyHandshake(handshake) => handshake.correlation(),
            Self::Authentication(authentication) => authentication.correlation(),
        }
    }

    /// Takes an input.
    pub fn step(&mut self, input: &Input, now: UnixMillis) -> Outcome {
        match self {
            Self::KeyHandshake(handshake) => handshake.step(input, now),
            Self::Authentication(authentication) => authentication.step(input, now),
        }
    }

    /// The state as it is stored.
    ///
    /// # Errors
    /// None in practice: every state is made of strings and numbers.
    pub fn to_state(&self) -> Result<State, serde_json::Error> {
        serde_json::to_string(self).map(State)
    }

    /// The operation whose stored state this is.
    ///
    /// # Errors
    /// When the text is not a state that this version knows.
    pub fn from_state(state: &State) -> Result<Self, serde_json::Error> {
        serde_json::from_str(&state.0)
    }
}

/// An event with these data, leaving out members that are `null`.
fn emit(event_type: EventType, mut data: Value, at: UnixMillis) -> Effect {
    if let Some(members) = data.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    Effect::Emit(NewEvent { event_type, at, data: data.to_string().into() })
}

/// Unix milliseconds as a number in the state.
mod millis {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::UnixMillis;

    #[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
    pub(super) fn serialize<S: Serializer>(at: &UnixMillis, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(at.0)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<UnixMillis, D::Error> {
        u64::deserialize(deserializer).map(UnixMillis)
    }
}
