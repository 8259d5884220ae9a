//! A requested payment: of an own invoice, by a user or anybody, or of an external invoice, by a user.
//!
//! ```text
//! making ──the Lightning backend made an invoice──▶ asking        the request is sent to the user, if there is one
//! making ──it refuses, or gives none in time──▶ over   StatusUpdate {status: error, reason}
//! asking ──approved──▶ asking                          StatusUpdate {status: user_approved}, once
//! asking ──failed────▶ asking                          StatusUpdate {status: user_failed, reason?}
//! asking ──rejected──▶ over                            StatusUpdate {status: user_rejected, reason?}
//! asking ──proof─────▶ over                            StatusUpdate {status: paid, preimage}
//! asking ──expired───▶ closing                         the service's invoice is looked up one last time
//! closing ─not settled▶ over                           StatusUpdate {status: timeout}
//! closing ─settled, without valid proof▶ over          StatusUpdate {status: error, outcome: unknown}, after a minute
//! over   ──proof─────▶ over                            StatusUpdate {status: paid, preimage}, once
//! over   ──the payer requests a further invoice▶ over  see `renewal`
//! over   ──a day later▶ leaving                        it waits for the next look-up of the service's invoice
//! leaving ─not settled▶ removed                        once the Lightning backend has confirmed it, not while it is
//! down
//! ```
//!
//! The proof for the service's own invoice is the Lightning backend's report of its settlement; for an external invoice
//! it is a preimage that hashes to the payment hash. A payer's claim proves nothing (docs/payments.md), but causes a
//! look-up of the service's invoice. For the app, *over* is the end; the operation itself stays until money can no
//! longer arrive.
//!
//! | crash … | what resume does |
//! | --- | --- |
//! | before the request to the Lightning backend, or before its reply is committed | another invoice is requested; nobody has seen the first |
//! | after the invoice is committed, before it is sent | the outbox sends it |
//! | after the user has paid, before the settlement is committed | the invoice is watched again from the start, and looked up |
//! | while closing | the last look-up is repeated |

mod books_entry;
mod end;
mod invoice;
mod link;
mod renewal;
mod terms;
mod wallet_messages;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::bolt11::{Invoice, Network};
use usher_protocol::message::{PaymentHash, PaymentStatus, Preimage, WalletMessage};

use self::terms::Renewal;
pub use self::terms::{Payer, PaymentOfLink, PaymentTerms, SubscriptionLink};
use crate::machine::user_keys::UserKeys;
use crate::machine::{Charge, Effect, Input, Signal, StateMachine, StepResult, lease, user_keys};
use crate::ports::{CorrelationKey, PaymentRecord};
use crate::price::Price;
use crate::{OperationOutcome, UnixMillis};

/// How long the last look-up is retried before the time-out is reported anyway, also after downtime.
const CLOSING: Duration = Duration::from_secs(60);

/// The same for an automatic charge: charges of many subscriptions may end at once.
const CLOSING_CHARGE: Duration = Duration::from_secs(600);

/// Time limit for the backend to create an invoice, with all attempts; for a charge, half of the charge's time.
const MAKING: Duration = Duration::from_secs(60);

/// How long after the end the invoice is still watched: a day covers any restart of a wallet.
const LINGER: Duration = Duration::from_secs(24 * 3600);

/// The same at a payment link, where anybody can request many invoices. LDK nodes accept a payment for two hours after
/// expiry.
const LINGER_AT_LINK: Duration = Duration::from_secs(3 * 3600);

/// The longest, for invoices that the Lightning backend keeps valid longer than requested.
const MAX_LINGER: Duration = Duration::from_secs(30 * 24 * 3600);

/// How long after its expiry an invoice stays reserved for its payment, because a clock may be set back.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(24 * 3600);

const WITHDRAWN: &str = "the payment is not owed any more";

