//! A refund: the service's Lightning backend pays back a payment, in full or in part, to an invoice that the payer gives.
//!
//! ```text
//! asking ──the payer's wallet sends an invoice──▶ paying   StatusUpdate {status: user_approved}
//! asking ──the payer names one on the page──────▶ paying   StatusUpdate {status: user_approved}
//! asking ──an invoice that cannot be used───────▶ asking   StatusUpdate {status: user_failed, reason}
//! asking ──expired──────────────────────────────▶ finished StatusUpdate {status: timeout}
//! paying ──proven not to have been paid─────────▶ asking   StatusUpdate {status: user_failed, reason}, ten times at most
//! paying ──as a payment by the backend──────────▶ over     StatusUpdate {status: paid, preimage} or {status: error, outcome}
//! ```
//!
//! In the state `asking`, the refund holds its share of the budget. A refund is paid once: from the commit of an
//! invoice on, it is the payment of that invoice ([`OutgoingPayment`], with its crash table), and accepts no other
//! invoice until that one is proven not to have been paid. A crash before that commit only loses the invoice: no
//! payment was sent, and the refund is still in the state `asking`.

pub(crate) mod address_lookups;
pub(crate) mod page;
pub(crate) mod start;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::bolt11::{Invoice, Network};
use usher_protocol::message::{self, Currency, InvoiceResponse, PaymentHash, ServiceMessage, WalletMessage};
use usher_protocol::subkey::Permission;

use crate::event_data::PaymentData;
use crate::machine::user_keys::UserKeys;
use crate::machine::{Effect, Input, Signal, Spending, StateMachine, StepResult, emit, user_keys};
use crate::payment::operation::Payer;
use crate::payment::outgoing::OutgoingPayment;
use crate::ports::{CompletedPayment, CorrelationKey, PaymentKind, PaymentRecord, PaymentRecordStatus};
use crate::{StreamId, UnixMillis};

/// How long after the payer has named an invoice attempts to pay it begin.
const PAYING: Duration = Duration::from_secs(300);

/// The most unusable invoices that are reported.
const MAX_FAILURES: u8 = 20;

/// The most failed payments of a refund; the next failure ends it.
const MAX_NOT_PAID: usize = 10;

#[derive(Clone, Debug)]
pub(crate) struct RefundTerms {
    pub(crate) payment: StreamId,
    /// Its invoice, for the payer's wallet.
    pub(crate) refunded_invoice: Option<String>,
    /// Millisats.
    pub(crate) amount: u64,
    pub(crate) description: String,
    /// The app's reference, repeated in events.
    pub(crate) reference: Option<String>,
    /// The payer whose wallet gets the request for an invoice. `None`: only the page requests one.
    pub(crate) payer: Option<Payer>,
    pub(crate) request_id: String,
    /// Until when an invoice is accepted.
    pub(crate) expires_at: UnixMillis,
    /// The largest fee in millisats.
    pub(crate) fees_allowed: u64,
    /// The network of accepted invoices.
    pub(crate) network: Network,
}

/// The state of a refund.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refund {
    refund_of: StreamId,
    refunded_invoice: Option<String>,
    amount: u64,
    description: String,
    reference: Option<String>,
    #[serde(flatten, deserialize_with = "user_keys::all_or_none")]
    user_keys: Option<UserKeys>,
    request_id: String,
    expires_at: UnixMillis,
    fees_allowed: u64,
    network: Network,
    failures: u8,
    /// Earlier payments, all of which failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<OutgoingPayment>,
    phase: Phase,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
enum Phase {
    Asking,
    /// Paying, or paid.
    Paying {
        payment: Box<OutgoingPayment>,
        /// The payment failed, and another invoice is requested.
        #[serde(default)]
        asks_again: bool,
    },
    /// No invoice was named in time.
    Expired,
}

usher_protocol::words! {
    /// The progress of a refund, for its page.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RefundProgress {
        /// Waiting for an approval. The payer has not been asked yet.
        AwaitingApproval = "awaiting_approval",
        /// The approval was not given.
        NotApproved = "not_approved",
        /// Waiting for an invoice of the payer.
        Asking = "waiting",
        /// The payment is in progress.
        Paying = "paying",
        /// It was paid.
        Paid = "paid",
        /// Ended without a payment.
        NotPaid = "failed",
        /// Ended, and the outcome is unknown.
        Unknown = "unknown",
        /// No invoice was named in time.
        Expired = "expired",
    }
}

