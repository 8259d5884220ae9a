//! Starting payments, invoice requests and subscriptions: validate, commit, answer. Nothing here waits for the wallet.

use std::time::Duration;

use usher_protocol::PublicKey;
use usher_protocol::bolt11::{Invoice, Network};
use usher_protocol::message::Recurrence;

use super::committing::Change;
use super::field_checks::{FieldValues, expiry};
use super::starting::random_token;
use super::{Engine, IdempotentRequest, StartError};
use crate::operations::{
    Asked, Input, InvoiceRequest, InvoiceTerms, Note, Operation, Outcome, OwnPayment, Payment, PaymentTerms,
    RecurringRequest, RecurringTerms, SubscriptionLink, SubscriptionRules,
};
use crate::ports::{Conflict, CorrelationKey, Revision, StoreError};
use crate::{StreamId, UnixMillis};

/// What payments and subscriptions go by.
#[derive(Clone, Debug)]
pub struct PaymentRules {
    /// The network invoices must be for (`wallet.network`).
    pub network: Network,
    /// The largest payment in millisats (`limits.max_amount_millisats`).
    pub max_amount: u64,
    /// After how long a charge that failed is tried again, one after the other (`subscriptions.retry_hours`).
    pub retry_after: Vec<Duration>,
    /// Most look-ups of open invoices a second that nobody has a reason for (`wallet.lookups_per_second`).
    pub look_ups_per_second: u64,
}

/// Asks a user for a payment to us.
#[derive(Clone, Debug)]
pub struct SinglePaymentRequest {
    /// Who pays.
    pub main_key: PublicKey,
    /// Keys that may answer for it without a proof.
    pub subkeys: Vec<PublicKey>,
    /// What it is for.
    pub description: String,
    /// Millisats.
    pub amount: u64,
    /// The subscription it belongs to.
    pub subscription_id: Option<String>,
    /// The caller's own reference, echoed in events.
    pub reference: Option<String>,
    /// Unix seconds until which it can be paid.
    pub expires_at: Option<u64>,
}

/// Asks for the payment of another's invoice.
#[derive(Clone, Debug)]
pub struct PayInvoiceRequest {
    /// Who pays; `None` is our own wallet.
    pub main_key: Option<PublicKey>,
    /// Keys that may answer for it without a proof.
    pub subkeys: Vec<PublicKey>,
    /// What is paid.
    pub invoice: Invoice,
    /// Millisats; must be what the invoice says.
    pub amount: Option<u64>,
    /// What it is for.
    pub description: Option<String>,
    /// The caller's own reference, echoed in events.
    pub reference: Option<String>,
    /// Unix seconds until which the user can pay it, or until which our own wallet is asked to.
    pub expires_at: Option<u64>,
}

/// Asks a user for an invoice.
#[derive(Clone, Debug)]
pub struct RequestInvoice {
    /// Who makes it.
    pub main_key: PublicKey,
    /// Keys that may answer for it without a proof.
    pub subkeys: Vec<PublicKey>,
    /// Millisats.
    pub amount: u64,
    /// What it is for.
    pub description: Option<String>,
    /// The caller's own reference, echoed in events.
    pub reference: Option<String>,
    /// Unix seconds until which it can be answered.
    pub expires_at: Option<u64>,
}

/// Asks a user to agree to a subscription.
#[derive(Clone, Debug)]
pub struct RecurringPaymentRequest {
    /// Who pays.
    pub main_key: PublicKey,
    /// Keys that may answer for it without a proof.
    pub subkeys: Vec<PublicKey>,
    /// What it is for.
    pub description: String,
    /// Millisats each time.
    pub amount: u64,
    /// Millisats each time that the user must authorize at least; all of it when `None`.
    pub minimum_amount: Option<u64>,
    /// When, and how often.
    pub recurrence: Recurrence,
    /// Unix seconds until which it can be answered.
    pub expires_at: u64,
    /// The caller's own reference, echoed in events.
    pub reference: Option<String>,
    /// Whether each due payment is asked for by the service itself.
    pub auto_charge: bool,
}

impl Engine {
    /// Asks a user for a payment to us; the invoice is made after the answer.
    ///
    /// IdempotentRequest polled it should be polled to its end, as [`start_key_handshake`](Self::start_key_handshake).
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start_single_payment(
        &self,
        request: SinglePaymentRequest,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        let now = self.clock.now();
        let SinglePaymentRequest { main_key, amount, expires_at, .. } = request;
        let subscription_id = request.subscription_id.clone();
        let values =
            FieldValues::SinglePayment { main_key: Some(main_key), amount: Some(amount), subscription_id, expires_at };
        self.check_values(values).await?;
        self.need_wallet()?;
        let expires_at = expiry(expires_at, now);
        let request_id = random_token(&*self.randomness);
        loop {
            let subscription = match &request.subscription_id {
                Some(id) => self.check_payment_by_subscription(id, &main_key, amount).await?,
                None => None,
            };
            let link = |subscription_id| SubscriptionLink { subscription_id, charge: None };
            let terms = PaymentTerms {
                main_key: request.main_key,
                subkeys: request.subkeys.clone(),
                request_id: request_id.clone(),
                reference: request.reference.clone(),
                description: request.description.clone(),
                subscription: request.subscription_id.clone().map(link),
                expires_at,
            };
            let (payment, effects) = Payment::to_us(terms, request.amount, self.options.payments.network, now);
            let stream_id = self.new_stream_id();
            let mut changes = vec![Change::start(stream_id, Operation::SinglePayment(payment), effects)];
            // In the same commit: should the subscription be closed at this moment, one of both comes first.
            changes.extend(subscription.map(|(id, revision, mut subscription)| {
                let asked = Note::Asked(Asked { request_id: request_id.clone(), until: expires_at.secs() });
                let effects = match subscription.step(&Input::Note(asked), now) {
                    Outcome::Stepped(effects) => effects,
                    Outcome::Ignored => Vec::new(),
                };
                let operation = Operation::Subscription(subscription);
                Change { id, operation, effects, expected: Revision::At(revision), claims: Vec::new() }
            }));
            let answer = once.as_ref().map(|once| once.answer(&stream_id, now));
            match self.create_all(changes, answer).await? {
                None => return Ok(stream_id),
                // The subscription was stepped meanwhile: look again.
                Some(Conflict::Revision) => {}
                Some(Conflict::Correlation(_) | Conflict::InboundSeen | Conflict::Answered) => {
                    return Err(StoreError::Unreadable("a random correlation key was there already").into());
                }
            }
        }
    }