/// The state of a payment.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payment {
    /// `None`: anybody may pay, and no request is sent.
    #[serde(flatten, deserialize_with = "user_keys::all_or_none")]
    user_keys: Option<UserKeys>,
    request_id: String,
    reference: Option<String>,
    /// Millisats.
    amount: u64,
    description: String,
    subscription: Option<SubscriptionLink>,
    expires_at: UnixMillis,
    asked_at: Option<UnixMillis>,
    #[serde(rename = "bill")]
    source: InvoiceSource,
    phase: Phase,
    approved: bool,
    failures: u8,
    /// The wallet's last status, whose repetition has no effect.
    last: Option<PaymentStatus>,
    paid: bool,
    /// Whether the Lightning backend reported a settlement with an invalid proof or amount.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    disputed: bool,
    /// The settlement reported by the Lightning backend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    received: Option<Received>,
    /// The preimage shown by the payer, reported with `paid` if the Lightning backend reports none.
    shown: Option<Preimage>,
    claimed_at: Option<UnixMillis>,
    #[serde(default)]
    withdrawn: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    return_url: Option<String>,
    /// The price, if not requested in millisats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    price: Option<Price>,
    /// If requested at a payment link, or for another payment whose invoice has expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of_link: Option<PaymentOfLink>,
    /// Set when it expired: until when the payer may request further invoices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    renewable_until: Option<UnixMillis>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    renewals: Vec<Renewal>,
    /// The further invoice that was paid first. The original one may then still be paid, until `is_first_paid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    paid_by: Option<Invoice>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_first_paid: bool,
}

/// The progress of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaymentProgress {
    /// The Lightning backend is creating the invoice.
    Making,
    /// Waiting for the payment.
    Asking,
    /// Expired; the invoice is looked up one last time.
    Closing,
    /// It was paid.
    Paid,
    /// It has ended and was not paid.
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum InvoiceSource {
    /// The service's own, on this network; `None` until created.
    Own { network: Network, invoice: Option<Invoice> },
    /// An external one.
    Other { invoice: Invoice },
}

/// The received amount, and the liquidity provider's deduction for opening a channel, in millisats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Received {
    amount: u64,
    skimmed_fee: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
enum Phase {
    Making {
        tries: u32,
        next: UnixMillis,
        give_up: UnixMillis,
    },
    Asking,
    Closing {
        next: UnixMillis,
        give_up: UnixMillis,
    },
    #[serde(rename = "over")]
    Ended {
        until: UnixMillis,
    },
    /// Removed once the Lightning backend has confirmed again that nothing arrived.
    Leaving {
        give_up: UnixMillis,
    },
}

usher_protocol::debug_shows!(Payment { amount, phase, paid });

impl StateMachine for Payment {
    fn is_about(&self, user: &PublicKey) -> bool {
        self.user_keys.as_ref().is_some_and(|keys| keys.is_with(user))
    }

    fn keys_of(message: &WalletMessage) -> Vec<CorrelationKey> {
        match message {
            WalletMessage::PaymentResponse(response) | WalletMessage::PaymentConfirmation(response) => {
                vec![CorrelationKey::request(&response.request_id)]
            }
            _ => Vec::new(),
        }
    }

    fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        match input {
            Input::Timer if Some(now) >= self.wake_at() => self.woken(now),
            Input::Resumed if matches!(self.phase, Phase::Making { .. } | Phase::Closing { .. }) => self.woken(now),
            Input::Wallet {
                author,
                message: WalletMessage::PaymentResponse(response) | WalletMessage::PaymentConfirmation(response),
                ..
            } => self.answered(author, response, now),
            Input::Wallet { author, message: WalletMessage::SubkeyProof { proof, .. }, .. } => {
                self.device_proven(author, proof, now)
            }
            Input::InvoiceMade(made) => self.made(made, now),
            Input::CorrelationTaken => self.fail("the wallet gave an invoice that it had given before", now),
            Input::Settled(settlement) => self.settled(settlement, now),
            Input::InvoiceStatus(status) => self.looked_up(status, now),
            Input::Signal(Signal::CancelPayment) => self.withdraw(),
            Input::Signal(Signal::Renewal(renewal, paid)) => self.renewal_ended(*renewal, paid.as_deref(), now),
            _ => StepResult::Ignored,
        }
    }

    fn wake_at(&self) -> Option<UnixMillis> {
        Some(match self.phase {
            Phase::Making { next, .. } | Phase::Closing { next, .. } => next,
            Phase::Asking => self.expires_at,
            Phase::Ended { until } => until,
            Phase::Leaving { give_up } => give_up,
        })
    }

    fn correlations(&self) -> Vec<CorrelationKey> {
        let invoice = match &self.source {
            InvoiceSource::Own { invoice, .. } => {
                invoice.as_ref().map(|invoice| CorrelationKey::invoice(invoice.payment_hash()))
            }
            InvoiceSource::Other { invoice } => Some(CorrelationKey::paying(invoice.payment_hash())),
        };
        [CorrelationKey::request(&self.request_id)].into_iter().chain(invoice).collect()
    }

    /// The key of the service's own invoice. If a Lightning backend returned the same invoice for another request, one
    /// settlement would pay both: until it has expired, the invoice belongs to this payment alone.
    fn kept_correlations(&self) -> Vec<(CorrelationKey, UnixMillis)> {
        match &self.source {
            InvoiceSource::Own { invoice: Some(invoice), .. } => {
                let expired = UnixMillis::from_secs(invoice.expires_at());
                vec![(CorrelationKey::invoice(invoice.payment_hash()), expired.plus(MAX_CLOCK_SKEW))]
            }
            InvoiceSource::Own { invoice: None, .. } | InvoiceSource::Other { .. } => Vec::new(),
        }
    }

    fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Ended { .. } | Phase::Leaving { .. })
    }

    /// Until when money may arrive after the end; `None` without an invoice, or once it was paid.
    fn paid_late_until(&self) -> Option<UnixMillis> {
        match self.phase {
            Phase::Ended { until } | Phase::Leaving { give_up: until } if !self.paid => {
                self.invoice().map(|_| until.max(self.renewed_until()))
            }
            _ => None,
        }
    }

    fn lingers(&self) -> bool {
        true
    }

    /// A further invoice whose payment is gone or damaged has a record of its own in the books.
    fn signal_without_recipient(&mut self) -> Option<Vec<Effect>> {
        self.of_link.as_mut()?.renews.take()?;
        Some(vec![Effect::ClearOutbox, Effect::Finish])
    }

    fn is_unattended(&self) -> bool {
        self.is_charge()
    }

    fn watched(&self) -> Option<PaymentHash> {
        match &self.source {
            InvoiceSource::Own { invoice: Some(invoice), .. } if !self.paid || self.is_paid_by_renewal_only() => {
                Some(invoice.payment_hash())
            }
            InvoiceSource::Own { .. } | InvoiceSource::Other { .. } => None,
        }
    }

    fn payment_record(&self) -> Option<PaymentRecord> {
        self.books_entry()
    }

    fn silent_outcome(&self) -> OperationOutcome {
        self.outcome()
    }
}

impl Payment {
    /// Requests `amount` millisats for the Lightning backend, on `network`.
    pub fn to_us(terms: PaymentTerms, amount: u64, network: Network, now: UnixMillis) -> (Self, Vec<Effect>) {
        let charges = terms.subscription.as_ref().is_some_and(|link| link.charge.is_some());
        let patience = if charges { MAKING.max(terms.expires_at.since(now) / 2) } else { MAKING };
        let give_up = now.plus(patience).min(terms.expires_at);
        let phase = Phase::Making { tries: 1, next: lease(now), give_up };
        let mut payment = Self::new(terms, amount, InvoiceSource::Own { network, invoice: None }, phase);
        payment.asked_at = Some(now);
        let ask = payment.make_invoice(now);
        (payment, vec![ask])
    }

    /// Requests the payment of an external invoice, which includes its amount.
    pub fn of_invoice(terms: PaymentTerms, amount: u64, invoice: Invoice) -> (Self, Vec<Effect>) {
        let request = invoice.clone();
        let payment = Self::new(terms, amount, InvoiceSource::Other { invoice }, Phase::Asking);
        let ask = payment.ask(&request);
        (payment, ask.into_iter().collect())
    }

