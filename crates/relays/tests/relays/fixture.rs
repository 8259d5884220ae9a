//! The service under test: a pool, its directory, and settings that survive a restart.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::UnixMillis;
use usher_engine::ports::{
    Clock, Directory as _, Inbound, LookUpError, Messenger as _, OutgoingMessage, Profile, SettingStore, SystemClock,
};
use usher_nostr_connection::{OnRefusal, SessionTiming, Timing as ConnectionTiming};
use usher_protocol::message::WalletMessage;
use usher_protocol::{EventId, Keys, PublicKey, kind};
use usher_relays::{
    DirectoryOptions, Identity, ProfileDirectory, RelayAddress, RelayManager, RelayOptions, RelayPool, RelayStatus,
    ServiceRelays, Timing,
};
use usher_testing::ports::{FaultyStore, ManualClock, MemorySettings};
use usher_testing::proxy::BreakableProxy;
use usher_testing::relay::{Quirks, QuirkyRelay};
pub(crate) use usher_testing::until;

pub(crate) use crate::wallet::Wallet;

/// Long enough on the slowest machine; no test waits for it to pass.
pub(crate) const DEADLINE: Duration = Duration::from_secs(180);

pub(crate) fn now() -> UnixMillis {
    SystemClock.now()
}

pub(crate) fn address(url: &str) -> RelayAddress {
    RelayAddress::parse(url).unwrap()
}

pub(crate) async fn relay() -> QuirkyRelay {
    quirky(Quirks::default()).await
}

pub(crate) async fn quirky(quirks: Quirks) -> QuirkyRelay {
    QuirkyRelay::start(quirks).await.unwrap()
}

pub(crate) async fn proxied(relay: &QuirkyRelay) -> (BreakableProxy, String) {
    let proxy = BreakableProxy::start(relay.url().trim_start_matches("ws://")).await.unwrap();
    let url = proxy.ws_url();
    (proxy, url)
}

/// How a service is started.
pub(crate) struct Plan {
    pub(crate) relays: RelayOptions,
    pub(crate) directory: DirectoryOptions,
    pub(crate) settings: Arc<FaultyStore<MemorySettings>>,
    /// How many messages the engine leaves unread.
    pub(crate) inbox: usize,
    clock: Arc<dyn Clock>,
}

impl Plan {
    /// What takes minutes in production takes moments; and it is allowed to use loopback.
    pub(crate) fn new(relays: &[&str]) -> Self {
        let identity = Identity::of_main_key(Keys::generate());
        let mut options = RelayOptions::new(identity, relays.iter().map(|url| address(url)).collect());
        options.allow_private = true;
        options.connection = ConnectionTiming {
            reconnect_first: Duration::from_millis(100),
            reconnect_longest: Duration::from_secs(1),
            ..ConnectionTiming::default()
        };
        options.timing = Timing {
            session: SessionTiming {
                resubscribe_first: Duration::from_millis(50),
                resubscribe_longest: Duration::from_secs(1),
                auth_within: Duration::from_secs(1),
                on_refusal: OnRefusal::RetryAfter(Duration::from_millis(300)),
                ..SessionTiming::default()
            },
            rate_limit_pause: Duration::from_millis(100),
            sweep: Duration::from_millis(50),
            ..Timing::default()
        };
        // Patient, for slow machines; tests of time limits set their own.
        let directory = DirectoryOptions {
            relays_within: Duration::from_secs(30),
            settle: Duration::from_secs(10),
            domain_within: Duration::from_secs(30),
            profile_waits_for_domain: Duration::from_secs(30),
            ..DirectoryOptions::default()
        };
        let settings = FaultyStore::on(Arc::default());
        Self { relays: options, directory, settings, inbox: 1024, clock: Arc::new(SystemClock) }
    }

    /// A clock that stands still, for this service.
    pub(crate) fn stop_the_clock(&mut self) -> Arc<ManualClock> {
        let clock = Arc::new(ManualClock::at(now()));
        self.clock = clock.clone();
        clock
    }

    pub(crate) fn key(&self) -> PublicKey {
        self.relays.identity.keys.public_key()
    }

    /// What the service has stored under this name.
    pub(crate) fn setting(&self, name: &str) -> Option<String> {
        self.settings.setting(name).now_or_never().unwrap().unwrap()
    }

    /// Starts a service, and waits until its relays serve it.
    pub(crate) async fn serve(&self) -> Service {
        let service = self.start().await;
        for relay in &self.relays.relays {
            service.subscribed_at(relay.as_str()).await;
        }
        service
    }

