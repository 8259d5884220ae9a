//! A subscription: from a user's agreement to its end.
//!
//! ```text
//! active ──the user closes it──────▶ ended   SubscriptionClosed {subscription_id, main_key, reason?}
//! active ──the operator closes it──▶ ended   the user's wallet is notified
//! active ──the last payment is made▶ ended   (completed)
//! active ──no payment falls due────▶ ended   (ended)
//! active ──a payment is made───────▶ active  counted
//! ```
//!
//! With `auto_charge`, each due date is charged with its own payment, one at a time:
//!
//! ```text
//! due ──────▶ charging               a payment is started, in the same commit
//! charging ─paid──▶ done             SubscriptionPayment {…, number, due, status: paid, preimage}
//! charging ─failed▶ due again        SubscriptionPayment {…, status: timeout | user_rejected | error, next_attempt_at}
//! charging ─failed▶ skipped          the same, without `next_attempt_at`
//! ```
//!
//! Its events are on the reserved stream `subscriptions`. The oldest due date is charged first, also after downtime. Of
//! the dates that passed before the user agreed, only the last is owed. A date whose charge failed is retried on the
//! schedule and then skipped; later dates do not wait for it. A retry comes an hour later at the earliest, when the
//! invoice of the previous attempt has expired. If that is paid nevertheless, or the subscription ends, the running
//! charge is withdrawn.
//!
//! The price of a subscription in another currency than millisats is converted at each charge: the timer brings the
//! rate ([`Input::TimerAtRate`]), and the payment has the resulting amount. A charge without a rate, or of more than
//! the user agreed to, fails at once, and is retried like any other.
//!
//! | crash … | what resume does |
//! | --- | --- |
//! | before a charge is committed | the timer fires again: nothing was started |
//! | after it | the payment continues by itself, and this state has the date as being charged |
//! | before the charge's end is committed | nothing has changed: payment and subscription change in one commit |

mod agreement;
mod charge_schedule;
mod state;
mod view;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use usher_protocol::PublicKey;
use usher_protocol::message::{CloseSubscription, ServiceMessage, WalletMessage};
use usher_protocol::subkey::Permission;

pub use self::agreement::SubscriptionRules;
use self::agreement::Unpayable;
pub(crate) use self::agreement::{Agreement, RecurringPrice};
use self::charge_schedule::{Dates, Failed};
pub use self::state::SubscriptionState;
pub use self::view::SubscriptionView;
use crate::event::NewEvent;
use crate::event_data::{EventData, SubscriptionClosedData, SubscriptionPaymentData};
use crate::machine::user_keys::UserKeys;
use crate::machine::{
    Charge, ChargeEnd, Charged, Effect, Input, RequestedPayment, Signal, StateMachine, StepResult, start,
};
use crate::payment::operation::{Payer, Payment, PaymentTerms, SubscriptionLink};
use crate::ports::{CorrelationKey, CurrencyCode, ExchangeRate, OperationKind, RateUnavailable};
use crate::price::{Price, PriceUnit};
use crate::{StreamId, UnixMillis};

/// How long the operator's close is repeated to the user's wallet; nothing acknowledges it.
const CLOSE_RESEND_PERIOD: Duration = Duration::from_secs(600);

/// Most open payments remembered that were requested by the operator; others are not withdrawn at the end.
const MAX_REQUESTED: usize = 256;

/// The state of a subscription.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    #[serde(flatten)]
    #[serde(rename = "conversation")]
    user_keys: UserKeys,
    #[serde(flatten)]
    agreement: Agreement,
    rules: SubscriptionRules,
    created_at: UnixMillis,
    state: SubscriptionState,
    reason: Option<String>,
    ended_at: Option<u64>,
    payments_made: u32,
    #[serde(default)]
    dates: Dates,
    #[serde(default)]
    by_hand: Vec<RequestedPayment>,
}

usher_protocol::debug_shows!(Subscription { state, payments_made, dates });

impl StateMachine for Subscription {
    fn is_about(&self, user: &PublicKey) -> bool {
        self.user_keys.is_with(user)
    }

    fn keys_of(message: &WalletMessage) -> Vec<CorrelationKey> {
        match message {
            WalletMessage::CloseSubscription(close) => vec![CorrelationKey::subscription(&close.subscription_id)],
            _ => Vec::new(),
        }
    }

    fn starts_payment(&self, input: &Input) -> bool {
        matches!(input, Input::Timer) && !Self::is_done(self)
    }

    fn charges_in(&self, input: &Input) -> Option<CurrencyCode> {
        let RecurringPrice { currency: PriceUnit::Minor(currency), .. } = self.agreement.price? else { return None };
        self.starts_payment(input).then_some(currency)
    }

    fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        match input {
            Input::Timer if self.wake_at().is_some_and(|at| now >= at) => self.woken(None, now),
            Input::TimerAtRate(rate) if self.wake_at().is_some_and(|at| now >= at) => self.woken(Some(rate), now),
            Input::Wallet { author, message: WalletMessage::CloseSubscription(close), .. }
                if close.subscription_id == self.agreement.subscription_id
                    && self.ended_at.is_none()
                    && self.user_keys.may_pay(author, now) =>
            {
                self.closed_by_user(close.reason.clone(), now)
            }
            Input::Signal(Signal::Close) if self.ended_at.is_none() => self.closed_by_operator(now),
            // A device could not read the operator's close.
            Input::Wallet { author, message: WalletMessage::SubkeyProof { proof, .. }, .. }
                if self.tells_until().is_some_and(|until| now < until)
                    && self.user_keys.prove(author, proof, Permission::Payment, now) =>
            {
                StepResult::Stepped(self.tell_device(author).into_iter().collect())
            }
            Input::Signal(Signal::DeviceProven { key, proof })
                if self.ended_at.is_none()
                    && proof.main_key == self.user_keys.main_key()
                    && self.user_keys.prove(key, proof, Permission::Payment, now) =>
            {
                StepResult::Stepped(Vec::new())
            }
            Input::Signal(Signal::PaymentRequested(asked)) if self.ended_at.is_none() => {
                self.by_hand.retain(|earlier| now.secs() < earlier.until);
                if self.by_hand.len() >= MAX_REQUESTED {
                    self.by_hand.remove(0);
                }
                self.by_hand.push(asked.clone());
                StepResult::Stepped(Vec::new())
            }
            Input::Signal(Signal::NotPaid { request_id }) if self.ended_at.is_none() => {
                self.by_hand.retain(|asked| asked.request_id != *request_id);
                StepResult::Stepped(Vec::new())
            }
            Input::Signal(Signal::Paid { request_id }) => {
                self.by_hand.retain(|asked| asked.request_id != *request_id);
                self.payments_made = self.payments_made.saturating_add(1);
                StepResult::Stepped(self.complete(now))
            }
            Input::Signal(Signal::Charged(charged)) => self.charged(charged, now),
            _ => StepResult::Ignored,
        }
    }

    fn wake_at(&self) -> Option<UnixMillis> {
        if let Some(ended_at) = self.ended_at {
            return Some(UnixMillis::from_secs(ended_at).plus(self.rules.keep));
        }
        if self.dates.are_over() {
            // After its last second.
            return self.agreement.recurrence.until.map(|until| UnixMillis::from_secs(until.saturating_add(1)));
        }
        let due = self.dates.wake_at()?;
        let free = self.by_hand.iter().map(|asked| asked.until).min().filter(|_| self.is_asked_for_all(0));
        Some(UnixMillis::from_secs(due.max(free.unwrap_or_default())))
    }

    fn correlations(&self) -> Vec<CorrelationKey> {
        vec![CorrelationKey::subscription(&self.agreement.subscription_id)]
    }

    fn announcement_queue(&self) -> StreamId {
        StreamId::subscription_queue(self.id())
    }

    fn is_done(&self) -> bool {
        self.ended_at.is_some()
    }
}

impl Subscription {
    pub(crate) fn start(user_keys: UserKeys, agreement: Agreement, rules: SubscriptionRules, now: UnixMillis) -> Self {
        let dates = if agreement.auto_charge { Dates::of(&agreement, now.secs()) } else { Dates::default() };
        Self {
            user_keys,
            agreement,
            rules,
            created_at: now,
            state: SubscriptionState::Active,
            reason: None,
            ended_at: None,
            payments_made: 0,
            dates,
            by_hand: Vec::new(),
        }
    }

    /// Whether what was paid and what is asked for are all the payments that the user authorized.
    pub(crate) fn has_no_payment_left(&self, now: UnixMillis) -> bool {
        self.is_asked_for_all(now.secs())
    }

    /// The same, of requests that can be paid at `now`, in Unix seconds, or later.
    fn is_asked_for_all(&self, now: u64) -> bool {
        let Some(max) = self.agreement.recurrence.max_payments else { return false };
        let by_hand = self.by_hand.iter().filter(|asked| now < asked.until).count();
        let asked = by_hand + usize::from(self.dates.running().is_some());
        let asked = u32::try_from(asked).unwrap_or(u32::MAX);
        by_hand >= MAX_REQUESTED || self.payments_made.saturating_add(asked) >= max
    }

