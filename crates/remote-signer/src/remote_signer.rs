//! The adapter of the port `RemoteSigner`.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::ports::{
    Clock, InvalidSignerAddress, Randomness, RemoteSigner, RemoteSignerError, SignedEvent, SignerProgress,
    SignerSession, SignerStage, WantedEvent,
};
use usher_nostr_connection::address_guard::AddressSource;
use usher_protocol::SecretKey;

use crate::bunker_url::BunkerUrl;
use crate::invitation;
use crate::options::RemoteSignerOptions;
use crate::pairing::Pairing;
use crate::relay::Shared;
use crate::relay_url;
use crate::storage_cipher::SessionCipher;
use crate::stored_session::Session;

/// Most relays in our address: each makes its QR code larger.
const MAX_RELAYS: usize = 3;

/// Why remote signers cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No key can be derived from the service's.
    #[error("no key for sessions can be derived")]
    Cipher,
}

/// Remote signers over Nostr relays (NIP-46).
pub struct NostrRemoteSigner {
    shared: Arc<Shared>,
}

impl NostrRemoteSigner {
    /// Does not connect until it is used. Sessions are encrypted with a key derived from `service_key`, the service's
    /// own. Tasks run on `tasks` until `stop` is cancelled.
    pub fn new(
        options: RemoteSignerOptions,
        service_key: &SecretKey,
        clock: Arc<dyn Clock>,
        randomness: Arc<dyn Randomness>,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Result<Self, StartError> {
        let cipher = SessionCipher::of(service_key).ok_or(StartError::Cipher)?;
        let relays = options.relays.iter().filter_map(|relay| relay_url::parse(relay, AddressSource::Operator));
        let relays = relays.take(MAX_RELAYS).collect();
        let (own_relays, relays, connect_limits) = (relays, Mutex::default(), Mutex::default());
        let shared = Shared { options, cipher, clock, randomness, tasks, stop, own_relays, relays, connect_limits };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The number of relays that are connected or connecting.
    pub fn connections(&self) -> usize {
        self.shared.relays.lock().len()
    }
}

#[async_trait]
impl RemoteSigner for NostrRemoteSigner {
    fn invite(&self) -> Result<SignerSession, RemoteSignerError> {
        let relays = &self.shared.own_relays;
        if relays.is_empty() {
            return Err(RemoteSignerError::Unreachable);
        }
        self.shared.cipher.seal(&Session::invited(relays.clone(), self.shared.randomness.as_ref()))
    }

    fn accept(&self, address: &str) -> Result<SignerSession, InvalidSignerAddress> {
        let bunker = BunkerUrl::parse(address, self.shared.user_source())?;
        let session = Session::with(bunker, self.shared.randomness.as_ref());
        self.shared.cipher.seal(&session).map_err(|_| InvalidSignerAddress::Malformed)
    }

    fn address(&self, session: &SignerSession) -> Option<String> {
        let session = self.shared.cipher.open(session).ok().filter(|session| session.signer.is_none())?;
        let client = session.keys().ok()?.public_key();
        let options = &self.shared.options;
        let relays = session.invitation_relays();
        Some(invitation::address(&client, relays, &session.secret, &options.name, &options.url))
    }

    fn stage(&self, session: &SignerSession) -> SignerStage {
        self.shared.cipher.open(session).map_or(SignerStage::Connected, |session| session.stage())
    }

    async fn sign(
        &self,
        session: SignerSession,
        wanted: WantedEvent,
        progress: mpsc::Sender<SignerProgress>,
    ) -> Result<SignedEvent, RemoteSignerError> {
        let session = self.shared.cipher.open(&session)?;
        let pairing = Pairing::new(Arc::clone(&self.shared), session, progress)?;
        tokio::select! {
            signed = pairing.run(&wanted) => signed,
            () = self.shared.stop.cancelled() => Err(RemoteSignerError::Unusable),
        }
    }
}
