//! Fakes of the ports, one of each, for tests of every crate: a clock turned by hand, seeded randomness, a messenger that
//! records its messages, settings in memory, faults of any store, an app behind the webhook, a Lightning backend, a ticket
//! wallet, a directory, exchange rates and a list of relays.

// Compiled here, and with the unit tests of the engine.
#![allow(missing_docs, clippy::panic, clippy::unwrap_used)]

mod fake_app;
mod fake_directory;
mod fake_exchange_rates;
mod fake_lightning;
mod fake_relay_registry;
mod fake_ticket_wallet;
mod faulty_store;
mod intercepted_store;
pub mod lightning_conformance;
mod memory_settings;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngCore as _, SeedableRng as _};
use sha2::{Digest as _, Sha256};
use tokio::sync::{mpsc, watch};
use usher_protocol::bolt11::Network;
use usher_protocol::{EventId, Keys, PublicKey, SecretKey};

pub use self::fake_app::{FakeApp, Post, Reply};
pub use self::fake_directory::FakeDirectory;
pub use self::fake_exchange_rates::FakeExchangeRates;
pub use self::fake_lightning::{FakeLightning, hashed_invoice, invoice, invoice_on, preimage};
pub use self::fake_relay_registry::FakeRelayRegistry;
pub use self::fake_ticket_wallet::{FakeTicketWallet, MINT, OTHER_MINT, UNIT, token};
pub use self::faulty_store::{COMMITS, CREATIONS, FaultyStore, Methods, StoreFaults};
pub use self::intercepted_store::{InterceptedStore, Interceptor, Run, StoreCall};
pub use self::memory_settings::MemorySettings;
use usher_engine::access::{Scope, Terms};
use usher_engine::audit::AuditOptions;
use usher_engine::ports::{
    AuditKey, Clock, Commit, Messenger, OperationKind, OutgoingMessage, Randomness, Revision, State,
};
use usher_engine::{
    EngineOptions, Origin, PageRules, PaymentRules, Requester, SpendingRules, StreamId, UnixMillis, VerificationRules,
};

/// The user, or service, with this number, which is not 0.
pub fn user(n: u8) -> Keys {
    Keys::new(SecretKey::from_slice(&[n; 32]).unwrap())
}

/// A key that may do everything, but for what `restrict` changes.
pub fn api_key(origin: i64, restrict: impl FnOnce(&mut Terms)) -> Requester {
    let mut terms = Terms {
        name: "key".to_owned(),
        scopes: Scope::ALL.into(),
        expires_at: None,
        networks: Vec::new(),
        own_streams_only: false,
        daily_budget_millisats: None,
        requests_per_second: None,
        role: None,
    };
    restrict(&mut terms);
    Requester::Key { origin: Origin(origin), terms: Arc::new(terms) }
}

/// Options that suit most tests, of a service with this key.
pub fn options(main_key: PublicKey) -> EngineOptions {
    EngineOptions {
        main_key,
        subkey: None,
        subkey_proof: None,
        url_scheme: "nostr+walletconnect".to_owned(),
        other_url_schemes: vec!["portal".to_owned()],
        handshake_ttl: Duration::from_secs(600),
        challenge_ttl: Duration::from_secs(300),
        max_open_streams: 1000,
        retention: Duration::from_secs(30 * 24 * 3600),
        ticket_send_ttl: Duration::from_secs(168 * 3600),
        payments: PaymentRules {
            network: Network::Regtest,
            max_amount: 100_000_000_000,
            retry_after: vec![Duration::from_secs(24 * 3600), Duration::from_secs(72 * 3600)],
            look_ups_per_second: 10,
            records_kept: Duration::from_secs(3650 * 24 * 3600),
            has_lightning_address: false,
            spending: SpendingRules::default(),
        },
        verification: VerificationRules::default(),
        pages: PageRules::default(),
        audit: AuditOptions { key: AuditKey::of_service(&[7; 32]), retention: Duration::from_secs(400 * 24 * 3600) },
    }
}

