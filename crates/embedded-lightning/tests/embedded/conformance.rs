//! The rules for every adapter.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use ldk_node::bitcoin::hashes::{Hash as _, sha256};
use ldk_node::lightning_types::payment::{PaymentHash as LibraryHash, PaymentPreimage};
use parking_lot::Mutex;
use usher_engine::ports::{Lightning, LightningNotification};
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::PaymentHash;
use usher_testing::ports::lightning_conformance::{LightningHarness, run};

use crate::fixture::{Fixture, bolt11, invoice};

struct Harness {
    fixture: Fixture,
    held: Mutex<HashMap<PaymentHash, [u8; 32]>>,
}

#[async_trait]
impl LightningHarness for Harness {
    fn backend(&self) -> Arc<dyn Lightning> {
        self.fixture.backend.clone()
    }

    async fn notification(&mut self) -> LightningNotification {
        self.fixture.notification().await
    }

    async fn restart(&mut self) {
        self.fixture.restart().await;
        self.fixture.until_channel_is_usable().await;
    }

    async fn pay_service(&self, invoice: &Invoice) {
        self.fixture.network.payer.pay(&bolt11(invoice)).await.unwrap();
    }

    fn external_invoice(&self, amount: u64) -> Invoice {
        invoice(&self.fixture.network.payer.invoice(amount, 3600).unwrap())
    }

    fn hold_invoice(&self, amount: u64) -> Invoice {
        let mut held = self.held.lock();
        let preimage = [u8::try_from(held.len()).unwrap() + 1; 32];
        let invoice = invoice(&self.fixture.network.payer.held_invoice(amount, preimage).unwrap());
        assert_eq!(invoice.payment_hash().as_bytes(), sha256::Hash::hash(&preimage).as_byte_array());
        held.insert(invoice.payment_hash(), preimage);
        invoice
    }

    async fn until_hold_accepted(&self, invoice: &Invoice) {
        let hash = LibraryHash(*invoice.payment_hash().as_bytes());
        self.fixture.network.payer.until_claimable(hash).await.unwrap();
    }

    async fn release(&self, invoice: &Invoice, arrives: bool) {
        let payer = &self.fixture.network.payer;
        let hash = LibraryHash(*invoice.payment_hash().as_bytes());
        let preimage = self.held.lock()[&invoice.payment_hash()];
        if arrives {
            let amount = invoice.amount().unwrap();
            payer.node().bolt11_payment().claim_for_hash(hash, amount, PaymentPreimage(preimage)).unwrap();
        } else {
            payer.node().bolt11_payment().fail_for_hash(hash).unwrap();
        }
    }

    fn times_paid(&self, invoice: &Invoice) -> u32 {
        u32::from(self.fixture.network.payer.is_paid(&bolt11(invoice)))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_node_keeps_the_rules_of_every_backend() {
    let fixture = Fixture::start_funded().await;
    run(&mut Harness { fixture, held: Mutex::default() }).await;
}
