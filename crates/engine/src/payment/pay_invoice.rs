//! Starts the payment of a third party's invoice, by a user or by the service's Lightning backend.

use usher_protocol::bolt11::Invoice;

use super::outgoing::start::ServicePaymentRequest;
use crate::field_value_checks::{CheckedRequest, FieldChecks, SATS_OR_MILLISATS};
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::request_errors::StartError;
use crate::payment::Payments;
use crate::payment::expiry::expiry;
use crate::payment::operation::{Payer, Payment, PaymentTerms};
use crate::ports::{CorrelationKey, StoreError};
use crate::registry::Operation;
use crate::request_body;
use crate::request_body::{
    Bolt11, CurrencyName, Description, Identifier, Key, Millisats, OrDefault, RequestedCurrency, Subkeys, UnixSeconds,
};
use crate::{FieldErrors, Requester, StreamId, UnixMillis};

request_body! {
    /// Has an invoice paid.
    #[derive(Clone, Debug)]
    pub struct PayInvoiceRequest, PayInvoiceDraft = "PayInvoiceRequest", example {
        "invoice": "lnbc2500u1pvjluezsp5zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygspp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypqdq5xysxxatsyp3k7enxv4jsxqzpu9qrsgquk0rl77nj30yxdy8j9vdx85fkpmdla2087ne0xh8nhedh8w27kyke0lp53ut353s06fv3qfegext0eh0ymjpf39tuven09sam30g4vgpfna3rh",
    } {
        /// The user who is asked to pay: 64 hex characters. Without it, the service's Lightning backend pays.
        main_key: Option<Key>,
        /// Keys that may respond for `main_key` without a proof of delegation; at most 8.
        subkeys: OrDefault<Subkeys>,
        /// A BOLT 11 invoice with an amount that has not expired, was not paid before, and is for `wallet.network`; also as wallets
        /// copy it: `lightning:…`, `bitcoin:…?lightning=…`, in upper case, with line breaks.
        invoice: Bolt11,
        /// In millisats or sats; must be the amount of the invoice.
        amount: Option<Millisats>,
        /// `millisats` (default) or `sats`, in either case.
        currency: Option<CurrencyName>,
        /// What the payment is for, as the user sees it; by default the description in the invoice. At most 639 bytes of UTF-8.
        description: Option<Description>,
        /// Unix seconds until which the user can pay, or until which the Lightning backend is asked to: at most 24 hours ahead,
        /// by default five minutes, and never later than the expiry of the invoice.
        expires_at: Option<UnixSeconds>,
        /// Your own reference, repeated in the events.
        reference as "request_id": Option<Identifier>,
    }
}

impl CheckedRequest for PayInvoiceRequest {
    /// The amount in millisats.
    type Found = u64;

    async fn check(
        draft: &PayInvoiceDraft,
        _: &Requester,
        checks: &FieldChecks,
        errors: &mut FieldErrors,
    ) -> Result<Option<u64>, StoreError> {
        let unit = draft.currency.unwrap_or(RequestedCurrency::Millisats).unit();
        if unit.is_none() {
            errors.add("/currency", SATS_OR_MILLISATS);
        }
        let amount = draft.amount.zip(unit).map(|(amount, unit)| amount.saturating_mul(unit));
        let amount = draft.invoice.as_ref().and_then(|invoice| check_invoice(invoice, amount, checks, errors));
        checks.expiry("/expires_at", draft.expires_at, errors);
        Ok(amount)
    }
}

/// Returns its amount, if valid.
fn check_invoice(
    invoice: &Invoice,
    amount: Option<u64>,
    checks: &FieldChecks,
    errors: &mut FieldErrors,
) -> Option<u64> {
    let (theirs, ours) = (invoice.network(), checks.rules.network);
    if theirs != ours {
        errors.add("/invoice", format!("is for the network {theirs}; this service uses {ours}"));
    }
    if invoice.is_expired(checks.core.clock.now().secs()) {
        errors.add("/invoice", "has expired");
    }
    match (invoice.amount(), amount) {
        (None, _) => errors.reject("/invoice", "names no amount"),
        (Some(theirs), Some(given)) if theirs != given => {
            errors.reject("/amount", format!("is not the invoice's, which is {theirs} millisats"))
        }
        (Some(amount), _) => checks.amount("/invoice", Some(amount), errors),
    }
}