    /// Starts a service, whether its relays are there or not.
    pub(crate) async fn start(&self) -> Service {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let (sender, inbox) = mpsc::channel(self.inbox);
        let settings: Arc<dyn SettingStore> = self.settings.clone();
        let roster = ServiceRelays::load(&*settings, &self.relays.relays).await.unwrap();
        let mut options = self.relays.clone();
        options.relays = roster.relays();
        let keys = options.identity.keys.clone();
        let pool = RelayPool::start(options, sender, Arc::clone(&self.clock), &tasks, stop.clone());
        let manager = RelayManager::new(Arc::clone(&pool), roster, Arc::clone(&settings));
        let told = Arc::<Mutex<HashMap<PublicKey, Vec<String>>>>::default();
        let known = Arc::clone(&told);
        let relays_of = Arc::new(move |key| {
            let relays = known.lock().get(&key).cloned().unwrap_or_default();
            async move { relays }.boxed()
        });
        let options = self.directory.clone();
        let directory = ProfileDirectory::start(options, Arc::clone(&pool), settings, relays_of, &tasks, stop.clone());
        Service { keys, directory: directory.await.unwrap(), pool, manager, told, inbox, tasks, stop }
    }
}

/// A running service, with the engine's end of the inbox.
pub(crate) struct Service {
    pub(crate) keys: Keys,
    pub(crate) pool: Arc<RelayPool>,
    pub(crate) directory: Arc<ProfileDirectory>,
    pub(crate) manager: RelayManager,
    pub(crate) inbox: mpsc::Receiver<Inbound>,
    told: Arc<Mutex<HashMap<PublicKey, Vec<String>>>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Service {
    pub(crate) async fn at(relays: &[&str]) -> Self {
        Plan::new(relays).serve().await
    }

    pub(crate) async fn start_with(relays: &[&str], change: impl FnOnce(&mut RelayOptions)) -> Self {
        let mut plan = Plan::new(relays);
        change(&mut plan.relays);
        plan.start().await
    }

    pub(crate) fn key(&self) -> PublicKey {
        self.keys.public_key()
    }

    /// A challenge for `wallet`, who reads it also at these relays of theirs.
    pub(crate) fn message(&self, wallet: &PublicKey, challenge: &str, relays: &[&str]) -> OutgoingMessage {
        OutgoingMessage {
            kind: kind::AUTH_CHALLENGE,
            content: json!({"challenge": challenge}).to_string(),
            recipients: vec![*wallet],
            participants: vec![*wallet],
            relays: relays.iter().map(|url| (*url).to_owned()).collect(),
            until: now().plus(Duration::from_secs(60)),
            made_at: now(),
            signer: None,
        }
    }

    pub(crate) fn ask(&self, wallet: &PublicKey, challenge: &str) -> EventId {
        self.ask_at(wallet, challenge, &[])
    }

    pub(crate) fn ask_at(&self, wallet: &PublicKey, challenge: &str, relays: &[&str]) -> EventId {
        let ids = self.pool.send(&self.message(wallet, challenge, relays));
        assert_eq!(ids.len(), 1);
        ids[0]
    }

    /// The next message; a handshake that arrived over another relay before is skipped.
    pub(crate) async fn next(&mut self) -> Inbound {
        loop {
            let next = timeout(DEADLINE, self.inbox.recv()).await;
            let next =
                next.unwrap_or_else(|_| panic!("no message: {:#?}\n{:#?}", self.pool.status(), self.pool.metrics()));
            let next = next.expect("the pool lives");
            if !next.via.copy {
                return next;
            }
        }
    }

    pub(crate) async fn next_answer(&mut self) -> String {
        match self.next().await.message {
            WalletMessage::AuthResponse(answer) => answer.challenge,
            other => panic!("not an answer: {other:?}"),
        }
    }

    /// One challenge and its reply, repeated now and then as the engine does.
    pub(crate) async fn login(&mut self, wallet: &PublicKey, challenge: &str) {
        loop {
            self.ask(wallet, challenge);
            let answered = timeout(Duration::from_secs(5), self.next_answer());
            if answered.await.is_ok_and(|answered| answered == challenge) {
                return;
            }
        }
    }

    pub(crate) fn status_of(&self, url: &str) -> RelayStatus {
        let all = self.pool.status();
        all.into_iter().find(|status| status.url.as_str() == url).unwrap_or_else(|| panic!("{url} is not in use"))
    }

    pub(crate) async fn subscribed_at(&self, url: &str) {
        until("subscribed", async || self.status_of(url).subscribed).await;
    }

    pub(crate) async fn disconnected_from(&self, url: &str) {
        until("noticed", async || !self.status_of(url).state.is_connected()).await;
    }

    /// Waits until the state of a relay is one with this reason.
    pub(crate) async fn until(&self, what: &str, url: &str, reason: &str) {
        until(what, async || format!("{:?}", self.status_of(url).state).contains(reason)).await;
    }

    /// The user named their relays.
    pub(crate) fn tell(&self, key: &PublicKey, relays: &[&str]) {
        self.told.lock().insert(*key, relays.iter().map(|url| (*url).to_owned()).collect());
    }

    pub(crate) async fn profile(&self, key: &PublicKey) -> Result<Option<Profile>, LookUpError> {
        timeout(DEADLINE, self.directory.profile(key, None)).await.expect("an answer within bounds")
    }

    /// The name in a profile that must exist.
    pub(crate) async fn name(&self, key: &PublicKey) -> String {
        self.profile(key).await.expect("relays answer").expect("a profile").name.expect("a name")
    }

    /// Stops it and waits until every task has ended.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        timeout(DEADLINE, self.tasks.wait()).await.expect("every task ends");
    }
}