/// Longer than anything takes that a test waits for, also on a machine that is busy with something else.
pub const TIMEOUT: Duration = Duration::from_secs(60);

pub async fn in_time<F: Future>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(TIMEOUT, future).await {
        Ok(output) => output,
        Err(_) => panic!("not within {TIMEOUT:?}: {what}"),
    }
}

/// A commit of a handshake at this time, and nothing more.
pub fn commit(operation: StreamId, expected: Revision, at: UnixMillis) -> Commit {
    Commit::of(operation, OperationKind::KeyHandshake, expected, at, State("{}".to_owned()))
}

/// A clock that stands still until a test turns it.
pub struct ManualClock(watch::Sender<Clocks>);

#[derive(Clone, Copy)]
struct Clocks {
    now: UnixMillis,
    monotonic: Duration,
}

impl ManualClock {
    /// A clock that shows `now`.
    pub fn at(now: UnixMillis) -> Self {
        Self(watch::Sender::new(Clocks { now, monotonic: Duration::ZERO }))
    }

    /// Lets `by` pass, and wakes who slept until then.
    pub fn turn(&self, by: Duration) {
        self.0.send_modify(|clocks| {
            clocks.now = clocks.now.plus(by);
            clocks.monotonic += by;
        });
    }

    /// Sets the wall clock back by `by`; no time passes.
    pub fn turn_back(&self, by: Duration) {
        self.0.send_modify(|clocks| clocks.now = clocks.now.minus(by));
    }

    /// Sets the wall clock forward by `by`, as after a suspend of the machine; no time passes.
    pub fn turn_forward(&self, by: Duration) {
        self.0.send_modify(|clocks| clocks.now = clocks.now.plus(by));
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> UnixMillis {
        self.0.borrow().now
    }

    fn monotonic(&self) -> Duration {
        self.0.borrow().monotonic
    }

    async fn sleep_until(&self, at: Duration) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|clocks| clocks.monotonic >= at).await;
    }
}

pub struct SeededRandomness(Mutex<StdRng>);

impl SeededRandomness {
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(seed)))
    }
}

impl Randomness for SeededRandomness {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.lock().fill_bytes(bytes);
    }
}

/// Randomness that is always this byte: the least and the most that may come of it.
pub struct Always(pub u8);

impl Randomness for Always {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(self.0);
    }
}

/// A messenger that sends each message, with the deterministic ids of its events, to a channel.
pub struct RecordingMessenger {
    relays: Vec<String>,
    sent: mpsc::UnboundedSender<(OutgoingMessage, Vec<EventId>)>,
}

impl RecordingMessenger {
    /// A messenger on these relays, and the channel of its messages.
    pub fn new(relays: &[&str]) -> (Self, mpsc::UnboundedReceiver<(OutgoingMessage, Vec<EventId>)>) {
        let (sent, messages) = mpsc::unbounded_channel();
        let relays = relays.iter().map(|relay| (*relay).to_owned()).collect();
        (Self { relays, sent }, messages)
    }
}

impl Messenger for RecordingMessenger {
    fn send(&self, message: &OutgoingMessage) -> Vec<EventId> {
        let ids = message
            .recipients
            .iter()
            .map(|recipient| {
                let participants =
                    message.participants.iter().fold(Sha256::new(), |hash, key| hash.chain_update(key.as_bytes()));
                let id = participants
                    .chain_update(recipient.as_bytes())
                    .chain_update(message.kind.to_be_bytes())
                    .chain_update(message.made_at.secs().to_be_bytes())
                    .chain_update(&message.content);
                EventId::from_byte_array(id.finalize().into())
            })
            .collect::<Vec<_>>();
        let _ = self.sent.send((message.clone(), ids.clone()));
        ids
    }

    fn relays(&self) -> Vec<String> {
        self.relays.clone()
    }

    fn is_reachable(&self) -> bool {
        !self.relays.is_empty()
    }
}
