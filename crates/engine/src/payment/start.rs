//! Starts a payment requested from a user.

use usher_protocol::PublicKey;

use crate::StreamId;
use crate::field_checks::{FieldValues, expiry};
use crate::kernel::commit::Change;
use crate::kernel::errors::StartError;
use crate::kernel::idempotency::IdempotentRequest;
use crate::operations::{Asked, Input, Note, Operation, Payment, PaymentTerms, StepResult, SubscriptionLink};
use crate::payment::Payments;
use crate::ports::{Conflict, StoreError};

/// Asks a user for a payment to the service.
#[derive(Clone, Debug)]
pub struct SinglePaymentRequest {
    /// Who pays.
    pub main_key: PublicKey,
    /// Keys that may respond for it without a proof.
    pub subkeys: Vec<PublicKey>,
    /// What it is for.
    pub description: String,
    /// Millisats.
    pub amount: u64,
    /// The subscription it belongs to.
    pub subscription_id: Option<String>,
    /// The caller's own reference, repeated in events.
    pub reference: Option<String>,
    /// Unix seconds until which it can be paid.
    pub expires_at: Option<u64>,
    /// Where its page leads to at the end; under one of `pages.return_urls`.
    pub return_url: Option<String>,
}

impl Payments {
    /// Asks a user for a payment to the service. The invoice is made after the response.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn request(
        &self,
        request: SinglePaymentRequest,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        let now = self.core.clock.now();
        let SinglePaymentRequest { main_key, amount, expires_at, .. } = request;
        let subscription_id = request.subscription_id.clone();
        let values =
            FieldValues::SinglePayment { main_key: Some(main_key), amount: Some(amount), subscription_id, expires_at };
        self.checks.check(values).await?;
        self.need_lightning()?;
        let expires_at = expiry(expires_at, now);
        let stream_id = self.core.ids.stream_id();
        let return_url = self.pages.return_url(request.return_url.as_deref(), stream_id)?;
        let request_id = self.core.ids.token();
        loop {
            let subscription = match &request.subscription_id {
                Some(id) => self.checks.payment_by_subscription(id, &main_key, amount).await?,
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
            let (payment, effects) = Payment::to_us(terms, request.amount, self.network, now);
            let payment = payment.returning_to(return_url.clone());
            let mut changes = vec![Change::start(stream_id, Operation::SinglePayment(payment), effects)];
            // In the same commit: if the subscription is closed at this moment, one of the two comes first.
            changes.extend(subscription.map(|mut found| {
                let asked = Note::Asked(Asked { request_id: request_id.clone(), until: expires_at.secs() });
                let effects = match found.subscription.step(&Input::Note(asked), now) {
                    StepResult::Stepped(effects) => effects,
                    StepResult::Ignored => Vec::new(),
                };
                Change::step(found.stream_id, found.revision, Operation::Subscription(found.subscription), effects)
            }));
            let record = once.as_ref().map(|once| once.record(&stream_id, now));
            match self.starter.create_all(changes, record).await? {
                None => return Ok(stream_id),
                // The subscription was stepped meanwhile: read it again.
                Some(Conflict::Revision) => {}
                Some(Conflict::Correlation(_) | Conflict::InboundSeen | Conflict::AlreadyRequested) => {
                    return Err(StoreError::Unexpected("a random correlation key was there already").into());
                }
            }
        }
    }
}