    /// Has another's invoice paid, by a user or by our own wallet. An invoice is never paid twice: asked again, the
    /// first payment's stream is the answer.
    ///
    /// IdempotentRequest polled it should be polled to its end, as [`start_key_handshake`](Self::start_key_handshake).
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn pay_invoice(
        &self,
        request: PayInvoiceRequest,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        let now = self.clock.now();
        let paying = CorrelationKey::paying(request.invoice.payment_hash());
        if let Some(stream_id) = self.index.find(paying) {
            return self.answered(once, stream_id).await;
        }
        let PayInvoiceRequest { amount, expires_at, .. } = request;
        let invoice = &request.invoice;
        let values = FieldValues::InvoicePayment { invoice: Some(invoice.clone()), amount, expires_at };
        self.check_values(values).await?;
        let expires_at = expiry(expires_at, now);
        let amount = invoice.amount().unwrap_or_default();
        let (operation, effects) = match request.main_key {
            Some(main_key) => {
                let description =
                    request.description.or_else(|| invoice.description().map(str::to_owned)).unwrap_or_default();
                let terms = PaymentTerms {
                    main_key,
                    subkeys: request.subkeys,
                    request_id: random_token(&*self.randomness),
                    reference: request.reference,
                    description,
                    subscription: None,
                    expires_at: expires_at.min(UnixMillis::from_secs(invoice.expires_at())),
                };
                let (payment, effects) = Payment::of_invoice(terms, amount, request.invoice);
                (Operation::InvoicePayment(payment), effects)
            }
            None => {
                self.need_wallet()?;
                let (payment, effects) = OwnPayment::start(request.invoice, request.reference, expires_at, now);
                (Operation::OwnPayment(payment), effects)
            }
        };
        let stream_id = self.new_stream_id();
        let answer = once.as_ref().map(|once| once.answer(&stream_id, now));
        match self.create(stream_id, operation, effects, answer).await? {
            None => Ok(stream_id),
            // Another call with the same invoice was quicker.
            Some(owner) => self.answered(once, owner).await,
        }
    }

    /// Asks a user for an invoice.
    ///
    /// IdempotentRequest polled it should be polled to its end, as [`start_key_handshake`](Self::start_key_handshake).
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn request_invoice(
        &self,
        request: RequestInvoice,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        let now = self.clock.now();
        let RequestInvoice { amount, expires_at, .. } = request;
        self.check_values(FieldValues::InvoiceRequest { amount: Some(amount), expires_at }).await?;
        let expires_at = expiry(expires_at, now);
        let terms = InvoiceTerms {
            main_key: request.main_key,
            subkeys: request.subkeys,
            request_id: random_token(&*self.randomness),
            reference: request.reference,
            amount: request.amount,
            description: request.description,
            expires_at,
        };
        let (state, effects) = InvoiceRequest::start(terms, self.options.payments.network);
        let stream_id = self.new_stream_id();
        let answer = once.map(|once| once.answer(&stream_id, now));
        self.create_new(stream_id, Operation::InvoiceRequest(state), effects, answer).await
    }

    /// Asks a user to agree to a subscription.
    ///
    /// IdempotentRequest polled it should be polled to its end, as [`start_key_handshake`](Self::start_key_handshake).
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start_recurring_payment(
        &self,
        request: RecurringPaymentRequest,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        let now = self.clock.now();
        self.check_values(FieldValues::RecurringPayment {
            amount: Some(request.amount),
            minimum_amount: request.minimum_amount,
            expires_at: Some(request.expires_at),
            first_payment_due: Some(request.recurrence.first_payment_due),
            until: request.recurrence.until,
            auto_charge: request.auto_charge,
        })
        .await?;
        let expires_at = UnixMillis::from_secs(request.expires_at);
        if request.auto_charge {
            self.need_wallet()?;
        }
        let terms = RecurringTerms {
            main_key: request.main_key,
            subkeys: request.subkeys,
            request_id: random_token(&*self.randomness),
            reference: request.reference,
            amount: request.amount,
            minimum_amount: request.minimum_amount.unwrap_or(request.amount),
            description: request.description,
            recurrence: request.recurrence,
            expires_at,
            auto_charge: request.auto_charge,
        };
        let rules = SubscriptionRules {
            network: self.options.payments.network,
            retry_after: self.options.payments.retry_after.clone(),
            keep: self.options.retention,
        };
        let (state, effects) = RecurringRequest::start(terms, rules);
        let stream_id = self.new_stream_id();
        let answer = once.map(|once| once.answer(&stream_id, now));
        self.create_new(stream_id, Operation::RecurringRequest(state), effects, answer).await
    }

    fn need_wallet(&self) -> Result<(), StartError> {
        if self.has_lightning() { Ok(()) } else { Err(StartError::NoLightning) }
    }
}
