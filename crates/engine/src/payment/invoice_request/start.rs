//! Starts a request for an invoice.

use super::{RequestInvoice, RequestInvoiceDraft};
use crate::field_value_checks::{CheckedRequest, FieldChecks, expiry};
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::request_errors::StartError;
use crate::operations::{InvoiceRequest, Operation};
use crate::payment::Payments;
use crate::ports::StoreError;
use crate::{FieldErrors, StreamId};

impl CheckedRequest for RequestInvoice {
    async fn check(
        draft: &RequestInvoiceDraft,
        checks: &FieldChecks,
        errors: &mut FieldErrors,
    ) -> Result<(), StoreError> {
        if let Some(content) = &draft.content {
            checks.amount("/content/amount", content.amount, errors);
            checks.expiry("/content/expires_at", content.expires_at, errors);
        }
        Ok(())
    }
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
        self.checks.check(&request).await?;
        let expires_at = expiry(request.content.expires_at, now);
        let (state, effects) = InvoiceRequest::start(request, self.core.ids.token(), expires_at, self.network);
        let stream_id = self.core.ids.stream_id();
        let record = once.map(|once| once.record(&stream_id, now));
        self.starter.create_new(stream_id, Operation::InvoiceRequest(state), effects, record).await
    }
}
