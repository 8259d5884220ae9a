//! The messenger port: the way to users' wallets and back.

use std::fmt;
use std::sync::Arc;

use usher_protocol::message::WalletMessage;
use usher_protocol::{EventId, Keys, PublicKey};

use crate::UnixMillis;

/// Sends messages to wallets.
pub trait Messenger: Send + Sync {
    /// Seals the letter, one event per recipient, and puts the events into the relays' queues. Events for one user leave a
    /// moment apart: wallets lose one that arrives right behind another.
    ///
    /// Never waits for the network, and says nothing about arrival: the only receipt is the wallet's answer. Returns
    /// the ids of the events made, by which a device that cannot read one refers to it.
    fn send(&self, letter: &OutgoingMessage) -> Vec<EventId>;

    /// Addresses of our relays, for handshake URLs.
    fn relays(&self) -> Vec<String>;
}

/// A message to a user's wallets. `Debug` leaves the content out: it may hold ecash.
#[derive(Clone, PartialEq, Eq)]
pub struct OutgoingMessage {
    /// Event kind (`usher_protocol::kind`).
    pub kind: u16,
    /// The message's JSON text.
    pub content: String,
    /// Whom to encrypt it to: one event each.
    pub recipients: Vec<PublicKey>,
    /// Every key taking part on the far side: the `p` tags, the same on every copy.
    pub participants: Vec<PublicKey>,
    /// The user's own relays, used beside ours.
    pub relays: Vec<String>,
    /// Until when an answer is awaited: so long the user's own relays are listened to.
    pub until: UnixMillis,
    /// When the events are made, as they say. The same letter with the same time gives the same events, also after a restart:
    /// wallets know a repetition by the event's id.
    pub made_at: UnixMillis,
    /// Who signs it, if not the service: the key of a verification session.
    pub signer: Option<Keys>,
}

impl fmt::Debug for OutgoingMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutgoingMessage").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// A message from a wallet: verified, decrypted, parsed; not yet known to belong to anything.
#[derive(Clone, Debug)]
pub struct Inbound {
    /// The Nostr event's id: the same event from several relays is one message.
    pub event_id: EventId,
    /// Who signed it.
    pub author: PublicKey,
    /// When its author says it was made, in Unix seconds; within the transport's tolerance of now.
    pub created_at: u64,
    /// What it says.
    pub message: WalletMessage,
    /// How it came.
    pub via: Via,
}

/// How a wallet's message came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Via {
    /// The address of the relay of ours that delivered it; `None` for a user's relay.
    pub relay: Option<Arc<str>>,
    /// Another relay has delivered the same event before. Only key handshakes (27010) are handed on again, once for each relay:
    /// what a limit of one relay refuses may come in over another.
    pub copy: bool,
}
