//! The messenger port: messages to and from users' wallets.

use std::sync::Arc;

use usher_protocol::message::WalletMessage;
use usher_protocol::{EventId, Keys, PublicKey};

use crate::UnixMillis;

/// Sends messages to wallets.
pub trait Messenger: Send + Sync {
    /// Seals the message, one event per recipient, into the relays' queues; never waits for the network. Events for one
    /// user are spaced, because wallets lose one that arrives right after another. Returns the events' ids, with which
    /// a device refers to an event that it cannot read.
    fn send(&self, message: &OutgoingMessage) -> Vec<EventId>;

    /// Addresses of the service's own relays, for handshake URLs.
    fn relays(&self) -> Vec<String>;

    /// Whether wallets can reach the service: one of its own relays is connected, or the first attempt is under way.
    fn is_reachable(&self) -> bool;
}

/// A message to a user's wallets. `Debug` omits the content, which may contain ecash.
#[derive(Clone, PartialEq, Eq)]
pub struct OutgoingMessage {
    /// Event kind (`usher_protocol::kind`).
    pub kind: u16,
    /// The message's JSON text.
    pub content: String,
    /// The keys to which it is encrypted, one event each.
    pub recipients: Vec<PublicKey>,
    /// All keys of the user in this conversation: the `p` tags, the same on every copy.
    pub participants: Vec<PublicKey>,
    /// The user's own relays, used in addition to the service's.
    pub relays: Vec<String>,
    /// Until when a reply is awaited, and the connections to the user's own relays stay open.
    pub until: UnixMillis,
    /// The events' `created_at`. The same message and time give the same event ids, so wallets recognise repetitions.
    pub made_at: UnixMillis,
    /// The signer, if not the service: the key of a verification session.
    pub signer: Option<Keys>,
}

usher_protocol::debug_shows!(OutgoingMessage { kind });

/// A message from a wallet: verified, decrypted and parsed, but not yet matched to an operation.
#[derive(Clone, Debug)]
pub struct Inbound {
    /// The Nostr event's id: the same event from several relays is one message.
    pub event_id: EventId,
    /// The signing key.
    pub author: PublicKey,
    /// The event's `created_at`, in Unix seconds; within the transport's tolerance of now.
    pub created_at: u64,
    /// The message.
    pub message: WalletMessage,
    /// How it arrived.
    pub via: Via,
}

/// How a wallet's message arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Via {
    /// The address of the service's relay that delivered it; `None` for a user's relay.
    pub relay: Option<Arc<str>>,
    /// Whether another relay delivered it before. Only key handshakes (27010) are then passed on: limits are per relay.
    pub copy: bool,
}
