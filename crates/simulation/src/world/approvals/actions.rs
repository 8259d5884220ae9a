//! What happens in the world: operators who approve or decline payments that wait for an approval.

use std::time::Duration;

use usher_engine::{Decision, StreamId};
use usher_protocol::bolt11::Invoice;

use super::APPROVAL_ABOVE;
use crate::world::State;
use crate::world::action::AppRequest;

impl State {
    /// A payment waits: up to three people decide about it, each for themselves, and often at the same moment.
    pub(in crate::world) fn waits_for_approval(&mut self, stream: StreamId) {
        self.invariants.approvals.entry(stream).or_default();
        let mut after = Duration::ZERO;
        for _ in 0..self.decisions.number(0..4) {
            after = if !after.is_zero() && self.decisions.percent(50) {
                after + Duration::from_millis(self.decisions.number(0..self.plan.disk.end))
            } else {
                // Its invoice expires after half an hour.
                self.decisions.delay(300..1_900_000)
            };
            let decision = if self.decisions.percent(70) { Decision::Approve } else { Decision::Decline };
            let by_requester = self.decisions.percent(20);
            self.call_until_answered(after, AppRequest::Decide { stream, decision, by_requester });
        }
    }

    pub(in crate::world) fn decides(&mut self, stream: StreamId, decision: Decision, by_requester: bool) {
        if decision == Decision::Approve && !by_requester {
            self.invariants.approvals.entry(stream).or_default().approval_was_asked = true;
        }
    }

    pub(crate) fn decided(&mut self, stream: StreamId, decision: Decision, by_requester: bool) {
        let label = self.invariants.label(stream);
        self.log(&format!("{label}: {} is acknowledged", decision.as_str()));
        let before = self.invariants.approvals.entry(stream).or_default().acknowledged.replace(decision);
        if let Some(before) = before {
            let what = format!("{label}: {} was acknowledged, and {} before", decision.as_str(), before.as_str());
            self.violation("one-decision", &what);
        }
        if decision == Decision::Approve && by_requester {
            self.violation("approved-by-another", &format!("{label} was approved by who asked for it"));
        }
    }

    /// The wallet is asked to pay this invoice.
    pub(in crate::world) fn pays_out(&mut self, invoice: &Invoice) {
        if !self.plan.approvals || invoice.amount().is_none_or(|amount| amount <= APPROVAL_ABOVE) {
            return;
        }
        let hash = invoice.payment_hash();
        let record = self.invariants.streams.iter().find(|(_, book)| book.pays == Some(hash));
        let record = record.and_then(|(stream, _)| self.invariants.approvals.get(stream));
        if record.is_none_or(|record| !record.approval_was_asked || record.acknowledged == Some(Decision::Decline)) {
            self.violation("paid-after-an-approval", &format!("the wallet is asked to pay with {record:?}"));
        }
    }
}
