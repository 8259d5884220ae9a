//! A request to a user to agree to a subscription.
//!
//! ```text
//! asking ──confirmed──▶ finished   Subscription {status: approved, subscription_id, …}; the subscription begins
//! asking ──rejected───▶ finished   StatusUpdate {status: user_rejected, reason?}
//! asking ──too little─▶ refused    StatusUpdate {status: user_rejected, reason}; the user's wallet gets a close
//! asking ──unusable───▶ refused    StatusUpdate {status: error, reason}; the same
//! asking ──expired────▶ finished   StatusUpdate {status: timeout}
//! asking ──closed─────▶ asking     the agreement arrives later: the subscription begins closed
//! refused ─minutes later▶ finished
//! ```
//!
//! The event and the subscription are committed together: a crash at any time leaves both or neither.

mod close_before_agreement;
mod refusal;
mod refused_agreement;
pub(crate) mod start;

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::message::{
    self, Currency, Recurrence, RecurringResponse, RecurringStatus, ServiceMessage, WalletMessage,
};
use usher_protocol::subkey::Permission;

use self::close_before_agreement::EarlyCloses;
use self::refused_agreement::RefusedAgreement;
use super::operation::{Agreement, RecurringPrice, Subscription, SubscriptionRules};
use crate::UnixMillis;
use crate::event_data::{EventData, PaymentData, SubscriptionData};
use crate::machine::user_keys::UserKeys;
use crate::machine::{Effect, Input, StateMachine, StepResult, emit, start};
use crate::ports::{CorrelationKey, OperationKind};
use crate::price::Price;
use crate::request_body;
use crate::request_body::{
    CalendarWord, CurrencyName, Description, Flag, Identifier, Key, Millisats, OrDefault, PaymentCount, Subkeys,
    UnixSeconds,
};

request_body! {
    /// Asks a user to agree to a subscription.
    #[derive(Clone, Debug)]
    pub struct RecurringPaymentRequest, RecurringPaymentDraft = "RecurringPaymentRequest", example {
        "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
        "subkeys": [],
        "description": "Membership",
        "amount": 10000,
        "currency": "millisats",
        "recurrence": { "calendar": "monthly", "first_payment_due": 4102444800_u64, "max_payments": 12 },
        "expires_at": 4102444800_u64,
    } {
        /// Who pays: 64 hex characters.
        main_key: Key,
        /// Keys that may respond for it without a proof of delegation; usually none, at most 8.
        subkeys: Subkeys,
        /// What the subscription is for. At most 639 bytes of UTF-8.
        description: Description,
        /// Of each payment: in millisats, sats, or the minor unit of `currency`, such as cents. It may come to at most
        /// `limits.max_amount_millisats`.
        amount: Millisats,
        /// The least that the user must authorize for each payment, in sats if `currency` is `sats` and in millisats otherwise; by
        /// default what `amount` comes to now. A subscription for less is closed at once, and the stream gets `user_rejected` with the reason.
        minimum_amount: Option<Millisats>,
        /// `millisats`, `sats`, or the code of a currency (ISO 4217) that `rates.currencies` lists; in either case. What `amount`
        /// comes to in millisats is then fixed anew for each payment, and rounded up to a whole sat.
        currency: CurrencyName,
        /// Only with another `currency` than millisats and sats: the most that each payment may come to, in millisats. This is what the
        /// user is asked to authorize; an automatic charge that comes to more fails. By default twice what `amount` comes to now.
        max_amount_millisats: Option<Millisats>,
        /// When, and how often, the user pays.
        recurrence: Recurrence,
        /// Unix seconds until which the user can respond: in the future, within a year, and not after `recurrence.until`.
        expires_at: UnixSeconds,
        /// Your own reference, repeated in the events.
        reference as "request_id": Option<Identifier>,
        /// Whether the service asks for each due payment, from `first_payment_due` on, or from the last due date
        /// before the user agreed. It reports each on the stream `subscriptions`. Needs a Lightning backend.
        auto_charge: OrDefault<Flag>,
    }
}

request_body! {
    /// When, and how often, a subscription is paid.
    pub read Recurrence, RecurrenceDraft = "Recurrence" {
        /// When the payments after the first are due.
        calendar: CalendarWord,
        /// Unix seconds of the first payment; may be now.
        first_payment_due: UnixSeconds,
        /// After how many payments the subscription ends.
        max_payments: Option<PaymentCount>,
        /// Unix seconds after which no payment is due.
        until: Option<UnixSeconds>,
    }
}

