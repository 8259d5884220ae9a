//! A wallet service at a relay, a payer, and the backend under test.

use usher_engine::ports::{CompletedPayment, Lightning, LightningError};
use usher_faults::lightning::{Behaviour, FaultyNwcService};
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_protocol::bolt11::Invoice;
use usher_sandbox::lightning::{Account, InvoiceTerms, LightningNetwork, Method, NwcKeys};

use crate::backend_under_test::{BackendHandle, LONG, within};

/// Seconds within which a wallet service acts on a request on any machine; and how long to wait for a response that
/// does not come.
pub(crate) const SOON: u64 = 4;

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
        let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
        let (shop, user) = (network.open_account("shop", Self::SHOP), network.open_account("user", 1_000_000));
        let mut behaviour = Behaviour::default();
        change(&mut behaviour);
        let service = FaultyNwcService::start_with(&shop, &[relay.url()], NwcKeys::of(&shop), behaviour).await;
        service.ready(LONG).await.unwrap();
        let client = BackendHandle::start(&service.url());
        client.until(true).await;
        Self { network, relay, service, shop, user, client }
    }

    /// An invoice of the user's.
    pub(crate) fn external_invoice(&self, amount: u64) -> Invoice {
        self.user.make_invoice(&InvoiceTerms::of(amount)).unwrap()
    }

    /// Lets the shop pay it within so many seconds.
    pub(crate) async fn pay(&self, invoice: &Invoice, secs: u64) -> Result<CompletedPayment, LightningError> {
        self.client.pay(invoice, within(secs)).await
    }

    /// How often the service received a request to pay. Requests sent before this call have arrived.
    pub(crate) async fn asked_to_pay(&self) -> u64 {
        self.client.backend.info().await.unwrap();
        self.service.metrics().calls(Method::PayInvoice)
    }
}
