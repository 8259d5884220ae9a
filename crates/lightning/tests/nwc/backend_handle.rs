//! The backend under test, with its notices.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::ports::{
    Clock, Lightning, LightningError, LightningNotice, LightningNotices, PaidInvoice, SettingStore, Settlement,
    SystemClock, WalletLink, WantedInvoice,
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
    notices: LightningNotices,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl BackendHandle {
    /// Starts it, without waiting for anything.
    pub(crate) fn start(url: &str) -> Self {
        Self::start_with(url, LONG)
    }

    pub(crate) fn start_with(url: &str, patience: Duration) -> Self {
        Self::start_from(url, patience, Settings::default())
    }

    /// Starts one that stores what it learns.
    pub(crate) fn start_keeping(url: &str, settings: &Arc<impl SettingStore + 'static>) -> Self {
        Self::start_from(url, LONG, Settings(Some(settings.clone())))
    }

    fn start_from(url: &str, patience: Duration, settings: Settings) -> Self {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let options = NwcOptions {
            patience,
            grace: Duration::from_millis(500),
            settings,
            ..NwcOptions::new(url.parse().unwrap())
        };
        let (backend, notices) = NwcBackend::start(options, clock, &tasks, stop.clone()).unwrap();
        Self { backend, notices, tasks, stop }
    }

    /// Waits until it is connected, or until it is not.
    pub(crate) async fn until(&self, connected: bool) {
        self.until_link(|link| link.connected == connected).await;
    }

    pub(crate) async fn until_link(&self, enough: impl Fn(WalletLink) -> bool) {
        let looking = async {
            while !enough(self.backend.link()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(LONG, looking).await.unwrap_or_else(|_| panic!("{:?}", self.backend.link()));
    }

    pub(crate) async fn notice(&mut self) -> LightningNotice {
        tokio::time::timeout(LONG, self.notices.recv()).await.expect("a notice in time").expect("running")
    }

    /// Waits until there is no room for more notices.
    pub(crate) async fn until_full(&self) {
        let looking = async {
            while self.notices.len() < self.notices.max_capacity() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(LONG, looking).await.unwrap_or_else(|_| panic!("{} notices", self.notices.len()));
    }

    /// The next notice, which must be about a settlement.
    pub(crate) async fn settled(&mut self) -> (PaymentHash, Settlement) {
        match self.notice().await {
            LightningNotice::Settled(hash, settlement) => (hash, settlement),
            other => panic!("{other:?}"),
        }
    }

    /// The next notice, which must be about a payment of ours.
    pub(crate) async fn sent(&mut self) -> (PaymentHash, PaidInvoice) {
        match self.notice().await {
            LightningNotice::Sent(hash, paid) => (hash, paid),
            other => panic!("{other:?}"),
        }
    }

    /// Asserts that no further notice arrives.
    pub(crate) async fn quiet(&mut self) {
        if let Ok(notice) = tokio::time::timeout(QUIET, self.notices.recv()).await {
            panic!("{notice:?}");
        }
    }

    /// Stops it and waits until all its tasks have ended.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        tokio::time::timeout(LONG, self.tasks.wait()).await.expect("an end in time");
    }

    /// Pays an invoice with a request that is void at `until`.
    pub(crate) async fn pay(&self, bill: &Invoice, until: u64) -> Result<PaidInvoice, LightningError> {
        let payment = self.backend.prepare_payment(bill, until).await?;
        self.backend.pay(bill, &payment, false).await
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
    WantedInvoice { amount, description: "two teas, très chaud".to_owned(), expiry: 600 }
}

/// So many seconds from now.
pub(crate) fn within(secs: u64) -> u64 {
    SystemClock.now().secs() + secs
}
