//! A subscription: from a user's agreement to its end.
//!
//! ```text
//! active ──the user closes it──────▶ ended   SubscriptionClosed {subscription_id, main_key, reason?}
//! active ──the operator closes it──▶ ended   the user's wallet is told
//! active ──the last payment is made▶ ended   (completed)
//! active ──no payment falls due────▶ ended   (ended)
//! active ──a payment is made───────▶ active  counted
//! ```
//!
//! With `auto_charge`, each due date is charged by a payment of its own, one after the other:
//!
//! ```text
//! waiting ──due──▶ charging            a payment is started, in the same commit
//! charging ─paid─▶ waiting (next date) SubscriptionPayment {…, number, due, status: paid, preimage}
//! charging ─failed▶ waiting (again)    SubscriptionPayment {…, status: timeout | user_rejected | error, reason?}
//! ```
//!
//! Its events stand on the reserved stream `subscriptions`. One due date is charged at a time, oldest first, also after
//! downtime. Dates that passed before the user agreed are not owed, but for the last one of them. A failed charge is tried again by the schedule, then its date is passed over. Before a date is tried again
//! the invoice of the try before it has expired: a retry comes an hour later at the earliest, and no charge lives longer.
//! Should it be paid all the same, the try that runs is withdrawn; so is what runs when the subscription ends.
//!
//! | crash … | what resume does |
//! | --- | --- |
//! | before a charge is committed | the timer fires again: nothing was started |
//! | after it | the payment goes on by itself, and this state says that the date is being charged |
//! | before the charge's end is committed | payment and subscription change in one commit: neither has, and both will |

mod agreement;
mod note;
mod view;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use usher_protocol::PublicKey;
use usher_protocol::message::{CloseSubscription, ServiceMessage, WalletMessage};
use usher_protocol::subkey::Permission;

pub(super) use self::agreement::Agreement;
use self::agreement::Charging;
pub use self::note::{ChargeEnd, Charged, Note};
pub use self::view::{SubscriptionState, SubscriptionView};
use super::conversation::Conversation;
use super::payment::{Charge, Payment, PaymentTerms, SubscriptionLink};
use super::recurring_request::SubscriptionRules;
use super::{Effect, Input, Operation, Outcome, millis, new_event};
use crate::UnixMillis;
use crate::event::EventType;
use crate::ports::CorrelationKey;

/// The longest that a user's wallet has to pay one charge: wallets that pay by themselves do so when they are next awake.
const CHARGE_TTL: Duration = Duration::from_secs(3600);

/// The shortest, for calendars whose dates are near each other.
const SHORTEST_CHARGE: Duration = Duration::from_secs(60);

/// How long the user's wallet is told that the operator has closed the subscription; nothing acknowledges it.
const TELLING: Duration = Duration::from_secs(600);

/// The state of a subscription.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    #[serde(flatten)]
    conversation: Conversation,
    #[serde(flatten)]
    agreement: Agreement,
    rules: SubscriptionRules,
    #[serde(with = "millis")]
    created_at: UnixMillis,
    state: SubscriptionState,
    /// Why it was closed, in the words of who closed it.
    reason: Option<String>,
    ended_at: Option<u64>,
    payments_made: u32,
    charging: Option<Charging>,
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("state", &self.state)
            .field("payments_made", &self.payments_made)
            .field("charging", &self.charging)
            .finish_non_exhaustive()
    }
}

impl Subscription {
    /// Begins.
    pub(super) fn start(
        conversation: Conversation,
        agreement: Agreement,
        rules: SubscriptionRules,
        now: UnixMillis,
    ) -> Self {
        let charging = if agreement.auto_charge { agreement.first(now.secs()) } else { None };
        Self {
            conversation,
            agreement,
            rules,
            created_at: now,
            state: SubscriptionState::Active,
            reason: None,
            ended_at: None,
            payments_made: 0,
            charging,
        }
    }

    pub(super) fn wake_at(&self) -> Option<UnixMillis> {
        if let Some(ended_at) = self.ended_at {
            return Some(UnixMillis::from_secs(ended_at).plus(self.rules.keep));
        }
        match &self.charging {
            Some(charging) => charging.waits_until.map(UnixMillis::from_secs),
            // After the last second of it.
            None => self.agreement.recurrence.until.map(|until| UnixMillis::from_secs(until.saturating_add(1))),
        }
    }

    pub(super) const fn is_done(&self) -> bool {
        self.ended_at.is_some()
    }

    pub(super) fn correlation(&self) -> CorrelationKey {
        CorrelationKey::subscription(&self.agreement.subscription_id)
    }

    /// Whether the operator may mean this subscription's user by `key`.
    pub fn is_of(&self, key: &PublicKey) -> bool {
        self.conversation.is_with(key)
    }

