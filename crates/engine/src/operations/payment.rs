//! A payment that a user is asked for: of an invoice our own wallet makes, or of another's.
//!
//! ```text
//! making ──our wallet made an invoice──▶ asking        the user is sent the request
//! making ──it refuses, or gives none in time──▶ over   StatusUpdate {status: error, reason}
//! asking ──approved──▶ asking                          StatusUpdate {status: user_approved}, once
//! asking ──failed────▶ asking                          StatusUpdate {status: user_failed, reason?}
//! asking ──rejected──▶ over                            StatusUpdate {status: user_rejected, reason?}
//! asking ──proof─────▶ over                            StatusUpdate {status: paid, preimage}
//! asking ──expired───▶ closing                         our own invoice is looked up one last time
//! closing ─not settled▶ over                           StatusUpdate {status: timeout}
//! over   ──proof─────▶ over                            StatusUpdate {status: paid, preimage}, once
//! over   ──a day later▶ leaving                        it waits for the next look-up of our own invoice
//! leaving ─not settled▶ forgotten                      when our wallet has said so, not while it is away
//! ```
//!
//! Proof is, for our own invoices, that our wallet says it was settled; for another's, a preimage that hashes to the invoice's
//! payment hash. A payer's word is none (decisions.md section 2): what it claims of our own invoice is looked up. *Over* is what the app sees as the end; the operation
//! itself stays until money can no longer come.
//!
//! | crash … | what resume does |
//! | --- | --- |
//! | before our wallet was asked, or before its answer is committed | it is asked for another invoice; nobody has seen the first |
//! | after the invoice is committed, before it is sent | the outbox sends it |
//! | after the user has paid, before the settlement is committed | the invoice is watched again from the start on: it is looked up |
//! | while closing | the last look-up is made again |

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use usher_protocol::PublicKey;
use usher_protocol::bolt11::{Invoice, Network};
use usher_protocol::message::{
    Currency, PaymentHash, PaymentRequest, PaymentResponse, PaymentStatus, Preimage, ServiceMessage, WalletMessage,
};
use usher_protocol::subkey::Permission;

use super::conversation::Conversation;
use super::{ChargeEnd, Charged, Effect, Input, Note, Outcome, WalletCall, emit, lease, millis, optional_millis};
use crate::UnixMillis;
use crate::event::EventType;
use crate::ports::{CorrelationKey, InvoiceStatus, LightningError, OperationKind, Settlement, WantedInvoice};

/// How long our wallet may take to make an invoice, all tries together. Half of its time for a charge that the service makes
/// by itself: nobody looks on, and charges of many subscriptions fall due at the same instant.
const MAKING: Duration = Duration::from_secs(60);

/// How long the last look-up is tried before the time-out is said all the same: also when the service was down at the end.
const CLOSING: Duration = Duration::from_secs(60);

/// For how long after the end money is still looked out for: a day covers any restart of a wallet.
const LINGER: Duration = Duration::from_secs(24 * 3600);

/// The longest, for invoices that our wallet lets live longer than they were meant to.
const LONGEST_LINGER: Duration = Duration::from_secs(30 * 24 * 3600);

/// How long a payer's claim to have paid our invoice stands for those that follow: each is a reason to ask our wallet.
const CLAIMS: Duration = Duration::from_secs(5);

/// Most failures that are told of one payment; a wallet has no reason to try more often in a day.
const MAX_FAILURES: u8 = 20;

/// Why nothing is paid when the payment was withdrawn before the user was asked.
const WITHDRAWN: &str = "the payment is not owed any more";

/// What a user is asked to pay.
#[derive(Clone, Debug)]
pub struct PaymentTerms {
    /// Who is asked.
    pub main_key: PublicKey,
    /// Keys that may answer for it without a proof.
    pub subkeys: Vec<PublicKey>,
    /// Our id of the request: random.
    pub request_id: String,
    /// The caller's own reference, echoed in events.
    pub reference: Option<String>,
    /// What it is for.
    pub description: String,
    /// The subscription it belongs to.
    pub subscription: Option<SubscriptionLink>,
    /// Until when it can be paid.
    pub expires_at: UnixMillis,
}