usher_protocol::debug_shows!(Refund { refund_of, amount });

impl StateMachine for Refund {
    fn is_about(&self, user: &PublicKey) -> bool {
        self.user_keys.as_ref().is_some_and(|keys| keys.is_with(user))
    }

    fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        match self.asks().then(|| self.ask_step(input, now)) {
            Some(stepped @ StepResult::Stepped(_)) => stepped,
            // The wallet may still report the payment as made.
            _ => self.pay_step(input, now),
        }
    }

    fn wake_at(&self) -> Option<UnixMillis> {
        match &self.phase {
            Phase::Paying { payment, asks_again: false } => payment.wake_at(),
            _ => Some(self.expires_at),
        }
    }

    /// All keys remain until the end, so that a late message finds the refund.
    fn correlations(&self) -> Vec<CorrelationKey> {
        let last = match &self.phase {
            Phase::Paying { payment, .. } => Some(&**payment),
            Phase::Asking | Phase::Expired => None,
        };
        let payments = self.earlier.iter().chain(last).map(OutgoingPayment::correlation);
        let requests = (0..=self.not_paid()).map(|nth| CorrelationKey::request(&self.request_id(nth)));
        requests.chain(payments).collect()
    }

    fn is_done(&self) -> bool {
        match &self.phase {
            Phase::Paying { payment, asks_again } => !asks_again && payment.is_done(),
            Phase::Asking => false,
            Phase::Expired => true,
        }
    }

    fn paid_late_until(&self) -> Option<UnixMillis> {
        match &self.phase {
            Phase::Paying { payment, .. } => payment.paid_late_until(),
            Phase::Asking | Phase::Expired => None,
        }
    }

    fn is_by_wall_clock(&self, input: &Input) -> bool {
        matches!(input, Input::PaymentStatus(_))
    }

    fn lingers(&self) -> bool {
        true
    }

    fn named_invoice(&self, input: &Input, now: UnixMillis) -> Option<PaymentHash> {
        if !self.asks() || now >= self.expires_at {
            return None;
        }
        match input {
            Input::Signal(Signal::RefundTo(invoice)) => Some(invoice.payment_hash()),
            Input::Wallet { author, message: WalletMessage::InvoiceResponse(response), .. }
                if self.is_response(author, response, now) =>
            {
                response.invoice.parse::<Invoice>().ok().map(|invoice| invoice.payment_hash())
            }
            _ => None,
        }
    }

    fn spending(&self) -> Option<Spending> {
        let (amount, fees_allowed, until) = match &self.phase {
            Phase::Asking | Phase::Paying { asks_again: true, .. } => (self.amount, self.fees_allowed, None),
            Phase::Paying { payment, .. } => return payment.spending(),
            Phase::Expired => (0, 0, Some(self.expires_at)),
        };
        Some(Spending { amount, fees_allowed, fees_paid: None, until })
    }

    fn payment_record(&self) -> Option<PaymentRecord> {
        let (status, settled, fee, payment_hash) = match &self.phase {
            Phase::Asking | Phase::Paying { asks_again: true, .. } => (PaymentRecordStatus::Open, None, None, None),
            Phase::Paying { payment, .. } => {
                let PaymentRecord { status, settled, fee, payment_hash, .. } = payment.books_entry();
                (status, settled, fee, payment_hash)
            }
            Phase::Expired => (PaymentRecordStatus::NotPaid, None, None, None),
        };
        Some(PaymentRecord {
            kind: PaymentKind::Refund,
            status,
            amount: self.amount,
            settled,
            fee,
            description: self.description.clone(),
            reference: self.reference.clone(),
            payment_hash,
            price: None,
            refund_of: Some(self.refund_of),
        })
    }
}

impl Refund {
    pub(crate) fn new(terms: RefundTerms) -> Self {
        Self {
            refund_of: terms.payment,
            refunded_invoice: terms.refunded_invoice,
            amount: terms.amount,
            description: terms.description,
            reference: terms.reference,
            user_keys: terms.payer.map(|payer| UserKeys::new(payer.main_key, &payer.subkeys)),
            request_id: terms.request_id,
            expires_at: terms.expires_at,
            fees_allowed: terms.fees_allowed,
            network: terms.network,
            failures: 0,
            earlier: Vec::new(),
            phase: Phase::Asking,
        }
    }

