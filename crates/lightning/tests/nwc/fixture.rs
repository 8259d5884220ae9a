//! A wallet service at a relay, a payer, and the backend under test with its notifications.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::ports::{
    Clock, CompletedPayment, Lightning, LightningError, LightningNotification, LightningNotifications, LightningStatus,
    LookupCoverage, OutgoingPaymentStatus, Settlement, SystemClock, WantedInvoice,
};
use usher_lightning::nwc::{NwcBackend, NwcOptions};
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::{PaymentHash, Preimage};
use usher_sandbox::lightning::{Account, InvoiceTerms, LightningNetwork, Method, NwcKeys};
use usher_testing::lightning::{Behaviour, FaultyNwcService};
use usher_testing::relay::{Quirks, QuirkyRelay};
pub(crate) use usher_testing::until;

/// Longer than anything takes on any machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Long enough to see that nothing arrives.
pub(crate) const QUIET: Duration = Duration::from_millis(500);

/// Seconds within which a wallet service acts on a request on any machine; and how long to wait for a response that
/// does not come.
pub(crate) const SOON: u64 = 4;

/// What a wallet's look-up shows of a payment that it does not know.
pub(crate) const UNKNOWN: Result<OutgoingPaymentStatus, LightningError> =
    Ok(OutgoingPaymentStatus::Unknown(LookupCoverage::None));

