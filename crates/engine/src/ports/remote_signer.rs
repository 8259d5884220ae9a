//! The remote signer port: a program that holds a user's key and signs on request, reached over relays (NIP-46).

use std::fmt;

use async_trait::async_trait;
use tokio::sync::mpsc;
use usher_protocol::Event;

/// Asks users' remote signers for signatures.
///
/// A session begins with an address: ours (`nostrconnect://`), which the user opens in their signer, or the signer's
/// (`bunker://`). The caller keeps the session to reach the same signer later. Only a signed event proves anything.
#[async_trait]
pub trait RemoteSigner: Send + Sync {
    /// Begins a session with an unknown signer: the user opens its [`address`](Self::address) in it.
    ///
    /// # Errors
    /// [`RemoteSignerError::Unreachable`] when no relay is configured.
    fn invite(&self) -> Result<SignerSession, RemoteSignerError>;

    /// Begins a session with the signer that this address (`bunker://`) names.
    fn accept(&self, address: &str) -> Result<SignerSession, InvalidSignerAddress>;

    /// The address (`nostrconnect://`) that the user opens in their signer; `None` when their signer is known. It is a secret.
    fn address(&self, session: &SignerSession) -> Option<String>;

    /// How far a session is. One that is damaged is as good as connected: nothing is waited for.
    fn stage(&self, session: &SignerSession) -> SignerStage;

    /// Asks the signer of `session` to sign an event, and returns what it signed: exactly what was asked for. Asks again
    /// while the signer does not reply, so there is no bound but the caller's: dropping the future ends it.
    async fn sign(
        &self,
        session: SignerSession,
        wanted: WantedEvent,
        progress: mpsc::Sender<SignerProgress>,
    ) -> Result<SignedEvent, RemoteSignerError>;
}

/// What it takes to reach a user's signer; only the adapter knows the form. It holds a key: `Debug` hides it.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct SignerSession(pub String);

impl fmt::Debug for SignerSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignerSession(…)")
    }
}

/// How far a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignerStage {
    /// No signer has opened our address yet.
    AwaitingScan,
    /// The signer whose address the user pasted has not accepted the connection yet.
    AwaitingBunker,
    /// The signer has accepted the connection.
    Connected,
}

/// An event that a signer is asked to sign. Its time is when the signer is first asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedEvent {
    /// The kind.
    pub kind: u16,
    /// The content.
    pub content: String,
    /// The tags.
    pub tags: Vec<Vec<String>>,
}

/// What a signer signed. Id and signature are verified, and everything but the author is what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedEvent {
    /// The event. Its author is the user.
    pub event: Event,
    /// The session as it is now, to reach the same signer again.
    pub session: SignerSession,
}

/// What happens before a signer has signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignerProgress {
    /// At least one relay delivers what the signer sends: its user may open the address now.
    Listening,
    /// The signer has answered. The session reaches it also after a restart.
    Connected(SignerSession),
    /// The user must confirm on this page of their signer: an `https://` address, or one of this machine.
    Confirm(String),
    /// The signer does not reply: the user may have to open it.
    Silent,
}

/// A text is not an address of a signer. Shows nothing of it, because it is a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSignerAddress {
    /// Not `bunker://<key>?relay=<url>`.
    #[error("is not the address of a signer: bunker://<key>?relay=<url>&secret=<secret>")]
    Malformed,
    /// It names no relay that may be used.
    #[error("names no relay on the public Internet")]
    NoRelay,
}

/// Why a signer signed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteSignerError {
    /// The signer, or its user, refuses the connection.
    #[error("the signer refuses the connection: {0}")]
    ConnectionRefused(String),
    /// The signer, or its user, refuses to sign.
    #[error("the signer refuses to sign: {reason}")]
    SignatureRefused {
        /// What the signer says, fit to be shown.
        reason: String,
        /// The session as it is now, to ask again another time; none when it is of no more use.
        session: Option<SignerSession>,
    },
    /// The signer sent something else than what it was asked for.
    #[error("the signer sent something else: {0}")]
    Invalid(&'static str),
    /// No relay can be used.
    #[error("no relay reaches the signer")]
    Unreachable,
    /// Too many signers are waited for, and others have waited for less long.
    #[error("too many signers are waited for")]
    Busy,
    /// The session is damaged, or the service stops.
    #[error("the session with the signer cannot be used")]
    Unusable,
}
