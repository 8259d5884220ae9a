//! Starts a request for a subscription.

use usher_protocol::PublicKey;
use usher_protocol::message::Recurrence;

use crate::field_checks::FieldValues;
use crate::kernel::errors::StartError;
use crate::kernel::idempotency::IdempotentRequest;
use crate::operations::{Operation, RecurringRequest, RecurringTerms};
use crate::subscription::subscriptions::Subscriptions;
use crate::{StreamId, UnixMillis};

/// Asks a user to agree to a subscription.
#[derive(Clone, Debug)]
pub struct RecurringPaymentRequest {
    /// Who pays.
    pub main_key: PublicKey,
    /// Keys that may respond for it without a proof.
    pub subkeys: Vec<PublicKey>,
    /// What it is for.
    pub description: String,
    /// Millisats each time.
    pub amount: u64,
    /// Millisats each time that the user must authorize at least; `None` is all of `amount`.
    pub minimum_amount: Option<u64>,
    /// When, and how often.
    pub recurrence: Recurrence,
    /// Unix seconds until which the user can reply.
    pub expires_at: u64,
    /// The caller's own reference, repeated in events.
    pub reference: Option<String>,
    /// Whether the service charges each due date automatically.
    pub auto_charge: bool,
}

impl Subscriptions {
    /// Asks a user to agree to a subscription.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn request(
        &self,
        request: RecurringPaymentRequest,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        let now = self.core.clock.now();
        let values = FieldValues::RecurringPayment {
            amount: Some(request.amount),
            minimum_amount: request.minimum_amount,
            expires_at: Some(request.expires_at),
            first_payment_due: Some(request.recurrence.first_payment_due),
            until: request.recurrence.until,
            auto_charge: request.auto_charge,
        };
        self.checks.check(values).await?;
        let expires_at = UnixMillis::from_secs(request.expires_at);
        if request.auto_charge && !self.has_lightning {
            return Err(StartError::NoLightning);
        }
        let terms = RecurringTerms {
            main_key: request.main_key,
            subkeys: request.subkeys,
            request_id: self.core.ids.token(),
            reference: request.reference,
            amount: request.amount,
            minimum_amount: request.minimum_amount.unwrap_or(request.amount),
            description: request.description,
            recurrence: request.recurrence,
            expires_at,
            auto_charge: request.auto_charge,
        };
        let (state, effects) = RecurringRequest::start(terms, self.rules.clone());
        let stream_id = self.core.ids.stream_id();
        let record = once.map(|once| once.record(&stream_id, now));
        self.starter.create_new(stream_id, Operation::RecurringRequest(state), effects, record).await
    }
}
