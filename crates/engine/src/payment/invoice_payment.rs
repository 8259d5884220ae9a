//! Starts the payment of somebody else's invoice, by a user or by the service's own Lightning backend.

use usher_protocol::PublicKey;
use usher_protocol::bolt11::Invoice;

use super::outgoing::start::ServicePaymentRequest;
use crate::field_checks::{FieldValues, expiry};
use crate::kernel::errors::StartError;
use crate::kernel::idempotency::IdempotentRequest;
use crate::operations::{Operation, Payment, PaymentTerms};
use crate::payment::Payments;
use crate::ports::CorrelationKey;
use crate::{StreamId, UnixMillis};

/// Asks for the payment of an invoice.
#[derive(Clone, Debug)]
pub struct PayInvoiceRequest {
    /// Who pays; `None` is the service's own Lightning backend.
    pub main_key: Option<PublicKey>,
    /// Keys that may respond for it without a proof.
    pub subkeys: Vec<PublicKey>,
    /// What is paid.
    pub invoice: Invoice,
    /// Millisats; must be the amount of the invoice.
    pub amount: Option<u64>,
    /// What it is for.
    pub description: Option<String>,
    /// The caller's own reference, repeated in events.
    pub reference: Option<String>,
    /// Unix seconds until which the user can pay it, or until which the Lightning backend is asked to.
    pub expires_at: Option<u64>,
}

impl Payments {
    /// Whether a payment of this invoice is under way, or has ended not long ago.
    pub(crate) fn is_paying(&self, invoice: &Invoice) -> bool {
        self.core.index.find(CorrelationKey::paying(invoice.payment_hash())).is_some()
    }

    /// Pays somebody else's invoice, from a user's wallet or from the service's own Lightning backend. An invoice is
    /// never paid twice: a second request gets the first payment's stream.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn pay(
        &self,
        request: PayInvoiceRequest,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        let now = self.core.clock.now();
        let paying = CorrelationKey::paying(request.invoice.payment_hash());
        if let Some(stream_id) = self.core.index.find(paying) {
            self.check_same_invoice(stream_id, &request.invoice).await?;
            return self.starter.respond(once, stream_id).await;
        }
        let PayInvoiceRequest { amount, expires_at, .. } = request;
        let invoice = &request.invoice;
        let values = FieldValues::InvoicePayment { invoice: Some(invoice.clone()), amount, expires_at };
        self.checks.check(values).await?;
        let expires_at = expiry(expires_at, now);
        let amount = invoice.amount().unwrap_or_default();
        let stream_id = self.core.ids.stream_id();
        let wanted = invoice.clone();
        let record = once.as_ref().map(|once| once.record(&stream_id, now));
        let owner = match request.main_key {
            Some(main_key) => {
                let description =
                    request.description.or_else(|| invoice.description().map(str::to_owned)).unwrap_or_default();
                let terms = PaymentTerms {
                    main_key,
                    subkeys: request.subkeys,
                    request_id: self.core.ids.token(),
                    reference: request.reference,
                    description,
                    subscription: None,
                    expires_at: expires_at.min(UnixMillis::from_secs(invoice.expires_at())),
                };
                let (payment, effects) = Payment::of_invoice(terms, amount, request.invoice);
                self.starter.create(stream_id, Operation::InvoicePayment(payment), effects, record).await?
            }
            None => {
                let PayInvoiceRequest { invoice, reference, .. } = request;
                let payment = ServicePaymentRequest { invoice, reference, expires_at };
                self.pay_from_backend(stream_id, payment, record).await?
            }
        };
        match owner {
            None => Ok(stream_id),
            // A concurrent request with the same invoice was faster.
            Some(owner) => {
                self.check_same_invoice(owner, &wanted).await?;
                self.starter.respond(once, owner).await
            }
        }
    }

    /// Refuses another invoice with the payment hash of the one that this operation pays: it is not paid by that payment, and
    /// paying a hash twice may lose the money (BOLT 11).
    async fn check_same_invoice(&self, owner: StreamId, invoice: &Invoice) -> Result<(), StartError> {
        let stored = self.core.store.operation(owner).await?;
        let operation = stored.and_then(|stored| Operation::from_state(&stored.state).ok());
        let paid = match &operation {
            Some(Operation::InvoicePayment(payment)) => payment.invoice(),
            Some(Operation::OutgoingPayment(payment)) => Some(payment.invoice()),
            // Removed meanwhile, or damaged: nothing says that it is another.
            _ => None,
        };
        match paid {
            Some(paid) if paid != invoice => Err(StartError::invalid(
                "/invoice",
                "has the payment hash of another invoice that is or was paid: ask the payee for an invoice with a new one",
            )),
            _ => Ok(()),
        }
    }
}
