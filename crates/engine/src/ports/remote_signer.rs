//! The remote signer port: a program that holds a user's key and signs on request, reached over relays (NIP-46).

use async_trait::async_trait;
use tokio::sync::mpsc;
use usher_protocol::Event;

/// Requests signatures from users' remote signers.
///
/// A session begins with an address: ours (`nostrconnect://`), which the user opens in their signer, or the signer's
/// (`bunker://`). The caller stores the session to reach the same signer later. Only a signed event is proof.
#[async_trait]
pub trait RemoteSigner: Send + Sync {
    /// Begins a session with an unknown signer: the user opens its [`address`](Self::address) in it.
    ///
    /// # Errors
    /// [`RemoteSignerError::Unreachable`] if no relay is configured.
    fn invite(&self) -> Result<SignerSession, RemoteSignerError>;

    /// Begins a session with the signer at this address (`bunker://`).
    fn accept(&self, address: &str) -> Result<SignerSession, InvalidSignerAddress>;

    /// The secret address (`nostrconnect://`) to open in the signer; `None` once the signer is known.
    fn address(&self, session: &SignerSession) -> Option<String>;

    /// The stage of a session. A damaged one counts as connected, so that nothing is waited for.
    fn stage(&self, session: &SignerSession) -> SignerStage;

    /// Has the signer of `session` sign an event; returns exactly that event, signed. Repeats the request while the
    /// signer does not reply, without a time limit; dropping the future ends it.
    async fn sign(
        &self,
        session: SignerSession,
        wanted: WantedEvent,
        progress: mpsc::Sender<SignerProgress>,
    ) -> Result<SignedEvent, RemoteSignerError>;
}

/// What is needed to reach a user's signer, in a form of the adapter's. It contains a key: `Debug` hides it.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct SignerSession(pub String);

usher_protocol::debug_shows!(SignerSession(..));

/// The stage of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignerStage {
    /// No signer has opened our address yet.
    AwaitingScan,
    /// The signer at the pasted address has not accepted the connection yet.
    AwaitingBunker,
    /// The signer has accepted the connection.
    Connected,
}

/// An event to sign. Its `created_at` is the time of the first request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedEvent {
    /// The kind.
    pub kind: u16,
    /// The content.
    pub content: String,
    /// The tags.
    pub tags: Vec<Vec<String>>,
}

/// A signed event. Id and signature are verified, and everything but the author matches the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedEvent {
    /// The event. Its author is the user.
    pub event: Event,
    /// The current session, to reach the same signer again.
    pub session: SignerSession,
}

/// Progress before the signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignerProgress {
    /// At least one relay delivers the signer's messages: its user can open the address now.
    Listening,
    /// The signer has replied. The session also reaches it after a restart.
    Connected(SignerSession),
    /// The user must confirm on this page of their signer: an `https://` address, or one of this machine.
    Confirm(String),
    /// The signer does not reply; the user may have to open it.
    Silent,
}

/// A text is not the address of a signer. Does not contain the text, which may be a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSignerAddress {
    /// Not `bunker://<key>?relay=<url>`.
    #[error("is not the address of a signer: bunker://<key>?relay=<url>&secret=<secret>")]
    Malformed,
    /// It names no usable relay.
    #[error("names no relay on the public Internet")]
    NoRelay,
}

/// Why there is no signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteSignerError {
    /// The signer, or its user, refuses the connection.
    #[error("the signer refuses the connection: {0}")]
    ConnectionRefused(String),
    /// The signer, or its user, refuses to sign.
    #[error("the signer refuses to sign: {reason}")]
    SignatureRefused {
        /// The signer's reason, which may be shown.
        reason: String,
        /// The current session, for a later request; `None` if it can no longer be used.
        session: Option<SignerSession>,
    },
    /// The signer sent something other than the requested event.
    #[error("the signer sent something else: {0}")]
    Invalid(&'static str),
    /// No relay is usable.
    #[error("no relay reaches the signer")]
    Unreachable,
    /// Too many requests to signers are pending, and others are newer.
    #[error("too many signers are waited for")]
    Busy,
    /// The session is damaged, or the service is stopping.
    #[error("the session with the signer cannot be used")]
    Unusable,
}