    /// Requests an invoice from the payer's wallet, if there is one.
    pub(crate) fn begin(&self) -> Vec<Effect> {
        let ask = self.user_keys.as_ref().map(|keys| Effect::Send(keys.message(&self.request(), self.expires_at)));
        ask.into_iter().collect()
    }

    pub(crate) const fn refund_of(&self) -> StreamId {
        self.refund_of
    }

    pub(crate) fn description(&self) -> &str {
        &self.description
    }

    /// Until when an invoice is accepted.
    pub(crate) const fn expires_at(&self) -> UnixMillis {
        self.expires_at
    }

    pub(crate) fn progress(&self) -> RefundProgress {
        match &self.phase {
            Phase::Asking | Phase::Paying { asks_again: true, .. } => RefundProgress::Asking,
            Phase::Expired => RefundProgress::Expired,
            Phase::Paying { payment, .. } => match payment.books_entry().status {
                PaymentRecordStatus::Open => RefundProgress::Paying,
                PaymentRecordStatus::Paid => RefundProgress::Paid,
                PaymentRecordStatus::NotPaid => RefundProgress::NotPaid,
                PaymentRecordStatus::Unknown => RefundProgress::Unknown,
            },
        }
    }

    /// Whether the last invoice could not be paid.
    pub(crate) const fn asks_again(&self) -> bool {
        matches!(self.phase, Phase::Paying { asks_again: true, .. })
    }

    /// The number of failed payments.
    fn not_paid(&self) -> usize {
        self.earlier.len() + usize::from(self.asks_again())
    }

    fn asks(&self) -> bool {
        self.phase == Phase::Asking || self.asks_again()
    }

    pub(crate) fn fault_of(&self, invoice: &Invoice, now: UnixMillis) -> Option<RefundInvoiceFault> {
        let refunded = self.refunded_invoice.as_deref().and_then(|text| text.parse::<Invoice>().ok());
        if refunded.is_some_and(|refunded| refunded.payment_hash() == invoice.payment_hash()) {
            Some(RefundInvoiceFault::Paid)
        } else if invoice.network() != self.network {
            Some(RefundInvoiceFault::Network)
        } else if invoice.amount() != Some(self.amount) {
            Some(RefundInvoiceFault::Amount)
        } else if invoice.is_expired(now.secs()) {
            Some(RefundInvoiceFault::Expired)
        } else {
            None
        }
    }

