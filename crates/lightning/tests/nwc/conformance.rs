//! The rules for every adapter of the port `Lightning`.

use std::sync::Arc;

use async_trait::async_trait;
use usher_engine::ports::{Lightning, LightningNotification};
use usher_protocol::bolt11::Invoice;
use usher_testing::ports::lightning_conformance::{LightningHarness, run};

use crate::fixture::{BackendHandle, Fixture};

/// More than the rules move, in millisats.
const WEALTH: u64 = 100_000_000;

struct Harness(Fixture);

#[async_trait]
impl LightningHarness for Harness {
    fn backend(&self) -> Arc<dyn Lightning> {
        self.0.client.backend.clone()
    }

    async fn notification(&mut self) -> LightningNotification {
        self.0.client.notification().await
    }

    async fn restart(&mut self) {
        self.0.client.stop().await;
        self.0.client = BackendHandle::start(&self.0.service.url());
        self.0.client.until(true).await;
    }

    async fn pay_service(&self, invoice: &Invoice) {
        self.0.user.pay(invoice.as_str(), None).unwrap();
    }

    fn external_invoice(&self, amount: u64) -> Invoice {
        self.0.service.set(|behaviour| behaviour.holds_payments = false);
        self.0.external_invoice(amount)
    }

    fn hold_invoice(&self, amount: u64) -> Invoice {
        let invoice = self.external_invoice(amount);
        self.0.service.set(|behaviour| behaviour.holds_payments = true);
        invoice
    }

    /// The wallet service reports a payment in progress, and holds it.
    async fn until_hold_accepted(&self, _invoice: &Invoice) {}

    async fn release(&self, _invoice: &Invoice, arrives: bool) {
        assert_eq!(self.0.service.release_payments(arrives), 1);
    }

    fn times_paid(&self, invoice: &Invoice) -> u32 {
        self.0.times_paid(invoice)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_nwc_backend_keeps_the_rules_of_every_backend() {
    let fixture = Fixture::set().await;
    fixture.shop.grant(WEALTH);
    fixture.user.grant(WEALTH);
    run(&mut Harness(fixture)).await;
}
