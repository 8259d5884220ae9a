//! Starts a request for an invoice.

use usher_protocol::PublicKey;

use crate::StreamId;
use crate::field_checks::{FieldValues, expiry};
use crate::kernel::errors::StartError;
use crate::kernel::idempotency::IdempotentRequest;
use crate::operations::{InvoiceRequest, InvoiceTerms, Operation};
use crate::payment::Payments;

/// Asks a user for an invoice.
#[derive(Clone, Debug)]
pub struct RequestInvoice {
    /// Who makes it.
    pub main_key: PublicKey,
    /// Keys that may respond for it without a proof.
    pub subkeys: Vec<PublicKey>,
    /// Millisats.
    pub amount: u64,
    /// What it is for.
    pub description: Option<String>,
    /// The caller's own reference, repeated in events.
    pub reference: Option<String>,
    /// Unix seconds until which the user can reply.
    pub expires_at: Option<u64>,
}

impl Payments {
    /// Asks a user for an invoice.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn request_invoice(
        &self,
        request: RequestInvoice,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        let now = self.core.clock.now();
        let RequestInvoice { amount, expires_at, .. } = request;
        self.checks.check(FieldValues::InvoiceRequest { amount: Some(amount), expires_at }).await?;
        let expires_at = expiry(expires_at, now);
        let terms = InvoiceTerms {
            main_key: request.main_key,
            subkeys: request.subkeys,
            request_id: self.core.ids.token(),
            reference: request.reference,
            amount: request.amount,
            description: request.description,
            expires_at,
        };
        let (state, effects) = InvoiceRequest::start(terms, self.network);
        let stream_id = self.core.ids.stream_id();
        let record = once.map(|once| once.record(&stream_id, now));
        self.starter.create_new(stream_id, Operation::InvoiceRequest(state), effects, record).await
    }
}