    fn ask_step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        match input {
            Input::Timer if now >= self.expires_at => {
                if let Phase::Paying { payment, asks_again } = &mut self.phase {
                    // From now on, the payment is looked up in case it was made.
                    *asks_again = false;
                    return StepResult::Stepped(vec![payment.failure("not_paid", now), Effect::ClearOutbox]);
                }
                self.phase = Phase::Expired;
                let late = self.told("timeout", Some("the payer named no invoice in time"), now);
                StepResult::Stepped(vec![late, Effect::ClearOutbox, Effect::Finish])
            }
            _ if now >= self.expires_at => StepResult::Ignored,
            Input::Wallet { author, message: WalletMessage::InvoiceResponse(response), .. } => {
                self.answered(author, response, now)
            }
            Input::Wallet { author, message: WalletMessage::SubkeyProof { proof, .. }, .. } => {
                let request = self.request();
                let Some(keys) = &mut self.user_keys else { return StepResult::Ignored };
                if !keys.prove(author, proof, Permission::Payment, now) {
                    return StepResult::Ignored;
                }
                StepResult::Stepped(vec![Effect::SendAlso(keys.message_to_proven(author, &request, self.expires_at))])
            }
            Input::Signal(Signal::RefundTo(invoice)) => self.pay(invoice, now),
            Input::CorrelationTaken => self.failed(&RefundInvoiceFault::Paid.to_string(), now),
            _ => StepResult::Ignored,
        }
    }

    /// Whether the payer's wallet responds to the last request.
    fn is_response(&self, author: &PublicKey, response: &InvoiceResponse, now: UnixMillis) -> bool {
        response.request.inner.request_id == self.request_id(self.not_paid())
            && self.user_keys.as_ref().is_some_and(|keys| keys.may_pay(author, now))
    }

    fn answered(&mut self, author: &PublicKey, response: &InvoiceResponse, now: UnixMillis) -> StepResult {
        if !self.is_response(author, response, now) {
            return StepResult::Ignored;
        }
        match response.invoice.parse::<Invoice>() {
            Ok(invoice) if response.payment_hash.is_some_and(|hash| hash != invoice.payment_hash()) => {
                self.failed("the invoice has another payment hash than the wallet says", now)
            }
            Ok(invoice) => self.pay(&invoice, now),
            Err(error) => self.failed(&format!("the wallet's invoice cannot be read: {error}"), now),
        }
    }

    fn pay(&mut self, invoice: &Invoice, now: UnixMillis) -> StepResult {
        if let Some(fault) = self.fault_of(invoice, now) {
            return self.failed(&fault.to_string(), now);
        }
        let (payment, effects) =
            OutgoingPayment::start(invoice.clone(), self.reference.clone(), now.plus(PAYING), self.fees_allowed, now);
        let phase = Phase::Paying { payment: Box::new(payment), asks_again: false };
        if let Phase::Paying { payment, .. } = std::mem::replace(&mut self.phase, phase) {
            self.earlier.push(*payment);
        }
        let told = [self.told("user_approved", None, now), Effect::ClearOutbox];
        StepResult::Stepped(told.into_iter().chain(effects).collect())
    }

    /// After a payment that is proven not to have been made, another invoice is accepted until the refund expires.
    fn pay_step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        let Phase::Paying { payment, asks_again } = &mut self.phase else { return StepResult::Ignored };
        if *asks_again && matches!(input, Input::Timer) {
            return StepResult::Ignored;
        }
        let is_paid = |of: &OutgoingPayment, hash| of.invoice().payment_hash() == hash;
        if let Input::Paid(CompletedPayment { preimage, .. }) = input
            && !is_paid(payment, preimage.payment_hash())
            && let Some(earlier) = self.earlier.iter_mut().find(|earlier| is_paid(earlier, preimage.payment_hash()))
        {
            if !*asks_again {
                return self.failed("an earlier invoice was paid after all, which the wallet had denied", now);
            }
            std::mem::swap(earlier, &mut **payment);
        }
        let (asked_again, was_over) = (*asks_again, payment.is_done());
        let StepResult::Stepped(mut effects) = payment.step(input, now) else { return StepResult::Ignored };
        let status = payment.books_entry().status;
        if asked_again && status == PaymentRecordStatus::Paid {
            *asks_again = false;
            effects.push(Effect::ClearOutbox);
        }
        let is_last = now >= self.expires_at || self.earlier.len() >= MAX_NOT_PAID;
        if was_over || status != PaymentRecordStatus::NotPaid || is_last {
            return StepResult::Stepped(effects);
        }
        *asks_again = true;
        let reason = format!("the invoice was not paid: {}", payment.reason());
        let told = self.told("user_failed", Some(&reason), now);
        StepResult::Stepped([told].into_iter().chain(self.begin()).collect())
    }

    fn failed(&mut self, reason: &str, now: UnixMillis) -> StepResult {
        if self.failures >= MAX_FAILURES {
            return StepResult::Ignored;
        }
        self.failures += 1;
        StepResult::Stepped(vec![self.told("user_failed", Some(reason), now)])
    }

    fn told(&self, status: &str, reason: Option<&str>, now: UnixMillis) -> Effect {
        emit(PaymentData::failed(status, reason, self.reference.as_deref()), now)
    }

    /// The id of the request for the first or a further invoice: a wallet responds to each request once.
    fn request_id(&self, nth: usize) -> String {
        if nth == 0 { self.request_id.clone() } else { format!("{}-{nth}", self.request_id) }
    }

    fn request(&self) -> ServiceMessage {
        ServiceMessage::InvoiceRequest(message::InvoiceRequest {
            request_id: self.request_id(self.not_paid()),
            amount: self.amount,
            currency: Currency::Millisats,
            current_exchange_rate: None,
            expires_at: self.expires_at.secs(),
            description: Some(self.description.clone()),
            refund_invoice: self.refunded_invoice.clone(),
        })
    }
}

/// Why a payer's invoice is unusable for a refund.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefundInvoiceFault {
    /// It is for another network.
    #[error("the invoice is for another network")]
    Network,
    /// It has another amount, or none.
    #[error("the invoice is for another amount")]
    Amount,
    /// It has expired.
    #[error("the invoice has expired")]
    Expired,
    /// It was paid before (such as the invoice of the refunded payment), or has another payment.
    #[error("the invoice was paid already, or belongs to another payment")]
    Paid,
}

#[cfg(test)]
mod tests;