/// The subscription a payment belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionLink {
    /// The subscription.
    pub subscription_id: String,
    /// Which due date it is for, when the service charges by itself.
    pub charge: Option<Charge>,
}

/// Which due date a charge is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// The due date's number, from 1.
    pub number: u32,
    /// The due date in Unix seconds.
    pub due: u64,
    /// How often it was tried before.
    pub attempt: u32,
}

/// The state of a payment.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payment {
    #[serde(flatten)]
    conversation: Conversation,
    request_id: String,
    reference: Option<String>,
    /// Millisats.
    amount: u64,
    description: String,
    subscription: Option<SubscriptionLink>,
    #[serde(with = "millis")]
    expires_at: UnixMillis,
    bill: Bill,
    phase: Phase,
    approved: bool,
    failures: u8,
    /// What the wallet said last: said again it is the same.
    last: Option<PaymentStatus>,
    paid: bool,
    /// The preimage of our own invoice, as the payer has shown it: told with `paid` when our wallet says none.
    shown: Option<Preimage>,
    /// When the payer last said that it has paid.
    #[serde(with = "optional_millis")]
    claimed_at: Option<UnixMillis>,
    /// The user is asked no more.
    #[serde(default)]
    withdrawn: bool,
}

/// Whose invoice it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Bill {
    /// Our own, for this network; there is none yet while it is being made.
    Own { network: Network, invoice: Option<Invoice> },
    /// Another's.
    Other { invoice: Invoice },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
enum Phase {
    Making {
        tries: u32,
        #[serde(with = "millis")]
        next: UnixMillis,
        #[serde(with = "millis")]
        give_up: UnixMillis,
    },
    Asking,
    Closing {
        #[serde(with = "millis")]
        next: UnixMillis,
        #[serde(with = "millis")]
        give_up: UnixMillis,
    },
    Over {
        #[serde(with = "millis")]
        until: UnixMillis,
    },
    /// It is forgotten as soon as our wallet says once more that nothing came.
    Leaving {
        #[serde(with = "millis")]
        give_up: UnixMillis,
    },
}

impl fmt::Debug for Payment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payment")
            .field("amount", &self.amount)
            .field("phase", &self.phase)
            .field("paid", &self.paid)
            .finish_non_exhaustive()
    }
}

impl Payment {
    /// Asks for `amount` millisats to our own wallet, on `network`.
    pub fn to_us(terms: PaymentTerms, amount: u64, network: Network, now: UnixMillis) -> (Self, Vec<Effect>) {
        let charges = terms.subscription.as_ref().is_some_and(|link| link.charge.is_some());
        let patience = if charges { MAKING.max(terms.expires_at.since(now) / 2) } else { MAKING };
        let give_up = now.plus(patience).min(terms.expires_at);
        let phase = Phase::Making { tries: 1, next: lease(now), give_up };
        let payment = Self::new(terms, amount, Bill::Own { network, invoice: None }, phase);
        let ask = payment.make_invoice(now);
        (payment, vec![ask])
    }

    /// Asks for the payment of another's invoice, which names its amount.
    pub fn of_invoice(terms: PaymentTerms, amount: u64, invoice: Invoice) -> (Self, Vec<Effect>) {
        let request = invoice.clone();
        let payment = Self::new(terms, amount, Bill::Other { invoice }, Phase::Asking);
        let ask = payment.ask(&request);
        (payment, vec![ask])
    }

    fn new(terms: PaymentTerms, amount: u64, bill: Bill, phase: Phase) -> Self {
        Self {
            conversation: Conversation::new(terms.main_key, &terms.subkeys),
            request_id: terms.request_id,
            reference: terms.reference,
            amount,
            description: terms.description,
            subscription: terms.subscription,
            expires_at: terms.expires_at,
            bill,
            phase,
            approved: false,
            failures: 0,
            last: None,
            paid: false,
            shown: None,
            claimed_at: None,
            withdrawn: false,
        }
    }

