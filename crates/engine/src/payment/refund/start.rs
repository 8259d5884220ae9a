//! Starts a refund: never more than was paid, also with concurrent requests.

use usher_protocol::bolt11::Invoice;

use super::{Refund, RefundTerms};
use crate::field_value_checks::{SATS_OR_MILLISATS, refund_expiry};
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::request_errors::StartError;
use crate::payment::Payments;
use crate::payment::approval::UnstartedPayment;
use crate::payment::operation::Payer;
use crate::ports::{BookedPayment, PaymentKind, PaymentRecord, PaymentRecordStatus, StoreError};
use crate::registry::Operation;
use crate::request_body;
use crate::request_body::{CurrencyName, Identifier, Millisats, RequestedCurrency, UnixSeconds};
use crate::{Requester, StreamId, UnixMillis};

request_body! {
    /// Pays a payment back.
    #[derive(Clone, Debug)]
    pub struct RefundRequest, RefundDraft = "RefundRequest", example { "amount": 5000 } {
        /// In millisats or sats. By default all that was paid and is not refunded yet.
        amount: Option<Millisats>,
        /// `millisats` (default) or `sats`, in either case.
        currency: Option<CurrencyName>,
        /// Unix seconds until which the payer can name an invoice: at most 30 days ahead, by default seven days.
        expires_at: Option<UnixSeconds>,
        /// Your own reference, repeated in the events.
        reference as "request_id": Option<Identifier>,
    }
}

/// Why a payment is not refunded.
#[derive(Debug, thiserror::Error)]
pub enum RefundError {
    /// No payment to the service has this stream.
    #[error("no payment to the service has this stream")]
    NoPayment,
    /// It was not paid.
    #[error("the payment was not paid")]
    NotPaid,
    /// All of it is refunded, or is being refunded.
    #[error("all of the payment is refunded, or is being refunded")]
    NothingLeft,
    /// The request is invalid, or the store failed.
    #[error(transparent)]
    Start(#[from] StartError),
}

impl From<StoreError> for RefundError {
    fn from(error: StoreError) -> Self {
        Self::Start(error.into())
    }
}

impl Payments {
    /// Requests an invoice from the payer of a payment, and pays it. The amount and the largest fee are taken from the
    /// budget immediately.
    pub async fn refund(
        &self,
        requester: &Requester,
        payment: StreamId,
        request: RefundRequest,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, RefundError> {
        let now = self.core.clock.now();
        let expires_at = refund_expiry(request.expires_at, now)?;
        let unit = request.currency.unwrap_or(RequestedCurrency::Millisats).unit();
        let unit = unit.ok_or_else(|| StartError::invalid("/currency", SATS_OR_MILLISATS))?;
        self.need_lightning()?;
        // One request at a time computes and commits the refunded sum, so that concurrent requests never exceed it.
        let _only = self.refunding.lock().await;
        let booked = self.core.store.payment_record(requester, payment).await?.ok_or(RefundError::NoPayment)?;
        let left = self.left_to_refund(&booked).await?;
        let amount = match request.amount.map(|amount| amount.saturating_mul(unit)) {
            Some(0) => return Err(StartError::invalid("/amount", "must be more than zero").into()),
            Some(amount) if amount > left => {
                let detail = format!("is more than is left to refund, which is {left} millisats");
                return Err(StartError::invalid("/amount", detail).into());
            }
            Some(amount) => amount,
            None => left,
        };
        let (payer, refunded_invoice) = self.payer_of(requester, payment).await?;
        let fees_allowed = self.budget.largest_fee(amount);
        let terms = RefundTerms {
            payment,
            refunded_invoice,
            amount,
            description: booked.record.description,
            reference: request.reference,
            payer,
            request_id: self.core.ids.token(),
            expires_at,
            fees_allowed,
            network: self.network,
        };
        self.commit_refund(requester, terms, once, now).await
    }

    /// The millisats that are not refunded yet.
    async fn left_to_refund(&self, booked: &BookedPayment) -> Result<u64, RefundError> {
        let PaymentRecord { kind, status, settled, fee, .. } = &booked.record;
        match kind {
            PaymentKind::Requested | PaymentKind::Charge => {}
            PaymentKind::Outgoing | PaymentKind::Refund | PaymentKind::OnChain => return Err(RefundError::NoPayment),
        }
        if *status != PaymentRecordStatus::Paid {
            return Err(RefundError::NotPaid);
        }
        // The liquidity provider's fee was paid by the payer, too.
        let paid = settled.unwrap_or_default().saturating_add(fee.unwrap_or_default());
        let refunded = self.core.store.refunded(booked.stream_id).await?;
        paid.checked_sub(refunded).filter(|left| *left > 0).ok_or(RefundError::NothingLeft)
    }

    /// The keys of the user whose wallet got the payment request, and the invoice, while the payment is kept.
    async fn payer_of(
        &self,
        requester: &Requester,
        payment: StreamId,
    ) -> Result<(Option<Payer>, Option<String>), StoreError> {
        match self.core.readable(requester, payment).await? {
            Some((_, Operation::SinglePayment(payment) | Operation::LinkPayment(payment))) => {
                let invoice = payment.invoice().map(Invoice::as_str).map(str::to_owned);
                let payer = payment.user_keys().map(|keys| Payer { main_key: keys.main_key(), subkeys: keys.named() });
                Ok((payer, invoice))
            }
            _ => Ok((None, None)),
        }
    }

    async fn commit_refund(
        &self,
        requester: &Requester,
        terms: RefundTerms,
        once: Option<IdempotentRequest<StreamId>>,
        now: UnixMillis,
    ) -> Result<StreamId, RefundError> {
        let id = self.core.ids.stream_id();
        let record = once.as_ref().map(|once| once.record(&id, now));
        let refund = UnstartedPayment::Refund(Refund::new(terms));
        Ok(self.commit_new_spending(requester, id, refund, "/amount", record).await?)
    }
}