    pub(crate) fn step(&mut self, input: &Input, now: UnixMillis) -> Outcome {
        match input {
            Input::Timer if self.wake_at().is_some_and(|at| now >= at) => self.woken(now),
            Input::Wallet { author, message: WalletMessage::CloseSubscription(close), .. }
                if close.subscription_id == self.agreement.subscription_id
                    && self.ended_at.is_none()
                    && self.conversation.may_pay(author, now) =>
            {
                self.closed_by_user(close.reason.clone(), now)
            }
            Input::Note(Note::Close) if self.ended_at.is_none() => self.closed_by_operator(now),
            // It could not read that the operator has closed it.
            Input::Wallet { author, message: WalletMessage::SubkeyProof { proof, .. }, .. }
                if self.tells_until().is_some_and(|until| now < until)
                    && self.conversation.prove(author, proof, Permission::Payment, now) =>
            {
                Outcome::Stepped(self.tell_wallet().into_iter().collect())
            }
            Input::Note(Note::Device { key, proof })
                if self.ended_at.is_none()
                    && proof.main_key == self.conversation.main_key()
                    && self.conversation.prove(key, proof, Permission::Payment, now) =>
            {
                Outcome::Stepped(Vec::new())
            }
            Input::Note(Note::Paid) => {
                self.payments_made = self.payments_made.saturating_add(1);
                Outcome::Stepped(self.complete(now).into_iter().collect())
            }
            Input::Note(Note::Charged(charged)) => self.charged(charged, now),
            _ => Outcome::Ignored,
        }
    }

    fn woken(&mut self, now: UnixMillis) -> Outcome {
        if self.ended_at.is_some() {
            return Outcome::Stepped(vec![Effect::Finish]);
        }
        match &mut self.charging {
            Some(charging) => {
                charging.waits_until = None;
                let charging = charging.clone();
                Outcome::Stepped(vec![self.charge(&charging, now)])
            }
            None => {
                self.finish(SubscriptionState::Ended, None, now);
                Outcome::Stepped(Vec::new())
            }
        }
    }

    /// Starts the payment of a due date.
    fn charge(&self, charging: &Charging, now: UnixMillis) -> Effect {
        let date = charging.date;
        let next = self.agreement.after(charging);
        // From date to date, not from now: while it catches up the next date has passed already, and a retry comes late.
        let apart = next.map_or(CHARGE_TTL, |next| Duration::from_secs(next.date.due.saturating_sub(date.due)));
        let terms = PaymentTerms {
            main_key: self.conversation.main_key(),
            subkeys: self.conversation.named(),
            request_id: self.request_id(date),
            reference: self.agreement.reference.clone(),
            description: self.agreement.description.clone(),
            subscription: Some(SubscriptionLink {
                subscription_id: self.agreement.subscription_id.clone(),
                charge: Some(date),
            }),
            expires_at: now.plus(apart.clamp(SHORTEST_CHARGE, CHARGE_TTL)),
        };
        let amount = self.agreement.amount.min(self.agreement.authorized_amount);
        let (payment, effects) = Payment::to_us(terms, amount, self.rules.network, now);
        Effect::Start(Box::new(Operation::SinglePayment(payment)), effects)
    }

