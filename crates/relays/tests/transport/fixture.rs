//! The service under test and a wallet, over real connections.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::ports::{Inbound, Messenger as _, OutgoingMessage, SystemClock};
use usher_nostr_connection::{OnRefusal, SessionTiming, Timing as ConnectionTiming};
use usher_protocol::message::WalletMessage;
use usher_protocol::{EventId, Keys, PublicKey, kind};
use usher_relays::{Identity, RelayAddress, RelayOptions, RelayPool, RelayStatus, Timing};

pub(crate) use crate::common::{DEADLINE, Wallet, approval, eventually, now, seal};

/// Short pauses between connections.
pub(crate) fn quick_connection() -> ConnectionTiming {
    ConnectionTiming {
        reconnect_first: Duration::from_millis(100),
        reconnect_longest: Duration::from_secs(1),
        ..ConnectionTiming::default()
    }
}

/// Short time limits: what takes minutes in production takes moments.
pub(crate) fn quick() -> Timing {
    Timing {
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
    }
}

pub(crate) fn address(url: &str) -> RelayAddress {
    RelayAddress::parse(url).unwrap()
}

/// A relay pool with the engine's end of the inbox.
pub(crate) struct Service {
    pub(crate) keys: Keys,
    pub(crate) pool: Arc<RelayPool>,
    pub(crate) inbox: mpsc::Receiver<Inbound>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Service {
    pub(crate) fn start(relays: &[&str]) -> Self {
        Self::start_with(relays, |_| {})
    }

    pub(crate) fn start_with(relays: &[&str], change: impl FnOnce(&mut RelayOptions)) -> Self {
        let keys = Keys::generate();
        let relays = relays.iter().map(|url| address(url)).collect();
        let mut options = RelayOptions::new(Identity::of_main_key(keys), relays);
        options.timing = quick();
        options.connection = quick_connection();
        change(&mut options);
        let keys = options.identity.keys.clone();
        Self::start_from(options, keys, 1024)
    }

    pub(crate) fn start_from(options: RelayOptions, keys: Keys, inbox: usize) -> Self {
        let (sender, inbox) = mpsc::channel(inbox);
        let tasks = TaskTracker::new();
        let stop = CancellationToken::new();
        let pool = RelayPool::start(options, sender, Arc::new(SystemClock), &tasks, stop.clone());
        Self { keys, pool, inbox, tasks, stop }
    }

    pub(crate) fn key(&self) -> PublicKey {
        self.keys.public_key()
    }

    /// A challenge for `wallet`.
    pub(crate) fn message(&self, wallet: &PublicKey, challenge: &str) -> OutgoingMessage {
        OutgoingMessage {
            kind: kind::AUTH_CHALLENGE,
            content: json!({"challenge": challenge}).to_string(),
            recipients: vec![*wallet],
            participants: vec![*wallet],
            relays: Vec::new(),
            until: now().plus(Duration::from_secs(60)),
            made_at: now(),
            signer: None,
        }
    }

    pub(crate) fn ask(&self, wallet: &PublicKey, challenge: &str) -> EventId {
        let ids = self.pool.send(&self.message(wallet, challenge));
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

    /// The challenge that the next message answers.
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
        eventually("subscribed", || self.status_of(url).subscribed).await;
    }

    /// Stops it and waits until every task has ended.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        timeout(DEADLINE, self.tasks.wait()).await.expect("every task ends");
    }
}
