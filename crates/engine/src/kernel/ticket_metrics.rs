use std::borrow::Borrow;

use super::call_counts::CallCounts;
use crate::ports::TicketError;

#[derive(Clone, Copy, Debug)]
pub(crate) enum TicketCallKind {
    Mint,
    Redeem,
    Verify,
    Withdraw,
    CheckState,
    GiveUp,
}

const KINDS: [&str; 6] = ["mint", "redeem", "verify", "withdraw", "check_state", "give_up"];

const RESULTS: [&str; 5] = ["done", "token_refused", "mint_refused", "unknown", "not_done"];

pub(crate) struct TicketMetrics(CallCounts<{ KINDS.len() }, { RESULTS.len() }>);

impl Default for TicketMetrics {
    fn default() -> Self {
        Self(CallCounts::new(KINDS, RESULTS))
    }
}

impl TicketMetrics {
    pub(crate) fn count<'a, T, E: Borrow<TicketError>>(
        &self,
        kind: TicketCallKind,
        result: &'a Result<T, E>,
    ) -> Option<&'a TicketError> {
        let failure = result.as_ref().err().map(Borrow::borrow);
        let slot = match failure {
            None => 0,
            Some(TicketError::Token(_)) => 1,
            Some(TicketError::Refused(_)) => 2,
            Some(
                TicketError::InvalidResponse(_)
                | TicketError::Unreachable(_)
                | TicketError::TimedOut
                | TicketError::Pending
                | TicketError::Store(_),
            ) => 3,
            Some(
                TicketError::AddressNotAllowed(_)
                | TicketError::InsufficientFunds { .. }
                | TicketError::OtherJob
                | TicketError::Overloaded,
            ) => 4,
        };
        self.0.count(kind as usize, slot);
        failure
    }

    pub(crate) fn values(&self) -> Vec<(&'static str, &'static str, u64)> {
        self.0.values()
    }
}