/// The state of a recurring request.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecurringRequest {
    #[serde(flatten)]
    #[serde(rename = "conversation")]
    user_keys: UserKeys,
    request_id: String,
    reference: Option<String>,
    /// The maximum of a payment, in millisats.
    amount: u64,
    #[serde(default)]
    minimum_amount: u64,
    description: String,
    recurrence: Recurrence,
    expires_at: UnixMillis,
    auto_charge: bool,
    rules: SubscriptionRules,
    #[serde(default)]
    closed: EarlyCloses,
    #[serde(default)]
    refused: Option<RefusedAgreement>,
    /// If not requested in millisats: the price at the rate of that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    price: Option<Price>,
}

usher_protocol::debug_shows!(RecurringRequest { amount });

impl StateMachine for RecurringRequest {
    fn is_about(&self, user: &PublicKey) -> bool {
        self.user_keys.is_with(user)
    }

    fn keys_of(message: &WalletMessage) -> Vec<CorrelationKey> {
        match message {
            WalletMessage::RecurringResponse(response) => vec![CorrelationKey::request(&response.request_id)],
            _ => Vec::new(),
        }
    }

    /// A wallet chooses the subscription's id when it agrees, and relays may deliver its close before its agreement.
    fn comes_early(message: &WalletMessage) -> bool {
        matches!(message, WalletMessage::CloseSubscription(_))
    }

    fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        if self.refused.is_some() {
            return self.step_refused(input, now);
        }
        match input {
            Input::Timer if now >= self.expires_at => self.end("timeout", Some("the user did not answer in time"), now),
            _ if now >= self.expires_at => StepResult::Ignored,
            Input::Wallet { author, message: WalletMessage::RecurringResponse(response), .. } => {
                self.answered(author, response, now)
            }
            Input::Wallet { author, message: WalletMessage::CloseSubscription(close), .. }
                if self.user_keys.may_pay(author, now) && self.closed.put(close, now) =>
            {
                StepResult::Stepped(Vec::new())
            }
            Input::Wallet { author, message: WalletMessage::SubkeyProof { proof, .. }, .. }
                if self.user_keys.prove(author, proof, Permission::Payment, now) =>
            {
                StepResult::Stepped(vec![self.ask_too(author)])
            }
            Input::CorrelationTaken => self.end("error", Some("the wallet gave a subscription id that is in use"), now),
            _ => StepResult::Ignored,
        }
    }

    fn wake_at(&self) -> Option<UnixMillis> {
        Some(self.refused.as_ref().map_or(self.expires_at, RefusedAgreement::until))
    }

    /// A refused subscription has a key of its own: the close sent to the wallet must not affect another one.
    fn correlations(&self) -> Vec<CorrelationKey> {
        let refused = self.refused.iter().map(|refused| CorrelationKey::subscription(refused.subscription_id()));
        [CorrelationKey::request(&self.request_id)].into_iter().chain(refused).collect()
    }

    fn may_close_early(&self) -> Option<Vec<PublicKey>> {
        Some(self.parties())
    }

    fn is_done(&self) -> bool {
        self.refused.is_some()
    }
}

impl RecurringRequest {
    /// Sends the request, which expires no later than the subscription would end. `amount` is the maximum of a payment,
    /// in millisats, and `request_id` a random id.
    pub fn start(
        request: RecurringPaymentRequest,
        (amount, price): (u64, Option<Price>),
        request_id: String,
        rules: SubscriptionRules,
    ) -> (Self, Vec<Effect>) {
        let until = request.recurrence.until.unwrap_or(request.expires_at);
        let state = Self {
            user_keys: UserKeys::new(request.main_key, &request.subkeys),
            request_id,
            reference: request.reference,
            amount,
            minimum_amount: request
                .minimum_amount
                .map(|least| least.saturating_mul(request.currency.unit().unwrap_or(1)))
                .unwrap_or_else(|| price.as_ref().map_or(amount, |price| price.amount_millisats)),
            description: request.description,
            recurrence: request.recurrence,
            expires_at: UnixMillis::from_secs(until.min(request.expires_at)),
            auto_charge: request.auto_charge,
            rules,
            closed: EarlyCloses::default(),
            refused: None,
            price,
        };
        let ask = state.ask();
        (state, vec![ask])
    }

    pub(crate) fn parties(&self) -> Vec<PublicKey> {
        self.user_keys.keys()
    }

