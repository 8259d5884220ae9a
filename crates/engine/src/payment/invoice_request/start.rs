//! Starts a request for an invoice.

use super::{RequestInvoice, RequestInvoiceDraft};
use crate::field_value_checks::{CheckedRequest, FieldChecks, FixedPrice, PriceFields, fraction_of_sat};
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::request_errors::StartError;
use crate::payment::Payments;
use crate::payment::expiry::expiry;
use crate::payment::invoice_request::InvoiceRequest;
use crate::ports::StoreError;
use crate::price::PricedOperation;
use crate::registry::Operation;
use crate::{FieldErrors, Requester};

const FIELDS: PriceFields = PriceFields { amount: "/content/amount", currency: "/content/currency" };

impl CheckedRequest for RequestInvoice {
    type Found = FixedPrice;

    async fn check(
        draft: &RequestInvoiceDraft,
        _: &Requester,
        checks: &FieldChecks,
        errors: &mut FieldErrors,
    ) -> Result<Option<FixedPrice>, StoreError> {
        let Some(content) = &draft.content else { return Ok(None) };
        let price = checks.price(FIELDS, content.amount, content.currency, errors);
        checks.expiry("/content/expires_at", content.expires_at, errors);
        Ok(price)
    }

    fn warning(draft: &RequestInvoiceDraft) -> Option<String> {
        let content = draft.content.as_ref()?;
        fraction_of_sat(content.amount, content.currency)
    }
}

impl Payments {
    /// Asks a user for an invoice.
    pub async fn request_invoice(
        &self,
        requester: &Requester,
        request: RequestInvoice,
        once: Option<IdempotentRequest<PricedOperation>>,
    ) -> Result<PricedOperation, StartError> {
        let now = self.core.clock.now();
        let (request, fixed) = self.checks.check(requester, request).await?;
        let fixed = fixed?;
        let price = fixed.1.clone();
        let expires_at = expiry(request.content.expires_at, now);
        let (state, effects) = InvoiceRequest::start(request, fixed, self.core.ids.token(), expires_at, self.network);
        let started = PricedOperation { stream_id: self.core.ids.stream_id(), price };
        let record = once.map(|once| once.record(&started, now));
        let operation = Operation::InvoiceRequest(state);
        self.starter.create_new(started.stream_id, requester.origin(), operation, effects, record).await?;
        Ok(started)
    }
}
