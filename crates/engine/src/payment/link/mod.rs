//! A payment link: a page, and an LNURL (LUD-06), at which many people can pay, each with their own invoice.
//!
//! ```text
//! open ──a payment at it is made───────▶ open   StatusUpdate {status: paid, payment_id, …}
//! open ──the last of `max_payments`────▶ over   the same
//! open ──expired, or the app closes it─▶ over
//! over ──a payment at it is made late──▶ over   StatusUpdate {status: paid, payment_id, …}
//! over ──its last invoice is dead──────▶ finished
//! ```
//!
//! An invoice is created only on request: a [payment](crate::operations::Payment) starts, which knows its link. The
//! link does not track unpaid payments, so its state does not grow. The commit that settles a payment signals the link,
//! so each payment is an event of the link exactly once.
//!
//! | crash … | what resume does |
//! | --- | --- |
//! | before the start of a payment is committed | nobody has seen an invoice: the payer requests one again |
//! | after the start of a payment | as described there |
//! | before the settlement of a payment is committed | as there: payment and link are one commit |

pub(crate) mod error;
pub(crate) mod links;
pub(crate) mod offer;
pub(crate) mod open_payments;
pub(crate) mod page;
pub(crate) mod pay;
pub(crate) mod recent_rates;
pub(crate) mod start;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;

use crate::machine::{Effect, Input, Signal, StateMachine, StepResult};
use crate::ports::{CorrelationKey, CurrencyCode};
use crate::{StreamId, UnixMillis};

/// How long a link is kept after its end: an invoice issued before can be paid while its payment is watched, at most 30
/// days after its expiry, and 30 more while the Lightning backend is down.
const KEPT: Duration = Duration::from_secs(61 * 24 * 3600);

/// The amount at a link: millisats, or the minor unit of its currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "amount_is", rename_all = "snake_case")]
pub enum LinkAmount {
    /// Fixed.
    Fixed {
        /// The amount.
        amount: u64,
    },
    /// Chosen by the payer.
    Chosen {
        /// The minimum.
        min: u64,
        /// The maximum.
        max: u64,
    },
}

usher_protocol::words! {
    /// The state of a link.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LinkState {
        /// It issues invoices.
        Open = "open",
        /// Closed by the app.
        Closed = "closed",
        /// Expired.
        Expired = "expired",
        /// The maximum of payments was made.
        Completed = "completed",
    }
}

/// The terms of a link.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkTerms {
    /// Its stream.
    pub stream: StreamId,
    /// The amount.
    #[serde(flatten)]
    pub amount: LinkAmount,
    /// The currency of the amount; `None` for millisats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<CurrencyCode>,
    /// Whether the app counts in sats.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_sats: bool,
    /// What the payments are for.
    pub description: String,
    /// The app's own reference, repeated in events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Where the pages of its payments redirect at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_url: Option<String>,
    /// Until when it issues invoices; `None`: until it is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<UnixMillis>,
    /// The maximum of payments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_payments: Option<u32>,
}

/// The state of a payment link.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentLink {
    #[serde(flatten)]
    terms: LinkTerms,
    /// The number of payments made at it.
    payments: u64,
    closed: bool,
    /// Set at its end: until when payments at it may still be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kept_until: Option<UnixMillis>,
}

impl fmt::Debug for PaymentLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PaymentLink")
            .field("stream", &self.terms.stream)
            .field("payments", &self.payments)
            .finish_non_exhaustive()
    }
}

impl StateMachine for PaymentLink {
    fn is_about(&self, _user: &PublicKey) -> bool {
        false
    }

    fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        match input {
            Input::Signal(Signal::LinkPaid(event)) => {
                self.payments = self.payments.saturating_add(1);
                if self.state(now) != LinkState::Open {
                    self.end(now);
                }
                StepResult::Stepped(vec![Effect::Emit(event.clone())])
            }
            Input::Timer if self.kept_until.is_some_and(|until| now >= until) => {
                StepResult::Stepped(vec![Effect::Finish])
            }
            Input::Timer if self.kept_until.is_none() && self.state(now) != LinkState::Open => {
                self.end(now);
                StepResult::Stepped(Vec::new())
            }
            _ => StepResult::Ignored,
        }
    }

    fn wake_at(&self) -> Option<UnixMillis> {
        self.kept_until.or(self.terms.expires_at)
    }

    fn correlations(&self) -> Vec<CorrelationKey> {
        vec![CorrelationKey::payment_link(self.terms.stream)]
    }

    fn is_done(&self) -> bool {
        self.kept_until.is_some()
    }

    fn lingers(&self) -> bool {
        true
    }
}

impl PaymentLink {
    /// An open link. The state includes its stream, because its payments find it by that.
    pub const fn new(terms: LinkTerms) -> Self {
        Self { terms, payments: 0, closed: false, kept_until: None }
    }

    /// What it is for.
    pub const fn terms(&self) -> &LinkTerms {
        &self.terms
    }

    /// The number of payments made at it.
    pub const fn payments(&self) -> u64 {
        self.payments
    }

    /// Its state.
    pub fn state(&self, now: UnixMillis) -> LinkState {
        let is_reached = |max: u32| self.payments >= u64::from(max);
        if self.closed {
            LinkState::Closed
        } else if self.terms.max_payments.is_some_and(is_reached) {
            LinkState::Completed
        } else if self.terms.expires_at.is_some_and(|at| now >= at) {
            LinkState::Expired
        } else {
            LinkState::Open
        }
    }

    /// Closes it. Returns whether it was open, or had ended otherwise.
    pub fn close(&mut self, now: UnixMillis) -> bool {
        self.end(now);
        !std::mem::replace(&mut self.closed, true)
    }

    fn end(&mut self, now: UnixMillis) {
        self.kept_until.get_or_insert(now.plus(KEPT));
    }
}

#[cfg(test)]
mod tests;