    fn answered(&mut self, author: &PublicKey, response: &RecurringResponse, now: UnixMillis) -> StepResult {
        if response.request_id != self.request_id || !self.user_keys.may_pay(author, now) {
            return StepResult::Ignored;
        }
        match &response.status {
            RecurringStatus::Rejected { reason } => self.end("user_rejected", reason.as_deref(), now),
            RecurringStatus::Confirmed { subscription_id, authorized_currency, .. }
                if *authorized_currency != Currency::Millisats =>
            {
                self.refuse(subscription_id, "error", "the wallet authorized another currency than millisats", now)
            }
            RecurringStatus::Confirmed { subscription_id, .. } if matches!(&**subscription_id, "." | "..") => {
                self.refuse(subscription_id, "error", "the wallet gave a subscription id that no URL can contain", now)
            }
            RecurringStatus::Confirmed { subscription_id, authorized_amount: 0, .. } => {
                self.refuse(subscription_id, "error", "the wallet authorized an amount of zero", now)
            }
            RecurringStatus::Confirmed { subscription_id, authorized_amount, .. }
                if *authorized_amount < self.minimum_amount =>
            {
                let least = self.minimum_amount;
                let reason = format!("the user authorized {authorized_amount} millisats; at least {least} are needed");
                self.refuse(subscription_id, "user_rejected", &reason, now)
            }
            RecurringStatus::Confirmed { subscription_id, authorized_amount, authorized_recurrence, .. } => {
                let recurrence = within(authorized_recurrence, &self.recurrence);
                let never = recurrence.first_payment_due > LAST_DATE || recurrence.next_due(None).is_none();
                if never || recurrence.until.is_some_and(|until| until < now.secs()) {
                    return self.refuse(subscription_id, "error", "the wallet authorized no payment at all", now);
                }
                // More than requested is not needed, and JSON clients could not read it exactly.
                let authorized_amount = (*authorized_amount).min(MAX_SHOWN.max(self.amount));
                let agreement = Agreement {
                    subscription_id: subscription_id.clone(),
                    amount: self.amount,
                    description: self.description.clone(),
                    authorized_amount,
                    recurrence: recurrence.clone(),
                    asked_calendar: Some(self.recurrence.calendar.clone()),
                    reference: self.reference.clone(),
                    auto_charge: self.auto_charge,
                    price: self
                        .price
                        .as_ref()
                        .map(|price| RecurringPrice { amount: price.amount, currency: price.currency }),
                };
                let mut subscription = Subscription::start(self.user_keys.clone(), agreement, self.rules.clone(), now);
                let closed = self.closed.of(subscription_id).map(|reason| subscription.begin_closed(reason, now));
                let data = EventData::Subscription(SubscriptionData {
                    status: "approved".to_owned(),
                    subscription_id: subscription_id.clone(),
                    main_key: self.user_keys.main_key().to_hex(),
                    authorized_amount,
                    authorized_currency: "millisats".to_owned(),
                    authorized_recurrence: (&recurrence).into(),
                    auto_charge: self.auto_charge,
                    request_id: self.reference.clone(),
                    amount: self.price.as_ref().map(|price| price.amount),
                    currency: self.price.as_ref().map(|price| price.currency.to_string()),
                    amount_millisats: self.price.as_ref().map(|price| price.amount_millisats),
                    rate: self.price.as_ref().and_then(|price| price.rate.as_ref()).map(Into::into),
                });
                StepResult::Stepped(vec![
                    emit(data, now),
                    start(OperationKind::Subscription, &subscription, closed.unwrap_or_default()),
                    Effect::Finish,
                ])
            }
        }
    }

    fn end(&self, status: &str, reason: Option<&str>, now: UnixMillis) -> StepResult {
        let data = PaymentData::failed_at(self.price.as_ref(), status, reason, self.reference.as_deref());
        StepResult::Stepped(vec![emit(data, now), Effect::Finish])
    }

    fn ask(&self) -> Effect {
        Effect::Send(self.user_keys.message(&self.message(), self.expires_at))
    }

    fn ask_too(&self, proven: &PublicKey) -> Effect {
        Effect::SendAlso(self.user_keys.message_to_proven(proven, &self.message(), self.expires_at))
    }

    fn message(&self) -> ServiceMessage {
        ServiceMessage::RecurringRequest(message::RecurringRequest {
            amount: self.amount,
            currency: Currency::Millisats,
            recurrence: self.recurrence.clone(),
            current_exchange_rate: None,
            expires_at: self.expires_at.secs(),
            auth_token: None,
            description: Some(self.description.clone()),
            request_id: self.request_id.clone(),
        })
    }
}

/// The largest integer that every JSON client reads exactly: 2^53 - 1.
const MAX_SHOWN: u64 = (1 << 53) - 1;

/// The last second of the year 9999, the latest valid date.
const LAST_DATE: u64 = 253_402_300_799;

/// The authorized recurrence limited to the requested one: not earlier, not longer, not more payments.
fn within(authorized: &Recurrence, asked: &Recurrence) -> Recurrence {
    Recurrence {
        until: authorized.until.into_iter().chain(asked.until).min().map(|until| until.min(LAST_DATE)),
        calendar: authorized.calendar.clone(),
        max_payments: authorized.max_payments.into_iter().chain(asked.max_payments).min(),
        first_payment_due: authorized.first_payment_due.max(asked.first_payment_due),
    }
}

#[cfg(test)]
mod tests;
