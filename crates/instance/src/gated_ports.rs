//! Ports that do nothing unless this instance certainly holds the lease: a process that was paused for longer than the lease
//! resumes after another instance has taken over. Results returned without the lease are never stored: the database refuses
//! the write.

use std::sync::Arc;

use async_trait::async_trait;
use usher_engine::event::Event;
use usher_engine::ports::{
    CompletedPayment, InvoiceStatus, Lightning, LightningError, LightningInfo, LightningStatus, Messenger,
    OutgoingMessage, OutgoingPaymentStatus, Posted, SignedPayment, WantedInvoice, WebhookSender,
};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::EventId;
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::PaymentHash;

use crate::active_lease::LeaseGate;

/// The Lightning backend: pays and creates invoices only while the gate is open.
pub struct GatedLightning {
    /// The backend.
    pub backend: Arc<dyn Lightning>,
    /// The gate.
    pub gate: LeaseGate,
}

#[async_trait]
impl Lightning for GatedLightning {
    async fn make_invoice(&self, wanted: &WantedInvoice) -> Result<Invoice, LightningError> {
        if !self.gate.is_open() {
            return Err(LightningError::NotSent);
        }
        self.backend.make_invoice(wanted).await
    }

    async fn look_up_invoice(&self, hash: PaymentHash) -> Result<InvoiceStatus, LightningError> {
        self.backend.look_up_invoice(hash).await
    }

    async fn prepare_payment(&self, invoice: &Invoice, until: u64) -> Result<SignedPayment, LightningError> {
        self.backend.prepare_payment(invoice, until).await
    }

    async fn pay(
        &self,
        invoice: &Invoice,
        payment: &SignedPayment,
        again: bool,
    ) -> Result<CompletedPayment, LightningError> {
        if !self.gate.is_open() {
            return Err(LightningError::Unknown("this instance is not the active one".to_owned()));
        }
        self.backend.pay(invoice, payment, again).await
    }

    async fn look_up_payment(
        &self,
        hash: PaymentHash,
        asked: Option<&SignedPayment>,
    ) -> Result<OutgoingPaymentStatus, LightningError> {
        self.backend.look_up_payment(hash, asked).await
    }

    async fn info(&self) -> Result<LightningInfo, LightningError> {
        self.backend.info().await
    }

    fn status(&self) -> LightningStatus {
        self.backend.status()
    }
}

/// The app's webhook: posts only while the gate is open.
pub struct GatedWebhook {
    /// The webhook.
    pub webhook: Arc<dyn WebhookSender>,
    /// The gate.
    pub gate: LeaseGate,
}

#[async_trait]
impl WebhookSender for GatedWebhook {
    async fn post(&self, stream: StreamId, event: &Event, now: UnixMillis) -> Posted {
        if !self.gate.is_open() {
            let reason = "this instance is not the active one".to_owned();
            return Posted::Refused { http_status: None, reason, retry_after: None };
        }
        self.webhook.post(stream, event, now).await
    }
}

/// Messages to users' wallets: sent only while the gate is open.
pub struct GatedMessenger {
    /// The messenger.
    pub messenger: Arc<dyn Messenger>,
    /// The gate.
    pub gate: LeaseGate,
}

impl Messenger for GatedMessenger {
    fn send(&self, message: &OutgoingMessage) -> Vec<EventId> {
        if self.gate.is_open() { self.messenger.send(message) } else { Vec::new() }
    }

    fn relays(&self) -> Vec<String> {
        self.messenger.relays()
    }

    fn is_reachable(&self) -> bool {
        self.messenger.is_reachable()
    }
}
