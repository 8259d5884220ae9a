//! The adapter under test, and what it reports.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::ports::{
    OsRandomness, RemoteSigner as _, RemoteSignerError, SignedEvent, SignerProgress, SignerSession, SystemClock,
    WantedEvent,
};
use usher_protocol::{Event, SecretKey};
use usher_remote_signer::{NostrRemoteSigner, RemoteSignerOptions};

/// Longer than anything takes, on any machine.
const TIMEOUT: Duration = Duration::from_secs(180);

/// The adapter; its tasks end with it.
pub(crate) struct App {
    pub(crate) signers: Arc<NostrRemoteSigner>,
    stop: CancellationToken,
}

impl App {
    /// With these relays of the operator. Users may name relays on loopback.
    pub(crate) fn new(relays: &[&str]) -> Self {
        Self::with(relays, |_| {})
    }

    pub(crate) fn with(relays: &[&str], change: impl FnOnce(&mut RemoteSignerOptions)) -> Self {
        let mut options = RemoteSignerOptions::new(relays.iter().map(|relay| (*relay).to_owned()).collect());
        options.allow_private = true;
        options.name = "Café".to_owned();
        options.url = "https://login.example".to_owned();
        options.repeat_first = Duration::from_millis(300);
        options.switch_within = Duration::from_millis(500);
        options.connection.reconnect_first = Duration::from_millis(50);
        change(&mut options);
        let stop = CancellationToken::new();
        let service_key = SecretKey::from_slice(&[9; 32]).unwrap();
        let (clock, randomness) = (Arc::new(SystemClock), Arc::new(OsRandomness));
        let signers =
            NostrRemoteSigner::new(options, &service_key, clock, randomness, TaskTracker::new(), stop.clone());
        Self { signers: Arc::new(signers.unwrap()), stop }
    }

    /// Asks the signer of this session for [`wanted`].
    pub(crate) fn sign(&self, session: SignerSession) -> Signing {
        let (sender, progress) = mpsc::channel(256);
        let signers = Arc::clone(&self.signers);
        #[allow(clippy::disallowed_methods, reason = "the test waits for it")]
        let task = tokio::spawn(async move { signers.sign(session, wanted(), sender).await });
        Signing { task, progress }
    }

    /// A session that a signer begins by opening the address, once a relay delivers what it sends.
    pub(crate) async fn invite(&self) -> (Signing, String) {
        let session = self.signers.invite().unwrap();
        let address = self.signers.address(&session).unwrap();
        let mut signing = self.sign(session);
        signing.until(|progress| *progress == SignerProgress::Listening).await;
        (signing, address)
    }

    pub(crate) fn accept(&self, address: &str) -> Signing {
        self.sign(self.signers.accept(address).unwrap())
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub(crate) struct Signing {
    task: JoinHandle<Result<SignedEvent, RemoteSignerError>>,
    progress: mpsc::Receiver<SignerProgress>,
}

impl Signing {
    pub(crate) async fn until(&mut self, is_it: impl Fn(&SignerProgress) -> bool) -> SignerProgress {
        within(async {
            loop {
                let progress = self.progress.recv().await.expect("it has ended");
                if is_it(&progress) {
                    return progress;
                }
            }
        })
        .await
    }

    /// Waits for the last session that was reported.
    pub(crate) async fn connected(&mut self) -> SignerSession {
        let connected = self.until(|progress| matches!(progress, SignerProgress::Connected(_))).await;
        let SignerProgress::Connected(session) = connected else { unreachable!() };
        session
    }

    pub(crate) async fn end(self) -> Result<SignedEvent, RemoteSignerError> {
        within(self.task).await.unwrap()
    }

    /// Waits for its end: what was asked for, signed by this user.
    pub(crate) async fn end_signed_by(self, user: &str) -> SignerSession {
        let signed = self.end().await.unwrap();
        assert_signed(&signed.event, user);
        signed.session
    }

    pub(crate) async fn crash(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

/// What signers are asked to sign.
pub(crate) fn wanted() -> WantedEvent {
    let tag = |name: &str, value: &str| vec![name.to_owned(), value.to_owned()];
    let tags = vec![tag("u", "https://login.example/login/1"), tag("method", "POST"), tag("challenge", "Zm9vYmFyYmF6")];
    WantedEvent { kind: 27_235, content: String::new(), tags }
}

/// That it is what was asked for, by this user.
pub(crate) fn assert_signed(event: &Event, user: &str) {
    let wanted = wanted();
    event.verify().unwrap();
    let found = (event.kind.as_u16(), &event.content, &*event.pubkey.to_hex());
    assert_eq!(found, (wanted.kind, &wanted.content, user));
    let tags: Vec<_> = event.tags.iter().map(|tag| tag.as_slice().to_vec()).collect();
    assert_eq!(tags, wanted.tags);
}

pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(TIMEOUT, future).await.expect("it takes too long")
}
