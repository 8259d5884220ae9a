//! Requests to the payer's wallet, and its replies.

use std::time::Duration;

use usher_protocol::PublicKey;
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::{Currency, PaymentRequest, PaymentResponse, PaymentStatus, Preimage, ServiceMessage};
use usher_protocol::subkey::{Permission, SubkeyProof};

use super::{InvoiceSource, Payment, Phase};
use crate::UnixMillis;
use crate::machine::{Effect, Signal, StepResult};
use crate::price::Price;

/// How long further claims of a payer to have paid are ignored: each claim causes a look-up by the Lightning backend.
const CLAIMS: Duration = Duration::from_secs(5);

/// The most failures reported for one payment; a wallet has no reason to try more often in a day.
pub(super) const MAX_FAILURES: u8 = 20;

/// How long nothing is repeated once the user has replied, except with a refusal: some wallets pay a repeated request
/// again. After this time, the missing reply may have been lost.
const PAUSE: Duration = Duration::from_secs(300);

fn answered_pause(now: UnixMillis) -> Effect {
    Effect::Pause(now.plus(PAUSE))
}

impl Payment {
    pub(super) fn ask(&self, invoice: &Invoice) -> Option<Effect> {
        let user_keys = self.user_keys.as_ref()?;
        Some(Effect::Send(user_keys.message(&self.request(invoice), self.expires_at)))
    }

    /// Sends the request to a key that has just proven its delegation, unless the user has replied from another device.
    pub(super) fn ask_too(&self, proven: &PublicKey, invoice: &Invoice) -> Option<Effect> {
        let message = self.user_keys.as_ref()?.message_to_proven(proven, &self.request(invoice), self.expires_at);
        (!self.approved && self.last.is_none() && self.claimed_at.is_none()).then_some(Effect::SendAlso(message))
    }

    pub(super) fn device_proven(&mut self, author: &PublicKey, proof: &SubkeyProof, now: UnixMillis) -> StepResult {
        let (Phase::Asking, Some(invoice), Some(user_keys)) =
            (&self.phase, self.invoice().cloned(), &mut self.user_keys)
        else {
            return StepResult::Ignored;
        };
        if self.withdrawn || !user_keys.prove(author, proof, Permission::Payment, now) {
            return StepResult::Ignored;
        }
        let device = self.signal_subscription(Signal::DeviceProven { key: *author, proof: proof.clone() });
        StepResult::Stepped(self.ask_too(author, &invoice).into_iter().chain(device).collect())
    }

    fn request(&self, invoice: &Invoice) -> ServiceMessage {
        // A wallet compares the payments of a subscription with what the user authorized, which is in millisats.
        let price = self.price.as_ref().filter(|_| self.subscription.is_none()).and_then(Price::to_wallet);
        let (amount, currency, rate) = match price {
            Some((amount, currency, rate)) => (amount, currency, Some(rate)),
            None => (self.amount, Currency::Millisats, None),
        };
        ServiceMessage::PaymentRequest(PaymentRequest {
            amount,
            currency,
            current_exchange_rate: rate,
            invoice: invoice.as_str().to_owned(),
            auth_token: None,
            expires_at: self.expires_at.secs(),
            subscription_id: self.subscription.as_ref().map(|link| link.subscription_id.clone()),
            description: self.description.clone(),
            request_id: self.request_id.clone(),
        })
    }

    pub(super) fn answered(&mut self, author: &PublicKey, response: &PaymentResponse, now: UnixMillis) -> StepResult {
        let is_payer = self.user_keys.as_ref().is_some_and(|user_keys| user_keys.may_pay(author, now));
        if response.request_id != self.request_id || !is_payer || self.paid {
            return StepResult::Ignored;
        }
        if let PaymentStatus::Success { preimage } = &response.status {
            return self.claimed(preimage.as_ref(), now);
        }
        // Between expiry and the timer, only a proof of payment is accepted: the wallet knows the expiry.
        if !matches!(self.phase, Phase::Asking)
            || now >= self.expires_at
            || self.last.as_ref() == Some(&response.status)
        {
            return StepResult::Ignored;
        }
        match &response.status {
            PaymentStatus::Approved if !self.approved => {
                self.approved = true;
                self.last = Some(response.status.clone());
                let told = self.tell("user_approved", None, now);
                StepResult::Stepped(told.into_iter().chain([answered_pause(now)]).collect())
            }
            PaymentStatus::Failed { reason } if self.failures < MAX_FAILURES => {
                self.failures += 1;
                self.last = Some(response.status.clone());
                let told = self.tell("user_failed", reason.as_deref(), now);
                StepResult::Stepped(told.into_iter().chain([answered_pause(now)]).collect())
            }
            PaymentStatus::Rejected { reason } => self.end("user_rejected", reason.as_deref(), now),
            // A wallet that repeats its reply is neither reported nor stored.
            PaymentStatus::Approved | PaymentStatus::Failed { .. } | PaymentStatus::Success { .. } => {
                StepResult::Ignored
            }
        }
    }

    pub(super) fn claimed(&mut self, preimage: Option<&Preimage>, now: UnixMillis) -> StepResult {
        let Some(hash) = self.invoice().map(Invoice::payment_hash) else { return StepResult::Ignored };
        let preimage = preimage.filter(|preimage| preimage.payment_hash() == hash);
        match &self.source {
            InvoiceSource::Other { .. } if preimage.is_some() => self.proven(preimage, None, now),
            // This is no proof, but the wallet must not pay again. Stored once: repetitions cost no write.
            InvoiceSource::Other { .. } if self.claimed_at.is_some() || !matches!(self.phase, Phase::Asking) => {
                StepResult::Ignored
            }
            InvoiceSource::Other { .. } => {
                self.claimed_at = Some(now);
                StepResult::Stepped(vec![answered_pause(now)])
            }
            // A claim only causes a look-up: the backend's invoice may pay somebody else.
            InvoiceSource::Own { .. } if self.claimed_at.is_some_and(|at| now < at.plus(CLAIMS)) => StepResult::Ignored,
            InvoiceSource::Own { .. } => {
                self.shown = preimage.copied().or(self.shown);
                self.claimed_at = Some(now);
                let pause = matches!(self.phase, Phase::Asking).then(|| answered_pause(now));
                StepResult::Stepped([Effect::LookUp].into_iter().chain(pause).collect())
            }
        }
    }

    /// The payment is no longer owed: the request is not sent again. Money that arrives is still accepted.
    pub(super) fn withdraw(&mut self) -> StepResult {
        if std::mem::replace(&mut self.withdrawn, true) {
            return StepResult::Ignored;
        }
        match self.phase {
            Phase::Making { .. } => StepResult::Stepped(Vec::new()),
            Phase::Asking => StepResult::Stepped(vec![Effect::ClearOutbox]),
            Phase::Closing { .. } | Phase::Ended { .. } | Phase::Leaving { .. } => StepResult::Ignored,
        }
    }
}