    /// Whether the time that the user authorized is over. A date in it may still be charged late.
    pub(crate) fn is_past_until(&self, now: UnixMillis) -> bool {
        self.agreement.recurrence.until.is_some_and(|until| until < now.secs())
    }

    pub(crate) fn id(&self) -> &str {
        &self.agreement.subscription_id
    }

    /// Whether `key` can refer to this subscription's user.
    pub fn is_of(&self, key: &PublicKey) -> bool {
        self.user_keys.is_with(key)
    }

    fn woken(&mut self, rate: Option<&Result<ExchangeRate, RateUnavailable>>, now: UnixMillis) -> StepResult {
        if self.ended_at.is_some() {
            return StepResult::Stepped(vec![Effect::Finish]);
        }
        if !self.dates.are_over() && !self.by_hand.is_empty() {
            self.by_hand.retain(|asked| now.secs() < asked.until);
            if self.has_no_payment_left(now) {
                return StepResult::Stepped(Vec::new());
            }
        }
        match self.dates.begin(&self.agreement, now.secs()) {
            Some((charge, lives)) => match self.agreement.fix(rate) {
                Ok(fixed) => StepResult::Stepped(vec![self.charge(charge, fixed, lives, now)]),
                Err(Unpayable { reason, price }) => {
                    let end =
                        ChargeEnd::Failed { status: "error".to_owned(), reason: Some(reason), may_be_paid: false };
                    self.charged(&Charged { charge, end, price }, now)
                }
            },
            None => {
                self.finish(SubscriptionState::Ended, None, now);
                StepResult::Stepped(Vec::new())
            }
        }
    }

    fn charge(&self, date: Charge, (amount, price): (u64, Option<Price>), lives: Duration, now: UnixMillis) -> Effect {
        let terms = PaymentTerms {
            payer: Some(Payer { main_key: self.user_keys.main_key(), subkeys: self.user_keys.named() }),
            request_id: self.request_id(date),
            reference: self.agreement.reference.clone(),
            description: self.agreement.description.clone(),
            subscription: Some(SubscriptionLink {
                subscription_id: self.agreement.subscription_id.clone(),
                charge: Some(date),
            }),
            of_link: None,
            expires_at: now.plus(lives),
        };
        let (payment, effects) = Payment::to_us(terms, amount, self.rules.network, now);
        start(OperationKind::SinglePayment, &payment.priced(price), effects)
    }

    /// Each attempt has its own id. It need not be secret, because replies are validated by their author.
    fn request_id(&self, date: Charge) -> String {
        let digest = Sha256::new()
            .chain_update(self.created_at.0.to_be_bytes())
            .chain_update(self.user_keys.main_key().as_bytes())
            .chain_update(date.number.to_be_bytes())
            .chain_update(date.attempt.to_be_bytes())
            .chain_update(&self.agreement.subscription_id)
            .finalize();
        hex::encode(digest.get(..16).unwrap_or_default())
    }

    fn charged(&mut self, charged: &Charged, now: UnixMillis) -> StepResult {
        let (charge, price) = (charged.charge, charged.price.as_ref());
        match &charged.end {
            ChargeEnd::Paid(preimage) => {
                self.payments_made = self.payments_made.saturating_add(1);
                let paid_twice = self.dates.paid(charge).then(|| self.withdraw_charge()).flatten();
                let mut withdrawn = self.complete(now);
                if withdrawn.is_empty() {
                    withdrawn.extend(paid_twice);
                }
                self.end_when_over(now);
                let preimage = preimage.map(|preimage| preimage.to_hex());
                let data = SubscriptionPaymentData { preimage, ..self.payment_data(charge, price, "paid") };
                StepResult::Stepped([announce_payment(data, now)].into_iter().chain(withdrawn).collect())
            }
            ChargeEnd::Failed { status, reason, may_be_paid } => {
                let tries = usize::try_from(charge.attempt).unwrap_or(usize::MAX);
                let until = self.agreement.recurrence.until;
                let is_allowed = |wait: &&Duration| until.is_none_or(|until| now.plus(**wait).secs() <= until);
                let wait = self.rules.retry_after.get(tries).filter(is_allowed);
                let wait = wait.filter(|_| self.ended_at.is_none() && !may_be_paid);
                let failed = self.dates.failed(charge, wait.map(|wait| now.plus(*wait).secs()));
                if failed == Failed::Known {
                    return StepResult::Ignored;
                }
                self.end_when_over(now);
                let Failed::Untold(next) = failed else { return StepResult::Stepped(Vec::new()) };
                let reason = reason.clone();
                let told = self.payment_data(charge, price, status);
                let data = SubscriptionPaymentData { reason, next_attempt_at: next, ..told };
                StepResult::Stepped(vec![announce_payment(data, now)])
            }
        }
    }

