//! A payment's allocation of the Lightning backend's budget.

use std::fmt;
use std::time::Duration;

use crate::UnixMillis;

/// A budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// The budget of the Lightning backend.
    Service,
    /// The budget of the requester: the `daily_budget_millisats` of the key.
    Client,
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Service => "wallet.daily_budget_millisats",
            Self::Client => "daily_budget_millisats of the API key",
        })
    }
}

/// How long after its end a payment counts towards the budget (`wallet.daily_budget_millisats`): a day.
pub(crate) const BUDGET_WINDOW: Duration = Duration::from_secs(24 * 3600);

/// The actual or possible spending of a payment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// Millisats without fees; 0 if it is certain that the payment was not made.
    pub amount: u64,
    /// The largest fee, in millisats, that the configuration allowed when the payment started.
    pub fees_allowed: u64,
    /// The fee, in millisats, that the backend reports.
    pub fees_paid: Option<u64>,
    /// Until when the payment counts towards the budget; `None` while it is in progress.
    pub until: Option<UnixMillis>,
}

impl Spending {
    /// The payment's allocation of the budget, in millisats. An unreported fee counts as the largest allowed one.
    pub fn allocation(&self) -> u64 {
        self.amount.saturating_add(self.fees_paid.unwrap_or(self.fees_allowed))
    }
}
