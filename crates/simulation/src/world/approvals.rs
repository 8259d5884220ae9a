//! Operators who approve or decline payments that wait for an approval, and what must hold of their decisions.

mod actions;

use usher_engine::Decision;

/// In a plan with approvals, a payment of more millisats waits for one.
pub(crate) const APPROVAL_ABOVE: u64 = 5_000;

/// What was decided about a payment that waits.
#[derive(Debug, Default)]
pub(crate) struct ApprovalRecord {
    /// Somebody has asked to approve it, whether a response came or not.
    approval_was_asked: bool,
    /// The decision that was acknowledged.
    acknowledged: Option<Decision>,
}

impl ApprovalRecord {
    /// How the events of the payment contradict the decision that was acknowledged.
    pub(super) fn contradicted_by(&self, ended_by: Option<&str>) -> Option<String> {
        let decision = self.acknowledged?;
        let agrees = match decision {
            Decision::Approve => ended_by.is_none(),
            Decision::Decline => ended_by == Some("it was declined"),
        };
        (!agrees).then(|| format!("{} was acknowledged, and it ended by {ended_by:?}", decision.as_str()))
    }
}
