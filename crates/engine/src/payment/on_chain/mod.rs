//! An on-chain payment of the service's Lightning node.
//!
//! ```text
//! ordering ───the node has made and stored the transaction──▶ publishing  StatusUpdate {status: sending, txid, amount_millisats, fees_paid}
//! ordering ───the node refuses──────────────────────────────▶ finished    StatusUpdate {status: error, reason, outcome: not_paid}
//! publishing ─it is in a block──────────────────────────────▶ paid        StatusUpdate {status: paid, txid, …}
//! publishing ─another has spent its coins, six blocks deep──▶ finished    StatusUpdate {status: error, reason, outcome: not_paid}
//! paid ───────a day later───────────────────────────────────▶ finished
//! ```
//!
//! The node executes an order once, identified by the stream's id: a repeated order gets the transaction of the first.
//! Once the node has reported a transaction, it is only looked up.
//!
//! | crash … | what the next start does |
//! | --- | --- |
//! | before the commit of the order | nothing was sent or acknowledged |
//! | while it is ordered, before or after the node has stored the transaction | orders again: the node creates one, or has it |
//! | while it is published | looks it up; the node publishes it |

pub(crate) mod start;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;

use crate::UnixMillis;
use crate::event_data::{EventData, PaymentData};
use crate::machine::{BUDGET_WINDOW, Effect, Input, LightningRequest, Spending, StateMachine, StepResult, emit, lease};
use crate::ports::{
    CorrelationKey, NodeError, OnChainOrder, OnChainState, OnChainStatus, PaymentKind, PaymentRecord,
    PaymentRecordStatus,
};

/// How long, and how often, the node is queried frequently; afterwards, about once per block suffices.
const SOON: Duration = Duration::from_secs(600);
const OFTEN: Duration = Duration::from_secs(5);
const SELDOM: Duration = Duration::from_secs(60);

/// Confirmations after which a transaction is final and no longer looked up.
const FINAL: u32 = 6;

/// The state of an on-chain payment.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnChainPayment {
    order: OnChainOrder,
    reference: Option<String>,
    /// What the payee gets, as ordered, in millisats.
    amount: u64,
    /// The largest fee in millisats.
    fees_allowed: u64,
    started_at: UnixMillis,
    /// When the node is next queried.
    next: UnixMillis,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
enum Phase {
    /// The node may have created a transaction.
    Ordering,
    /// Not in a block.
    Publishing { transaction: Transaction },
    /// In a block.
    Paid { transaction: Transaction, at: UnixMillis, is_final: bool },
    /// There is and will be no transaction.
    Failed { at: UnixMillis },
}

/// The node's transaction. Amounts are millisats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Transaction {
    id: String,
    amount: u64,
    fee: u64,
}

usher_protocol::debug_shows!(OnChainPayment { amount, phase });

impl StateMachine for OnChainPayment {
    fn is_about(&self, _user: &PublicKey) -> bool {
        false
    }

    fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        // If the clock was ahead, the next query is not delayed as long.
        self.next = self.next.min(now.plus(SELDOM));
        match input {
            Input::Timer if Some(now) >= self.wake_at() => self.woken(now),
            Input::Resumed => self.woken(now),
            Input::OnChain(result) => self.told(result, now),
            _ => StepResult::Ignored,
        }
    }

    fn wake_at(&self) -> Option<UnixMillis> {
        Some(match self.phase {
            Phase::Paid { at, is_final: true, .. } => at.plus(BUDGET_WINDOW),
            Phase::Paid { at, .. } => self.next.min(at.plus(BUDGET_WINDOW)),
            Phase::Failed { at } => at,
            Phase::Ordering | Phase::Publishing { .. } => self.next,
        })
    }

    fn correlations(&self) -> Vec<CorrelationKey> {
        Vec::new()
    }

    fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Paid { .. } | Phase::Failed { .. })
    }

    fn lingers(&self) -> bool {
        true
    }

    fn spending(&self) -> Option<Spending> {
        let (transaction, until) = match &self.phase {
            Phase::Ordering => (None, None),
            Phase::Publishing { transaction } => (Some(transaction), None),
            Phase::Paid { transaction, at, .. } => (Some(transaction), Some(at.plus(BUDGET_WINDOW))),
            Phase::Failed { at } => {
                return Some(Spending { amount: 0, fees_allowed: 0, fees_paid: None, until: Some(*at) });
            }
        };
        Some(Spending {
            amount: transaction.map_or(self.amount, |made| made.amount),
            fees_allowed: self.fees_allowed,
            fees_paid: transaction.map(|made| made.fee),
            until,
        })
    }

    fn payment_record(&self) -> Option<PaymentRecord> {
        let (status, made, paid) = match &self.phase {
            Phase::Ordering => (PaymentRecordStatus::Open, None, None),
            Phase::Publishing { transaction } => (PaymentRecordStatus::Open, Some(transaction), None),
            Phase::Paid { transaction, .. } => (PaymentRecordStatus::Paid, Some(transaction), Some(transaction)),
            Phase::Failed { .. } => (PaymentRecordStatus::NotPaid, None, None),
        };
        Some(PaymentRecord {
            kind: PaymentKind::OnChain,
            status,
            amount: self.amount,
            settled: paid.map(|made| made.amount),
            fee: paid.map(|made| made.fee),
            description: self.order.address.clone(),
            reference: self.reference.clone(),
            payment_hash: made.and_then(|made| serde_json::from_value(made.id.clone().into()).ok()),
            price: None,
            refund_of: None,
        })
    }
}