    fn end_when_over(&mut self, now: UnixMillis) {
        if self.dates.are_over() && self.ended_at.is_none() {
            self.finish(SubscriptionState::Ended, None, now);
        }
    }

    fn complete(&mut self, now: UnixMillis) -> Vec<Effect> {
        let all = self.agreement.recurrence.max_payments.is_some_and(|max| self.payments_made >= max);
        if !all || self.ended_at.is_some() {
            return Vec::new();
        }
        self.finish(SubscriptionState::Completed, None, now);
        self.withdraw()
    }

    /// Withdraws its open payments: their requests are no longer repeated, but their results are still reported.
    fn withdraw(&mut self) -> Vec<Effect> {
        let asked = std::mem::take(&mut self.by_hand).into_iter();
        let withdrawn =
            asked.map(|asked| Effect::Signal(CorrelationKey::request(&asked.request_id), Signal::CancelPayment));
        withdrawn.chain(self.withdraw_charge()).collect()
    }

    fn withdraw_charge(&self) -> Option<Effect> {
        let running = self.dates.running()?;
        Some(Effect::Signal(CorrelationKey::request(&self.request_id(running)), Signal::CancelPayment))
    }

    fn finish(&mut self, state: SubscriptionState, reason: Option<String>, now: UnixMillis) {
        self.state = state;
        self.reason = reason;
        self.ended_at = Some(now.secs());
    }

    pub(crate) fn begin_closed(&mut self, reason: Option<String>, now: UnixMillis) -> Vec<Effect> {
        match self.closed_by_user(reason, now) {
            StepResult::Stepped(effects) => effects,
            StepResult::Ignored => Vec::new(),
        }
    }

    fn closed_by_user(&mut self, reason: Option<String>, now: UnixMillis) -> StepResult {
        let data = EventData::SubscriptionClosed(SubscriptionClosedData {
            subscription_id: self.agreement.subscription_id.clone(),
            main_key: self.user_keys.main_key().to_hex(),
            reason: reason.clone(),
        });
        self.finish(SubscriptionState::ClosedByUser, reason, now);
        let closed = Effect::Announce(NewEvent::new(&data, now));
        StepResult::Stepped([closed].into_iter().chain(self.withdraw()).collect())
    }

    fn closed_by_operator(&mut self, now: UnixMillis) -> StepResult {
        self.finish(SubscriptionState::ClosedByProvider, None, now);
        StepResult::Stepped(self.tell_wallet().into_iter().chain(self.withdraw()).collect())
    }

    fn tells_until(&self) -> Option<UnixMillis> {
        let ended_at = self.ended_at.filter(|_| self.state == SubscriptionState::ClosedByProvider)?;
        Some(UnixMillis::from_secs(ended_at).plus(CLOSE_RESEND_PERIOD))
    }

    fn tell_wallet(&self) -> Option<Effect> {
        Some(Effect::Send(self.user_keys.message(&self.closing(), self.tells_until()?)))
    }

    fn tell_device(&self, proven: &PublicKey) -> Option<Effect> {
        Some(Effect::SendAlso(self.user_keys.message_to_proven(proven, &self.closing(), self.tells_until()?)))
    }

    fn closing(&self) -> ServiceMessage {
        ServiceMessage::CloseSubscription(CloseSubscription {
            subscription_id: self.agreement.subscription_id.clone(),
            reason: None,
            by_service: true,
        })
    }

    fn payment_data(&self, charge: Charge, price: Option<&Price>, status: &str) -> SubscriptionPaymentData {
        let (agreement, agreed) = (&self.agreement, self.agreement.price);
        SubscriptionPaymentData {
            subscription_id: self.agreement.subscription_id.clone(),
            main_key: self.user_keys.main_key().to_hex(),
            number: charge.number.into(),
            due: charge.due,
            attempt: charge.attempt.saturating_add(1).into(),
            amount: price.map(|price| price.amount).or(agreed.map(|price| price.amount)).unwrap_or(agreement.most()),
            currency: agreed.map(|price| price.currency.to_string()),
            amount_millisats: price.map(|price| price.amount_millisats),
            rate: price.and_then(|price| price.rate.as_ref()).map(Into::into),
            status: status.to_owned(),
            preimage: None,
            reason: None,
            next_attempt_at: None,
        }
    }
}

fn announce_payment(data: SubscriptionPaymentData, now: UnixMillis) -> Effect {
    Effect::Announce(NewEvent::new(&EventData::SubscriptionPayment(data), now))
}
#[cfg(test)]
mod tests;
