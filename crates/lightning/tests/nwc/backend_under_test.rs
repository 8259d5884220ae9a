//! The backend under test, with its notifications.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::ports::{
    Clock, CompletedPayment, Lightning, LightningError, LightningNotification, LightningNotifications, LightningStatus,
    SettingStore, Settlement, SystemClock, WantedInvoice,
};
use usher_lightning::nwc::{NwcBackend, NwcOptions, Settings};
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::PaymentHash;

/// Longer than anything takes on any machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Long enough to see that nothing arrives.
pub(crate) const QUIET: Duration = Duration::from_millis(500);

pub(crate) struct BackendHandle {
    pub(crate) backend: Arc<NwcBackend>,
    notifications: LightningNotifications,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl BackendHandle {
    /// Starts it, without waiting for anything.
    pub(crate) fn start(url: &str) -> Self {
        Self::start_with(url, LONG)
    }

    pub(crate) fn start_with(url: &str, patience: Duration) -> Self {
        Self::start_from(url, patience, Settings::default(), Arc::new(SystemClock))
    }

    /// Starts one by this clock.
    pub(crate) fn start_by(url: &str, clock: Arc<dyn Clock>) -> Self {
        Self::start_from(url, LONG, Settings::default(), clock)
    }

    /// Starts one that stores what it learns.
    pub(crate) fn start_keeping(url: &str, settings: &Arc<impl SettingStore + 'static>) -> Self {
        Self::start_from(url, LONG, Settings(Some(settings.clone())), Arc::new(SystemClock))
    }

    fn start_from(url: &str, patience: Duration, settings: Settings, clock: Arc<dyn Clock>) -> Self {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let options = NwcOptions {
            patience,
            grace: Duration::from_millis(500),
            settings,
            ..NwcOptions::new(url.parse().unwrap())
        };
        let (backend, notifications) = NwcBackend::start(options, clock, &tasks, stop.clone()).unwrap();
        Self { backend, notifications, tasks, stop }
    }

    /// Waits until it is connected, or until it is not.
    pub(crate) async fn until(&self, connected: bool) {
        self.until_status(|status| status.connected == connected).await;
    }

    pub(crate) async fn until_status(&self, enough: impl Fn(LightningStatus) -> bool) {
        let looking = async {
            while !enough(self.backend.status()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(LONG, looking).await.unwrap_or_else(|_| panic!("{:?}", self.backend.status()));
    }

    pub(crate) async fn notification(&mut self) -> LightningNotification {
        tokio::time::timeout(LONG, self.notifications.recv()).await.expect("a notification in time").expect("running")
    }

    /// Waits until there is no room for more notifications.
    pub(crate) async fn until_full(&self) {
        let looking = async {
            while self.notifications.len() < self.notifications.max_capacity() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(LONG, looking)
            .await
            .unwrap_or_else(|_| panic!("{} notifications", self.notifications.len()));
    }

    /// The next notification, which must be about a settlement.
    pub(crate) async fn settled(&mut self) -> (PaymentHash, Settlement) {
        match self.notification().await {
            LightningNotification::Settled(hash, settlement) => (hash, settlement),
            other => panic!("{other:?}"),
        }
    }

    /// The next notification, which must be about a payment of ours.
    pub(crate) async fn sent(&mut self) -> (PaymentHash, CompletedPayment) {
        match self.notification().await {
            LightningNotification::Sent(hash, paid) => (hash, paid),
            other => panic!("{other:?}"),
        }
    }

    /// Asserts that no further notification arrives.
    pub(crate) async fn quiet(&mut self) {
        if let Ok(notification) = tokio::time::timeout(QUIET, self.notifications.recv()).await {
            panic!("{notification:?}");
        }
    }

    /// Stops it and waits until all its tasks have ended.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        tokio::time::timeout(LONG, self.tasks.wait()).await.expect("an end in time");
    }

    /// Pays an invoice with a request that is void at `until`.
    pub(crate) async fn pay(&self, invoice: &Invoice, until: u64) -> Result<CompletedPayment, LightningError> {
        let payment = self.backend.prepare_payment(invoice, until).await?;
        self.backend.pay(invoice, &payment, false).await
    }

    /// Makes an invoice.
    pub(crate) async fn invoice(&self, amount: u64) -> Invoice {
        self.backend.make_invoice(&wanted(amount)).await.unwrap()
    }
}

impl Drop for BackendHandle {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub(crate) fn wanted(amount: u64) -> WantedInvoice {
    WantedInvoice {
        amount,
        description: "two teas, très chaud".to_owned(),
        hashed: None,
        is_for_anybody: false,
        expiry: 600,
    }
}

/// So many seconds from now.
pub(crate) fn within(secs: u64) -> u64 {
    SystemClock.now().secs() + secs
}