impl OnChainPayment {
    /// A payment of `amount` and a fee, both in millisats.
    pub(crate) const fn new(
        order: OnChainOrder,
        reference: Option<String>,
        (amount, fees_allowed): (u64, u64),
        now: UnixMillis,
    ) -> Self {
        Self { order, reference, amount, fees_allowed, started_at: now, next: now, phase: Phase::Ordering }
    }

    /// Places the order.
    pub(crate) fn begin(&mut self, now: UnixMillis) -> Vec<Effect> {
        self.started_at = now;
        self.next = lease(now);
        self.ask()
    }

    /// Where the money goes.
    pub(crate) fn address(&self) -> &str {
        &self.order.address
    }

    /// The request to the node.
    fn ask(&self) -> Vec<Effect> {
        match self.phase {
            Phase::Ordering => vec![Effect::CallLightning(LightningRequest::SendOnChain(self.order.clone()))],
            Phase::Publishing { .. } | Phase::Paid { .. } => {
                vec![Effect::CallLightning(LightningRequest::LookUpOnChain(self.order.id))]
            }
            Phase::Failed { .. } => Vec::new(),
        }
    }

    fn woken(&mut self, now: UnixMillis) -> StepResult {
        match self.phase {
            Phase::Failed { .. } => StepResult::Stepped(vec![Effect::Finish]),
            Phase::Paid { at, .. } if now >= at.plus(BUDGET_WINDOW) => StepResult::Stepped(vec![Effect::Finish]),
            Phase::Paid { is_final: true, .. } => StepResult::Ignored,
            Phase::Ordering | Phase::Publishing { .. } | Phase::Paid { .. } => {
                self.next = lease(now);
                StepResult::Stepped(self.ask())
            }
        }
    }

    fn told(&mut self, result: &Result<Option<OnChainStatus>, NodeError>, now: UnixMillis) -> StepResult {
        match result {
            Ok(Some(status)) => self.stands(status, now),
            Ok(None) | Err(NodeError::Unavailable(_)) => self.ask_later(now),
            // Nothing was sent.
            Err(error) if self.phase == Phase::Ordering => self.failed(&error.to_string(), now),
            Err(_) => self.ask_later(now),
        }
    }

    fn stands(&mut self, status: &OnChainStatus, now: UnixMillis) -> StepResult {
        let OnChainStatus { transaction, amount, fee, state } = status;
        let made = Transaction { id: transaction.clone(), amount: *amount, fee: *fee };
        let mut effects = Vec::new();
        if self.phase == Phase::Ordering {
            effects.push(self.tell("sending", &made, now));
            self.phase = Phase::Publishing { transaction: made.clone() };
        }
        match (&mut self.phase, state) {
            (Phase::Publishing { .. }, OnChainState::Confirmed { confirmations }) => {
                effects.push(self.tell("paid", &made, now));
                self.phase = Phase::Paid { transaction: made, at: now, is_final: *confirmations >= FINAL };
            }
            (Phase::Publishing { .. }, OnChainState::Replaced) => {
                return self.failed("another transaction of the node has spent the same coins", now);
            }
            (Phase::Paid { is_final, .. }, OnChainState::Confirmed { confirmations: FINAL.. }) => *is_final = true,
            _ => {}
        }
        self.next = self.next_question(now);
        StepResult::Stepped(effects)
    }

    fn ask_later(&mut self, now: UnixMillis) -> StepResult {
        self.next = self.next_question(now);
        StepResult::Stepped(Vec::new())
    }

    fn next_question(&self, now: UnixMillis) -> UnixMillis {
        let is_early = self.started_at.plus(SOON) > now && self.started_at <= now;
        now.plus(if is_early && !self.is_done() { OFTEN } else { SELDOM })
    }

    fn failed(&mut self, reason: &str, now: UnixMillis) -> StepResult {
        self.phase = Phase::Failed { at: now };
        let data = PaymentData {
            status: "error".to_owned(),
            reason: Some(reason.to_owned()),
            outcome: Some("not_paid".to_owned()),
            request_id: self.reference.clone(),
            ..PaymentData::default()
        };
        StepResult::Stepped(vec![emit(EventData::Payment(data), now), Effect::Finish])
    }

    fn tell(&self, status: &str, made: &Transaction, now: UnixMillis) -> Effect {
        let data = PaymentData {
            status: status.to_owned(),
            txid: Some(made.id.clone()),
            amount_millisats: Some(made.amount),
            fees_paid: Some(made.fee),
            request_id: self.reference.clone(),
            ..PaymentData::default()
        };
        emit(EventData::Payment(data), now)
    }
}

#[cfg(test)]
mod tests;
