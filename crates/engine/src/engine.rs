//! The engine's face: what the HTTP interface calls.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_protocol::PublicKey;

use crate::ports::{Clock, Inbound, Messenger, Randomness, Store, StoreError};
use crate::{EventPage, StreamId};

/// How the engine behaves.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The service's main key, as handshake URLs name it.
    pub main_key: PublicKey,
    /// The service's own key when it runs on a subkey, as handshake URLs name it.
    pub subkey: Option<PublicKey>,
    /// The text of the service's subkey proof (JSON), which goes into its challenges.
    pub subkey_proof: Option<usher_protocol::subkey::SubkeyProof>,
    /// Scheme of handshake URLs (`nostr.url_scheme`).
    pub url_scheme: String,
    /// How long a single-use handshake URL lives (`handshake.ttl_seconds`).
    pub handshake_ttl: Duration,
    /// How long an authentication challenge may be answered (`auth.challenge_ttl_seconds`).
    pub challenge_ttl: Duration,
    /// Most streams that may be open at a time (`limits.max_open_streams`).
    pub max_open_streams: usize,
    /// How long finished streams stay readable (`streams.retention_days`).
    pub retention: Duration,
}

/// Asks for a handshake URL.
#[derive(Clone, Debug, Default)]
pub struct KeyHandshakeRequest {
    /// Makes the URL reusable; 1 to 128 visible ASCII characters.
    pub static_token: Option<String>,
    /// Handshake only: the wallet is told that no authentication challenge follows.
    pub no_request: bool,
}

/// A handshake that has started.
#[derive(Clone, Debug)]
pub struct KeyHandshakeStarted {
    /// Its stream.
    pub stream_id: StreamId,
    /// The address to show to the user. Whoever has it can answer in the user's place.
    pub url: String,
}

/// Asks a user to prove that they hold a key.
#[derive(Clone, Debug)]
pub struct AuthenticateKey {
    /// The key.
    pub main_key: PublicKey,
    /// Keys that may answer for it without a proof; at most [`Engine::MAX_SUBKEYS`].
    pub subkeys: Vec<PublicKey>,
}

/// Why an operation did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A field is wrong.
    #[error("{detail}")]
    Invalid {
        /// JSON Pointer (RFC 6901) to the field.
        pointer: &'static str,
        /// What is wrong with it.
        detail: String,
    },
    /// `limits.max_open_streams` are open already.
    #[error("too many streams are open")]
    TooManyOpen,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why events could not be read.
#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    /// There is no such stream, or it was removed after retention.
    #[error("no such stream")]
    NotFound,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Runs operations.
pub struct Engine {
    _private: (),
}

impl Engine {
    /// Most subkeys one conversation may have (wallet-protocol.md section 6).
    pub const MAX_SUBKEYS: usize = 8;

    /// Rebuilds the index from the store and starts the engine's tasks on `tasks`; they end when `stop` is cancelled.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    #[allow(clippy::too_many_arguments)]
    pub async fn start(
        options: EngineOptions,
        store: Arc<dyn Store>,
        messenger: Arc<dyn Messenger>,
        clock: Arc<dyn Clock>,
        randomness: Arc<dyn Randomness>,
        inbox: mpsc::Receiver<Inbound>,
        tasks: &TaskTracker,
        stop: CancellationToken,
    ) -> Result<Arc<Self>, StoreError> {
        let _ = (options, store, messenger, clock, randomness, inbox, tasks, stop);
        Ok(Arc::new(Self { _private: () }))
    }

    /// Starts a key handshake; the same static token again gives the same stream.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start_key_handshake(&self, request: KeyHandshakeRequest) -> Result<KeyHandshakeStarted, StartError> {
        let _ = request;
        Err(StartError::TooManyOpen)
    }

    /// Starts an authentication.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start_authentication(&self, request: AuthenticateKey) -> Result<StreamId, StartError> {
        let _ = request;
        Err(StartError::TooManyOpen)
    }

    /// Up to `limit` events of `stream` with `index >= after`; answers at once.
    ///
    /// # Errors
    /// [`EventsError`].
    pub async fn events(&self, stream: StreamId, after: u64, limit: usize) -> Result<EventPage, EventsError> {
        let _ = (stream, after, limit);
        Err(EventsError::NotFound)
    }

    /// As [`events`](Self::events), but when there is none yet and more are expected, waits for one up to `wait`.
    ///
    /// # Errors
    /// [`EventsError`].
    pub async fn wait_events(
        &self,
        stream: StreamId,
        after: u64,
        limit: usize,
        wait: Duration,
    ) -> Result<EventPage, EventsError> {
        let _ = wait;
        self.events(stream, after, limit).await
    }
}