    pub(super) const fn kind(&self) -> OperationKind {
        match self.bill {
            Bill::Own { .. } => OperationKind::SinglePayment,
            Bill::Other { .. } => OperationKind::InvoicePayment,
        }
    }

    pub(super) const fn wake_at(&self) -> UnixMillis {
        match self.phase {
            Phase::Making { next, .. } | Phase::Closing { next, .. } => next,
            Phase::Asking => self.expires_at,
            Phase::Over { until } => until,
            Phase::Leaving { give_up } => give_up,
        }
    }

    pub(super) const fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Over { .. } | Phase::Leaving { .. })
    }

    pub(super) fn correlations(&self) -> Vec<CorrelationKey> {
        let invoice = match &self.bill {
            Bill::Own { invoice, .. } => {
                invoice.as_ref().map(|invoice| CorrelationKey::invoice(invoice.payment_hash()))
            }
            Bill::Other { invoice } => Some(CorrelationKey::paying(invoice.payment_hash())),
        };
        [CorrelationKey::request(&self.request_id)].into_iter().chain(invoice).collect()
    }

    /// The payment hash of our own invoice.
    pub(super) fn watched(&self) -> Option<PaymentHash> {
        match &self.bill {
            Bill::Own { invoice: Some(invoice), .. } if !self.paid => Some(invoice.payment_hash()),
            Bill::Own { .. } | Bill::Other { .. } => None,
        }
    }

    pub(super) fn step(&mut self, input: &Input, now: UnixMillis) -> Outcome {
        match input {
            Input::Timer if now >= self.wake_at() => self.woken(now),
            Input::Resumed if matches!(self.phase, Phase::Making { .. } | Phase::Closing { .. }) => self.woken(now),
            Input::Wallet {
                author,
                message: WalletMessage::PaymentResponse(response) | WalletMessage::PaymentConfirmation(response),
                ..
            } => self.answered(author, response, now),
            Input::Wallet { author, message: WalletMessage::SubkeyProof { proof, .. }, .. } => {
                match (&self.phase, self.invoice().cloned()) {
                    (Phase::Asking, Some(invoice))
                        if !self.withdrawn && self.conversation.prove(author, proof, Permission::Payment, now) =>
                    {
                        Outcome::Stepped(vec![self.ask(&invoice)])
                    }
                    _ => Outcome::Ignored,
                }
            }
            Input::InvoiceMade(made) => self.made(made, now),
            Input::Taken => self.fail("the wallet gave an invoice that it had given before", now),
            Input::Settled(settlement) => self.settled(settlement, now),
            Input::InvoiceStatus(status) => self.looked_up(status, now),
            Input::Note(Note::Withdraw) => self.withdraw(),
            Input::Wallet { .. }
            | Input::Timer
            | Input::Resumed
            | Input::Paid(_)
            | Input::PaymentStatus(_)
            | Input::Note(Note::Paid | Note::Charged(_) | Note::Close) => Outcome::Ignored,
        }
    }

    /// The subscription is over, or the due date is paid: the user is asked no more. Money that comes counts all the same.
    fn withdraw(&mut self) -> Outcome {
        if std::mem::replace(&mut self.withdrawn, true) {
            return Outcome::Ignored;
        }
        match self.phase {
            Phase::Making { .. } => Outcome::Stepped(Vec::new()),
            Phase::Asking => Outcome::Stepped(vec![Effect::Silence]),
            Phase::Closing { .. } | Phase::Over { .. } | Phase::Leaving { .. } => Outcome::Ignored,
        }
    }

    fn woken(&mut self, now: UnixMillis) -> Outcome {
        match self.phase {
            Phase::Making { .. } if self.withdrawn => self.fail(WITHDRAWN, now),
            Phase::Making { give_up, .. } if now >= give_up => {
                self.fail("the wallet did not make an invoice in time", now)
            }
            Phase::Making { tries, give_up, .. } => {
                self.phase = Phase::Making { tries: tries.saturating_add(1), next: lease(now), give_up };
                Outcome::Stepped(vec![self.make_invoice(now)])
            }
            Phase::Asking if matches!(self.bill, Bill::Own { .. }) => self.close(now.plus(CLOSING), now),
            Phase::Asking => self.time_out(now),
            Phase::Closing { give_up, .. } if now >= give_up => self.time_out(now),
            Phase::Closing { give_up, .. } => self.close(give_up, now),
            // Our wallet may have been away for all that time, or we. The next look-up is soon enough: after long downtime
            // there are many of these.
            Phase::Over { .. } if self.watched().is_some() => {
                self.phase = Phase::Leaving { give_up: now.plus(LONGEST_LINGER) };
                Outcome::Stepped(Vec::new())
            }
            Phase::Over { .. } | Phase::Leaving { .. } => Outcome::Stepped(vec![Effect::Finish]),
        }
    }

    /// Asks our wallet one last time.
    fn close(&mut self, give_up: UnixMillis, now: UnixMillis) -> Outcome {
        self.phase = Phase::Closing { next: lease(now), give_up };
        let look_up = self.watched().map(|hash| Effect::Ask(WalletCall::LookUpInvoice(hash)));
        Outcome::Stepped([Effect::Silence].into_iter().chain(look_up).collect())
    }

    fn make_invoice(&self, now: UnixMillis) -> Effect {
        let expiry = self.expires_at.since(now).as_secs().max(1);
        Effect::Ask(WalletCall::MakeInvoice(WantedInvoice {
            amount: self.amount,
            description: self.description.clone(),
            expiry: u32::try_from(expiry).unwrap_or(u32::MAX),
        }))
    }

    fn made(&mut self, made: &Result<Invoice, LightningError>, now: UnixMillis) -> Outcome {
        let (Phase::Making { tries, give_up, .. }, Bill::Own { network, .. }) = (&self.phase, &self.bill) else {
            return Outcome::Ignored;
        };
        if self.withdrawn {
            return self.fail(WITHDRAWN, now);
        }
        let (tries, give_up, network) = (*tries, *give_up, *network);
        let invoice = match made {
            Ok(invoice) => invoice,
            Err(LightningError::Refused { again: false, reason }) => {
                return self.fail(&format!("the wallet made no invoice: {reason}"), now);
            }
            Err(failure) => {
                let next = now.plus(again_after(tries));
                if next >= give_up {
                    return self.fail(&format!("no invoice could be made: {failure}"), now);
                }
                self.phase = Phase::Making { tries, next, give_up };
                return Outcome::Stepped(Vec::new());
            }
        };
        if let Some(fault) = self.fault_of(invoice, network, now) {
            return self.fail(&format!("the wallet made an invoice that does not fit: {fault}"), now);
        }
        self.bill = Bill::Own { network, invoice: Some(invoice.clone()) };
        self.phase = Phase::Asking;
        Outcome::Stepped(vec![self.ask(invoice)])
    }

    fn fault_of(&self, invoice: &Invoice, network: Network, now: UnixMillis) -> Option<&'static str> {
        if invoice.amount() != Some(self.amount) {
            Some("another amount")
        } else if invoice.network() != network {
            Some("another network")
        } else if invoice.is_expired(now.secs()) {
            Some("expired")
        } else {
            None
        }
    }

    fn ask(&self, invoice: &Invoice) -> Effect {
        let message = ServiceMessage::PaymentRequest(PaymentRequest {
            amount: self.amount,
            currency: Currency::Millisats,
            current_exchange_rate: None,
            invoice: invoice.as_str().to_owned(),
            auth_token: None,
            expires_at: self.expires_at.secs(),
            subscription_id: self.subscription.as_ref().map(|link| link.subscription_id.clone()),
            description: self.description.clone(),
            request_id: self.request_id.clone(),
        });
        Effect::Send(self.conversation.message(&message, self.expires_at))
    }

    const fn invoice(&self) -> Option<&Invoice> {
        match &self.bill {
            Bill::Own { invoice, .. } => invoice.as_ref(),
            Bill::Other { invoice } => Some(invoice),
        }
    }

    fn answered(&mut self, author: &PublicKey, response: &PaymentResponse, now: UnixMillis) -> Outcome {
        if response.request_id != self.request_id || !self.conversation.may_pay(author, now) || self.paid {
            return Outcome::Ignored;
        }
        if let PaymentStatus::Success { preimage } = &response.status {
            return self.claimed(preimage.as_ref(), now);
        }
        // Between expiry and the timer only proof counts: the wallet was told when it ends.
        if !matches!(self.phase, Phase::Asking)
            || now >= self.expires_at
            || self.last.as_ref() == Some(&response.status)
        {
            return Outcome::Ignored;
        }
        match &response.status {
            PaymentStatus::Approved if !self.approved => {
                self.approved = true;
                self.last = Some(response.status.clone());
                Outcome::Stepped(vec![self.tell("user_approved", &json!({}), now)])
            }
            PaymentStatus::Failed { reason } if self.failures < MAX_FAILURES => {
                self.failures += 1;
                self.last = Some(response.status.clone());
                Outcome::Stepped(vec![self.tell("user_failed", &json!({ "reason": reason }), now)])
            }
            PaymentStatus::Rejected { reason } => self.end("user_rejected", reason.as_deref(), now),
            // Nothing to tell, and nothing to store: a wallet that repeats itself costs no write.
            PaymentStatus::Approved | PaymentStatus::Failed { .. } | PaymentStatus::Success { .. } => Outcome::Ignored,
        }
    }

    /// The wallet says that it has paid.
    fn claimed(&mut self, preimage: Option<&Preimage>, now: UnixMillis) -> Outcome {
        let Some(hash) = self.invoice().map(Invoice::payment_hash) else { return Outcome::Ignored };
        let preimage = preimage.filter(|preimage| preimage.payment_hash() == hash);
        match &self.bill {
            Bill::Other { .. } if preimage.is_some() => self.proven(preimage, now),
            Bill::Other { .. } => Outcome::Ignored,
            // A reason to ask our own wallet, and no more: it may have given us an invoice that pays somebody else.
            Bill::Own { .. } if self.claimed_at.is_some_and(|at| now < at.plus(CLAIMS)) => Outcome::Ignored,
            Bill::Own { .. } => {
                self.shown = preimage.copied().or(self.shown);
                self.claimed_at = Some(now);
                Outcome::Stepped(vec![Effect::LookUp])
            }
        }
    }

    fn looked_up(&mut self, status: &Result<InvoiceStatus, LightningError>, now: UnixMillis) -> Outcome {
        if let Ok(InvoiceStatus::Settled(settlement)) = status
            && let settled @ Outcome::Stepped(_) = self.settled(settlement, now)
        {
            return settled;
        }
        match (&self.phase, status) {
            (Phase::Closing { .. }, Ok(_)) => self.time_out(now),
            (Phase::Leaving { .. }, Ok(_)) => Outcome::Stepped(vec![Effect::Finish]),
            (Phase::Closing { give_up, .. }, Err(_)) => {
                self.phase = Phase::Closing { next: now.plus(Duration::from_secs(5)), give_up: *give_up };
                Outcome::Stepped(Vec::new())
            }
            _ => Outcome::Ignored,
        }
    }

    /// Our wallet says that the invoice was paid. Too little, or a preimage of something else, is no settlement of it.
    fn settled(&mut self, settlement: &Settlement, now: UnixMillis) -> Outcome {
        let Some(hash) = self.watched() else { return Outcome::Ignored };
        // Wallets that count whole sats leave out the rest.
        let whole = self.amount - self.amount % 1000;
        let enough = settlement.amount.is_none_or(|amount| amount >= whole);
        let fits = settlement.preimage.is_none_or(|preimage| preimage.payment_hash() == hash);
        let preimage = settlement.preimage.or(self.shown);
        if enough && fits { self.proven(preimage.as_ref(), now) } else { Outcome::Ignored }
    }

    fn proven(&mut self, preimage: Option<&Preimage>, now: UnixMillis) -> Outcome {
        if self.paid {
            return Outcome::Ignored;
        }
        self.paid = true;
        let paid = self.tell("paid", &json!({ "preimage": preimage.map(Preimage::to_hex) }), now);
        let mut effects = vec![paid, Effect::Silence];
        if let Some(link) = &self.subscription {
            let note = match link.charge {
                Some(charge) => Note::Charged(Charged { charge, end: ChargeEnd::Paid(preimage.copied()) }),
                None => Note::Paid,
            };
            effects.push(Effect::Tell(CorrelationKey::subscription(&link.subscription_id), note));
        }
        match &self.bill {
            Bill::Own { .. } => {
                self.phase = Phase::Over { until: now };
                effects.push(Effect::Finish);
            }
            Bill::Other { .. } => self.phase = Phase::Over { until: self.over_until(now) },
        }
        Outcome::Stepped(effects)
    }

    fn time_out(&mut self, now: UnixMillis) -> Outcome {
        self.end("timeout", Some("the user did not pay in time"), now)
    }

    /// It will not be paid, for no invoice has been shown to anybody.
    fn fail(&mut self, reason: &str, now: UnixMillis) -> Outcome {
        let Phase::Making { .. } = self.phase else { return Outcome::Ignored };
        let outcome = self.end("error", Some(reason), now);
        match outcome {
            Outcome::Stepped(mut effects) => {
                effects.push(Effect::Finish);
                Outcome::Stepped(effects)
            }
            Outcome::Ignored => Outcome::Ignored,
        }
    }

    fn end(&mut self, status: &'static str, reason: Option<&str>, now: UnixMillis) -> Outcome {
        self.phase = Phase::Over { until: self.over_until(now) };
        let mut effects = vec![self.tell(status, &json!({ "reason": reason }), now), Effect::Silence];
        if let Some(link) = &self.subscription
            && let Some(charge) = link.charge
        {
            let end = ChargeEnd::Failed { status: status.to_owned(), reason: reason.map(str::to_owned) };
            let note = Note::Charged(Charged { charge, end });
            effects.push(Effect::Tell(CorrelationKey::subscription(&link.subscription_id), note));
        }
        Outcome::Stepped(effects)
    }

    /// Until when money may come; another's invoice is remembered until nobody can ask for it again.
    fn over_until(&self, now: UnixMillis) -> UnixMillis {
        let linger = now.plus(LINGER);
        let expired = |invoice: &Invoice| UnixMillis::from_secs(invoice.expires_at()).plus(Duration::from_secs(60));
        match &self.bill {
            // A wallet may make invoices that live longer than they were meant to.
            Bill::Own { invoice, .. } => {
                invoice.as_ref().map_or(linger, |invoice| expired(invoice).clamp(linger, now.plus(LONGEST_LINGER)))
            }
            Bill::Other { invoice } if self.paid => expired(invoice),
            Bill::Other { invoice } => expired(invoice).max(linger),
        }
    }

    fn tell(&self, status: &str, more: &Value, now: UnixMillis) -> Effect {
        let mut data = json!({
            "status": status,
            "request_id": self.reference,
            "subscription_id": self.subscription.as_ref().map(|link| &link.subscription_id),
        });
        if let (Some(data), Some(more)) = (data.as_object_mut(), more.as_object()) {
            data.extend(more.clone());
        }
        emit(EventType::StatusUpdate, data, now)
    }
}

/// Seconds until our wallet is asked again for an invoice: 1, 2, 4, 8, 8, … and after a minute 60, 60, …
fn again_after(tries: u32) -> Duration {
    match tries {
        0..10 => Duration::from_secs(1 << tries.saturating_sub(1).min(3)),
        10.. => Duration::from_secs(60),
    }
}

#[cfg(test)]
mod tests;
