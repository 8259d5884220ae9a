//! The service: starting, stopping, and what a test sees of it.

use std::sync::Arc;
use std::time::Duration;

use nostr_sdk::{Filter, Kind};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::behaviour::Behaviour;
use super::counts::NwcCounts;
use super::keys::NwcKeys;
use super::notify;
use super::serving::{REQUEST, Shared};
use crate::lightning::Account;
use crate::line::{Line, LineError};

/// Slots of the channel by which `nostr-sdk` hands over what a relay says.
const NOTIFICATIONS: usize = 16_384;

/// The NIP-47 wallet service of one account. Dropping it ends it; the account stays.
#[derive(Debug)]
pub struct NwcService {
    shared: Arc<Shared>,
    running: parking_lot::Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    line: Arc<Line>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl NwcService {
    /// Starts the service of an account at these relays, without waiting for them. The connection string is the same
    /// each time as long as the account and the relays are.
    pub async fn start(account: &Account, relays: &[&str]) -> Self {
        Self::start_with(account, relays, NwcKeys::of(account), Behaviour::default()).await
    }

    /// As [`start`](Self::start), with these keys and this behaviour.
    pub async fn start_with(account: &Account, relays: &[&str], keys: NwcKeys, behaviour: Behaviour) -> Self {
        let relays = relays.iter().map(|&relay| relay.to_owned()).collect();
        let shared = Arc::new(Shared::new(account.clone(), relays, keys, behaviour));
        let service = Self { shared, running: parking_lot::Mutex::new(None) };
        service.start_again().await;
        service
    }

    /// Starts it again after [`stop`](Self::stop); does nothing when it runs.
    pub async fn start_again(&self) {
        if self.running.lock().is_some() {
            return;
        }
        let shared = &self.shared;
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        // Requests are ephemeral; a relay that keeps them all the same is not asked for old ones.
        let filter = Filter::new().pubkey(shared.keys.wallet.public_key()).kind(Kind::from_u16(REQUEST)).limit(0);
        let (line, heard) = Line::new(shared.keys.wallet.clone(), filter, NOTIFICATIONS, tasks.clone(), stop.clone());
        let line = Arc::new(line);
        *shared.line.write() = Some(Arc::clone(&line));
        shared.announce();
        tasks.spawn(stop.clone().run_until_cancelled_owned(Arc::clone(shared).serve(
            heard,
            tasks.clone(),
            stop.clone(),
        )));
        tasks.spawn(stop.clone().run_until_cancelled_owned(notify::run(Arc::clone(shared))));
        line.add(&shared.relays).await;
        *self.running.lock() = Some(Running { line, tasks, stop });
    }

    /// Ends it: what is asked of it from now on is not heard. Counts, held answers, account and connection string stay
    /// for [`start_again`](Self::start_again).
    pub async fn stop(&self) {
        let running = self.running.lock().take();
        *self.shared.line.write() = None;
        let Some(Running { line, tasks, stop }) = running else { return };
        stop.cancel();
        line.shutdown().await;
        tasks.close();
        tasks.wait().await;
        self.shared.forget();
    }

    /// Waits until it listens at one of its relays.
    ///
    /// # Errors
    /// [`LineError`] when it does not within `deadline`.
    pub async fn ready(&self, deadline: Duration) -> Result<(), LineError> {
        let line = self.shared.line.read().clone();
        match line {
            Some(line) => line.wait_for_any(&self.shared.relays, deadline).await,
            None => Err(LineError::NoRelays),
        }
    }

    /// The connection string, `nostr+walletconnect://…`. A secret: who has it can spend.
    pub fn url(&self) -> String {
        self.shared.keys.url(&self.shared.relays)
    }

    /// The keys of the connection.
    pub fn keys(&self) -> &NwcKeys {
        &self.shared.keys
    }

    /// The account.
    pub fn account(&self) -> &Account {
        &self.shared.desk.account
    }

    /// How it behaves now.
    pub fn behaviour(&self) -> Behaviour {
        self.shared.behaviour.lock().clone()
    }

    /// Changes how it behaves from now on; announces it anew where that says something else.
    pub fn set(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.shared.behaviour.lock());
        self.shared.announce();
    }

    /// What it saw and did so far.
    pub fn counts(&self) -> NwcCounts {
        self.shared.counts.borrow().clone()
    }

    /// Waits until what it saw and did satisfies `enough`.
    ///
    /// # Errors
    /// What it had seen when `deadline` (from now) had passed.
    pub async fn wait_for(
        &self,
        deadline: Duration,
        enough: impl FnMut(&NwcCounts) -> bool,
    ) -> Result<NwcCounts, NwcCounts> {
        let mut counts = self.shared.counts.subscribe();
        match tokio::time::timeout(deadline, counts.wait_for(enough)).await {
            Ok(Ok(counts)) => Ok(counts.clone()),
            _ => Err(self.counts()),
        }
    }

    /// Gives the answers that were held, and does and answers what was postponed; says how many.
    pub fn release(&self) -> usize {
        self.shared.release()
    }

    /// The payments in flight arrive, or (`false`) come to nothing; their calls are answered. Says how many.
    pub fn release_payments(&self, arrive: bool) -> usize {
        self.shared.release_payments(arrive)
    }

    /// Sends a notification with any content, encrypted and signed as a true one.
    pub fn notify(&self, notification_type: &str, notification: &serde_json::Value) {
        self.shared.notify(notification_type, notification);
    }

    /// The notification that an invoice of the account was paid, whether it was or not, with a made-up preimage if it
    /// was not; says whether the account knows the invoice.
    pub fn claim_received(&self, hash: usher_protocol::message::PaymentHash) -> bool {
        self.shared.claim_received(hash)
    }
}

impl Drop for NwcService {
    fn drop(&mut self) {
        if let Some(running) = self.running.lock().take() {
            running.stop.cancel();
            running.line.disconnect();
        }
    }
}