impl Payments {
    /// Whether a payment of this invoice is in progress or ended recently.
    pub(crate) fn is_paying(&self, invoice: &Invoice) -> bool {
        self.core.index.find(CorrelationKey::paying(invoice.payment_hash())).is_some()
    }

    /// Pays a third party's invoice, from a user's wallet or from the service's Lightning backend. An invoice is never
    /// paid twice: a second request returns the stream of the first payment.
    pub async fn pay(
        &self,
        requester: &Requester,
        request: PayInvoiceRequest,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        let now = self.core.clock.now();
        let is_paid = self.core.store.is_paid(request.invoice.payment_hash()).await?;
        let paying = CorrelationKey::paying(request.invoice.payment_hash());
        if let Some(stream_id) = self.core.index.find(paying) {
            self.check_same_invoice(requester, stream_id, &request.invoice).await?;
            return self.starter.respond(once, stream_id).await;
        }
        let (request, amount) = self.checks.check(requester, request).await?;
        let invoice = &request.invoice;
        // A second payment moves no money, and a wallet may take the first payment for the second.
        if is_paid {
            return Err(StartError::invalid("/invoice", "was paid already: ask the payee for a new one"));
        }
        // It may be paid before this payment, and a wallet may take what it received for what it paid.
        if request.main_key.is_none() && self.core.is_own_invoice(invoice.payment_hash()) {
            return Err(StartError::invalid("/invoice", "is the service's own: it cannot pay itself"));
        }
        let stream_id = self.core.ids.stream_id();
        let wanted = invoice.clone();
        let record = once.as_ref().map(|once| once.record(&stream_id, now));
        let owner = match request.main_key {
            Some(main_key) => {
                let description =
                    request.description.or_else(|| invoice.description().map(str::to_owned)).unwrap_or_default();
                let terms = PaymentTerms {
                    payer: Some(Payer { main_key, subkeys: request.subkeys }),
                    request_id: self.core.ids.token(),
                    reference: request.reference,
                    description,
                    subscription: None,
                    of_link: None,
                    expires_at: expiry(request.expires_at, now).min(UnixMillis::from_secs(invoice.expires_at())),
                };
                let (payment, effects) = Payment::of_invoice(terms, amount, request.invoice);
                let operation = Operation::InvoicePayment(payment);
                self.starter.create(stream_id, requester.origin(), operation, effects, record).await?
            }
            None => {
                let PayInvoiceRequest { invoice, reference, expires_at, .. } = request;
                let payment = ServicePaymentRequest { invoice, reference, expires_at };
                self.pay_from_backend(requester, stream_id, payment, record).await?
            }
        };
        match owner {
            None => Ok(stream_id),
            // A concurrent request for the same invoice was faster.
            Some(owner) => {
                self.check_same_invoice(requester, owner, &wanted).await?;
                self.starter.respond(once, owner).await
            }
        }
    }

    /// Refuses an invoice whose payment belongs to a client with streams hidden from this one. Refuses an invoice that
    /// only shares the payment hash with the one that this operation pays: that payment does not pay it, and paying a
    /// hash twice may lose the money (BOLT 11).
    async fn check_same_invoice(
        &self,
        requester: &Requester,
        owner: StreamId,
        invoice: &Invoice,
    ) -> Result<(), StartError> {
        let stored = self.core.store.operation(requester, owner).await?;
        if stored.is_none() && !requester.sees(None) {
            return Err(StartError::invalid("/invoice", "is being paid, or was paid, for another client"));
        }
        let operation = stored.and_then(|stored| Operation::from_state(&stored.state).ok());
        let paid = match &operation {
            Some(Operation::InvoicePayment(payment)) => payment.invoice(),
            Some(Operation::OutgoingPayment(payment)) => Some(payment.invoice()),
            Some(Operation::HeldPayment(held)) => held.payment().invoice(),
            // Removed in the meantime, or damaged: it is not known to be another invoice.
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