    fn new(terms: PaymentTerms, amount: u64, source: InvoiceSource, phase: Phase) -> Self {
        Self {
            user_keys: terms.payer.map(|payer| UserKeys::new(payer.main_key, &payer.subkeys)),
            request_id: terms.request_id,
            reference: terms.reference,
            amount,
            description: terms.description,
            subscription: terms.subscription,
            expires_at: terms.expires_at,
            asked_at: None,
            source,
            phase,
            approved: false,
            failures: 0,
            last: None,
            paid: false,
            disputed: false,
            received: None,
            shown: None,
            claimed_at: None,
            withdrawn: false,
            return_url: None,
            price: None,
            of_link: terms.of_link,
            renewable_until: None,
            renewals: Vec::new(),
            paid_by: None,
            is_first_paid: false,
        }
    }

    /// The same, with a page that redirects at the end.
    #[must_use]
    pub fn returning_to(mut self, return_url: Option<String>) -> Self {
        self.return_url = return_url;
        self
    }

    /// The user whose wallet gets the request.
    pub(crate) const fn user_keys(&self) -> Option<&UserKeys> {
        self.user_keys.as_ref()
    }

    /// The same, with the price from which the amount was converted.
    #[must_use]
    pub fn priced(mut self, price: Option<Price>) -> Self {
        self.price = price;
        self
    }

    /// Its price, if not requested in millisats.
    pub const fn price(&self) -> Option<&Price> {
        self.price.as_ref()
    }

    /// Its progress.
    pub const fn progress(&self) -> PaymentProgress {
        match self.phase {
            _ if self.paid => PaymentProgress::Paid,
            Phase::Making { .. } => PaymentProgress::Making,
            Phase::Asking => PaymentProgress::Asking,
            Phase::Closing { .. } => PaymentProgress::Closing,
            Phase::Ended { .. } | Phase::Leaving { .. } => PaymentProgress::Ended,
        }
    }

    /// Millisats.
    pub const fn amount(&self) -> u64 {
        self.amount
    }

    /// What it is for.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Until when it can be paid.
    pub const fn expires_at(&self) -> UnixMillis {
        self.expires_at
    }

    /// Where its page redirects at the end.
    pub fn return_url(&self) -> Option<&str> {
        self.return_url.as_deref()
    }

    pub(crate) const fn is_charge(&self) -> bool {
        self.charge().is_some()
    }

    const fn charge(&self) -> Option<Charge> {
        match &self.subscription {
            Some(link) => link.charge,
            None => None,
        }
    }

    fn woken(&mut self, now: UnixMillis) -> StepResult {
        match self.phase {
            Phase::Making { .. } if self.withdrawn => self.fail(WITHDRAWN, now),
            Phase::Making { give_up, .. } if now >= give_up => {
                self.fail("the wallet did not make an invoice in time", now)
            }
            Phase::Making { tries, give_up, .. } => {
                self.phase = Phase::Making { tries: tries.saturating_add(1), next: lease(now), give_up };
                StepResult::Stepped(vec![self.make_invoice(now)])
            }
            Phase::Asking if matches!(self.source, InvoiceSource::Own { .. }) => {
                let patience = if self.is_charge() { CLOSING_CHARGE } else { CLOSING };
                self.close(now.plus(patience), now)
            }
            Phase::Asking => self.time_out(now),
            Phase::Closing { give_up, .. } if now >= give_up => self.time_out(now),
            Phase::Closing { give_up, .. } => self.close(give_up, now),
            // The regular look-up suffices: after long downtime there are many of these.
            Phase::Ended { .. } if self.watched().is_some() => {
                self.phase = Phase::Leaving { give_up: now.plus(MAX_LINGER) };
                StepResult::Stepped(Vec::new())
            }
            Phase::Ended { .. } | Phase::Leaving { .. } => self.leave(now),
        }
    }

    /// The invoice, once there is one; of several, the one that was paid.
    pub const fn invoice(&self) -> Option<&Invoice> {
        match &self.source {
            InvoiceSource::Own { .. } if self.paid_by.is_some() => self.paid_by.as_ref(),
            InvoiceSource::Own { invoice, .. } => invoice.as_ref(),
            InvoiceSource::Other { invoice } => Some(invoice),
        }
    }
}

#[cfg(test)]
mod no_payer_tests;
#[cfg(test)]
mod renewal_tests;
#[cfg(test)]
mod tests;