    /// Another one for each try. It need not be a secret: an answer counts by its author.
    fn request_id(&self, date: Charge) -> String {
        let digest = Sha256::new()
            .chain_update(self.created_at.0.to_be_bytes())
            .chain_update(self.conversation.main_key().as_bytes())
            .chain_update(date.number.to_be_bytes())
            .chain_update(date.attempt.to_be_bytes())
            .chain_update(&self.agreement.subscription_id)
            .finalize();
        digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    fn charged(&mut self, charged: &Charged, now: UnixMillis) -> Outcome {
        let charge = charged.charge;
        let current = self.charging.as_ref().is_some_and(|charging| charging.date.number == charge.number);
        match &charged.end {
            ChargeEnd::Paid(preimage) => {
                self.payments_made = self.payments_made.saturating_add(1);
                let mut withdrawn = None;
                match &mut self.charging {
                    Some(charging) if current && charging.waits_until.is_none() && charging.date != charge => {
                        charging.paid = true;
                        withdrawn = self.withdraw();
                    }
                    Some(_) if current => self.go_on(now),
                    _ => {}
                }
                withdrawn = self.complete(now).or(withdrawn);
                let preimage = preimage.map(|preimage| preimage.to_hex());
                let more = json!({ "status": "paid", "preimage": preimage });
                Outcome::Stepped([self.tell_payment(charge, &more, now)].into_iter().chain(withdrawn).collect())
            }
            ChargeEnd::Failed { status, reason } => {
                let Some(charging) =
                    self.charging.as_ref().filter(|charging| charging.date == charge && charging.waits_until.is_none())
                else {
                    return Outcome::Ignored;
                };
                if charging.paid {
                    self.go_on(now);
                    return Outcome::Stepped(Vec::new());
                }
                let tries = usize::try_from(charge.attempt).unwrap_or(usize::MAX);
                let wait = self.rules.retry_after.get(tries).filter(|_| self.ended_at.is_none());
                let next = wait.map(|wait| now.plus(*wait).secs());
                match next {
                    Some(at) => {
                        let date = Charge { attempt: charge.attempt.saturating_add(1), ..charge };
                        self.charging = Some(Charging { date, waits_until: Some(at), ..charging.clone() });
                    }
                    None => self.go_on(now),
                }
                let more = json!({ "status": status, "reason": reason, "next_attempt_at": next });
                Outcome::Stepped(vec![self.tell_payment(charge, &more, now)])
            }
        }
    }

    /// Turns to the next due date; ends when there is none.
    fn go_on(&mut self, now: UnixMillis) {
        self.charging = self.charging.as_ref().and_then(|charging| self.agreement.after(charging));
        match self.charging {
            None if self.ended_at.is_none() => {
                let all = self.agreement.recurrence.max_payments.is_some_and(|max| self.payments_made >= max);
                let state = if all { SubscriptionState::Completed } else { SubscriptionState::Ended };
                self.finish(state, None, now);
            }
            None | Some(_) => {}
        }
    }

    /// Ends it when as many payments have been made as were agreed to.
    fn complete(&mut self, now: UnixMillis) -> Option<Effect> {
        let all = self.agreement.recurrence.max_payments.is_some_and(|max| self.payments_made >= max);
        if !all || self.ended_at.is_some() {
            return None;
        }
        self.finish(SubscriptionState::Completed, None, now);
        self.withdraw()
    }

    /// The user is not asked any more for the charge that runs, if one does. Its end is told all the same.
    fn withdraw(&self) -> Option<Effect> {
        let running = self.charging.as_ref().filter(|charging| charging.waits_until.is_none())?;
        Some(Effect::Tell(CorrelationKey::request(&self.request_id(running.date)), Note::Withdraw))
    }

    fn finish(&mut self, state: SubscriptionState, reason: Option<String>, now: UnixMillis) {
        self.state = state;
        self.reason = reason;
        self.ended_at = Some(now.secs());
    }

    fn closed_by_user(&mut self, reason: Option<String>, now: UnixMillis) -> Outcome {
        let data = json!({
            "subscription_id": self.agreement.subscription_id,
            "main_key": self.conversation.main_key().to_hex(),
            "reason": reason,
        });
        self.finish(SubscriptionState::ClosedByUser, reason, now);
        let closed = Effect::Announce(new_event(EventType::SubscriptionClosed, data, now));
        Outcome::Stepped([closed].into_iter().chain(self.withdraw()).collect())
    }

    fn closed_by_operator(&mut self, now: UnixMillis) -> Outcome {
        self.finish(SubscriptionState::ClosedByProvider, None, now);
        Outcome::Stepped(self.tell_wallet().into_iter().chain(self.withdraw()).collect())
    }

    /// Until when the user's wallet is told that the operator has closed it.
    fn tells_until(&self) -> Option<UnixMillis> {
        let ended_at = self.ended_at.filter(|_| self.state == SubscriptionState::ClosedByProvider)?;
        Some(UnixMillis::from_secs(ended_at).plus(TELLING))
    }

    fn tell_wallet(&self) -> Option<Effect> {
        let message = ServiceMessage::CloseSubscription(CloseSubscription {
            subscription_id: self.agreement.subscription_id.clone(),
            reason: None,
            by_service: true,
        });
        Some(Effect::Send(self.conversation.message(&message, self.tells_until()?)))
    }

    fn tell_payment(&self, charge: Charge, more: &Value, now: UnixMillis) -> Effect {
        let mut data = json!({
            "subscription_id": self.agreement.subscription_id,
            "main_key": self.conversation.main_key().to_hex(),
            "number": charge.number,
            "due": charge.due,
            "attempt": charge.attempt.saturating_add(1),
            "amount": self.agreement.amount.min(self.agreement.authorized_amount),
        });
        if let (Some(data), Some(more)) = (data.as_object_mut(), more.as_object()) {
            data.extend(more.clone());
        }
        Effect::Announce(new_event(EventType::SubscriptionPayment, data, now))
    }
}

#[cfg(test)]
mod histories;
#[cfg(test)]
mod tests;