pub(crate) struct BackendHandle {
    pub(crate) backend: Arc<NwcBackend>,
    notifications: LightningNotifications,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl BackendHandle {
    /// Starts it, without waiting for anything.
    pub(crate) fn start(url: &str) -> Self {
        Self::start_with(url, |_| {})
    }

    pub(crate) fn start_with(url: &str, change: impl FnOnce(&mut NwcOptions)) -> Self {
        Self::start_by(url, Arc::new(SystemClock), change)
    }

    pub(crate) fn start_by(url: &str, clock: Arc<dyn Clock>, change: impl FnOnce(&mut NwcOptions)) -> Self {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let mut options = NwcOptions::new(url.parse().unwrap());
        (options.patience, options.grace) = (LONG, Duration::from_millis(500));
        change(&mut options);
        let (backend, notifications) = NwcBackend::start(options, clock, &tasks, stop.clone()).unwrap();
        Self { backend, notifications, tasks, stop }
    }

    pub(crate) async fn until(&self, connected: bool) {
        self.until_status(|status| status.connected == connected).await;
    }

    pub(crate) async fn until_status(&self, enough: impl Fn(LightningStatus) -> bool) {
        let looking = async {
            while !enough(self.backend.status()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(LONG, looking).await.unwrap_or_else(|_| panic!("{:?}", self.backend.status()));
    }

    /// Waits until there is no room for more notifications.
    pub(crate) async fn until_full(&self) {
        until("full", async || self.notifications.len() == self.notifications.max_capacity()).await;
    }

    pub(crate) async fn notification(&mut self) -> LightningNotification {
        timeout(LONG, self.notifications.recv()).await.expect("a notification in time").expect("running")
    }

    /// The next notification, which must be about a settlement.
    pub(crate) async fn settled(&mut self) -> (PaymentHash, Settlement) {
        match self.notification().await {
            LightningNotification::Settled(hash, settlement) => (hash, settlement),
            other => panic!("{other:?}"),
        }
    }

    /// The next notification, which must be about a payment of ours; and the hash of what it shows as its preimage.
    pub(crate) async fn sent(&mut self) -> (PaymentHash, PaymentHash) {
        match self.notification().await {
            LightningNotification::Sent(hash, paid) => (hash, paid.preimage.payment_hash()),
            other => panic!("{other:?}"),
        }
    }

    /// Asserts that no further notification arrives.
    pub(crate) async fn quiet(&mut self) {
        if let Ok(notification) = timeout(QUIET, self.notifications.recv()).await {
            panic!("{notification:?}");
        }
    }

    /// Stops it and waits until all its tasks have ended.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        timeout(LONG, self.tasks.wait()).await.expect("an end in time");
    }

    /// Pays an invoice with a request that is void at `until`.
    pub(crate) async fn pay(&self, invoice: &Invoice, until: u64) -> Result<CompletedPayment, LightningError> {
        let payment = self.backend.prepare_payment(invoice, until).await?;
        self.backend.pay(invoice, &payment, false).await
    }

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

/// Of a preimage that every test knows.
pub(crate) fn hash() -> PaymentHash {
    Preimage::from_bytes([6; 32]).payment_hash()
}

/// An invoice that the service does not watch.
pub(crate) fn foreign_invoice() -> Invoice {
    LightningNetwork::new().open_account("payee", 0).make_invoice(&InvoiceTerms::of(1_000)).unwrap()
}

pub(crate) fn is_unknown<T: std::fmt::Debug>(result: Result<T, LightningError>) {
    assert!(matches!(result, Err(LightningError::Unknown(_))), "{result:?}");
}

pub(crate) async fn relay(quirks: Quirks) -> QuirkyRelay {
    QuirkyRelay::start(quirks).await.unwrap()
}

pub(crate) struct Fixture {
    pub(crate) network: LightningNetwork,
    pub(crate) relay: QuirkyRelay,
    pub(crate) service: FaultyNwcService,
    pub(crate) shop: Account,
    pub(crate) user: Account,
    pub(crate) client: BackendHandle,
}

impl Fixture {
    /// What the shop owns, in millisats.
    pub(crate) const SHOP: u64 = 1_000_000;

    pub(crate) async fn set() -> Self {
        Self::set_with(|_| {}).await
    }

    pub(crate) async fn set_with(change: impl FnOnce(&mut Behaviour)) -> Self {
        Self::set_in(LightningNetwork::new(), change).await
    }

    pub(crate) async fn set_in(network: LightningNetwork, change: impl FnOnce(&mut Behaviour)) -> Self {
        let relay = relay(Quirks::default()).await;
        let urls = [relay.url().to_owned()];
        let fixture = Self::begun(network, relay, &urls, change).await;
        fixture.service.ready(LONG).await.unwrap();
        fixture.client.until(true).await;
        fixture
    }

    pub(crate) async fn without_relay() -> Self {
        let relay = relay(Quirks::default()).await;
        relay.stop().await;
        let urls = [relay.url().to_owned()];
        Self::begun(LightningNetwork::new(), relay, &urls, |_| {}).await
    }

    /// With these addresses of relays; waits for nothing.
    pub(crate) async fn begun(
        network: LightningNetwork,
        relay: QuirkyRelay,
        urls: &[String],
        change: impl FnOnce(&mut Behaviour),
    ) -> Self {
        let (shop, user) = (network.open_account("shop", Self::SHOP), network.open_account("user", 1_000_000));
        let mut behaviour = Behaviour::default();
        change(&mut behaviour);
        let urls: Vec<_> = urls.iter().map(String::as_str).collect();
        let service = FaultyNwcService::start_with(&shop, &urls, NwcKeys::of(&shop), behaviour).await;
        let client = BackendHandle::start(&service.url());
        Self { network, relay, service, shop, user, client }
    }

    pub(crate) async fn start_relay(&mut self) {
        self.relay = QuirkyRelay::start_on(self.relay.port(), Quirks::default()).await.unwrap();
    }

    /// Waits until backend and service hear what the relay gets.
    pub(crate) async fn until_both_hear(&self) {
        self.relay.wait_for(LONG, |metrics| metrics.open_subscriptions == 2).await.expect("both are there");
        self.client.until(true).await;
    }

    /// An invoice of the user's.
    pub(crate) fn external_invoice(&self, amount: u64) -> Invoice {
        self.user.make_invoice(&InvoiceTerms::of(amount)).unwrap()
    }

    /// Lets the shop pay it within so many seconds.
    pub(crate) async fn pay(&self, invoice: &Invoice, secs: u64) -> Result<CompletedPayment, LightningError> {
        self.client.pay(invoice, within(secs)).await
    }

    /// An invoice is made, paid, and reported.
    pub(crate) async fn receives(&mut self) {
        let made = self.client.invoice(100).await;
        self.user.pay(made.as_str(), None).unwrap();
        assert_eq!(self.client.settled().await.0, made.payment_hash());
    }

    /// How often the service received a request to pay. Requests sent before this call have arrived.
    pub(crate) async fn asked_to_pay(&self) -> u64 {
        self.client.backend.info().await.unwrap();
        self.service.metrics().calls(Method::PayInvoice)
    }

    pub(crate) fn times_paid(&self, invoice: &Invoice) -> u32 {
        self.network.executed(invoice.payment_hash())
    }
}
