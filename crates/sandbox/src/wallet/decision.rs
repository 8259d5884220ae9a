//! What the wallet does with a request.

use std::time::Duration;

use super::received_requests::Decision;
use super::wallet_state::WalletState;
use super::{Outcome, Reaction, Request};

/// How long a wallet with [`Outcome::Slow`] takes.
pub const SLOW: Duration = Duration::from_secs(10);

impl WalletState {
    /// What to do with a request: what is scripted, else what the policy says. A repeated request takes no script.
    pub(super) fn decide(&self, request: &Request, is_new: bool) -> Decision {
        if is_new && let Some(outcome) = self.outcomes.take(&request.content) {
            return match outcome {
                Outcome::Approve => Decision::Reply(Reaction::Approve, Duration::ZERO),
                Outcome::Decline => Decision::Reply(Reaction::Decline(None), Duration::ZERO),
                Outcome::Fail => Decision::Reply(Reaction::Fail, Duration::ZERO),
                Outcome::Slow => Decision::Reply(Reaction::Approve, SLOW),
                Outcome::PayLate => Decision::PayLate,
                Outcome::Offline => Decision::Ignore,
            };
        }
        let policy = &self.policy;
        if policy.auto_pay && self.is_agreed(request) {
            return Decision::Reply(Reaction::Approve, policy.delay);
        }
        match &policy.reaction {
            Some(reaction) if request.content.is_request() && (policy.strangers || request.service.is_some()) => {
                Decision::Reply(reaction.clone(), policy.delay)
            }
            _ => Decision::Ask,
        }
    }
}
