//! A payment's allocation of the Lightning backend's budget.

use std::fmt;
use std::time::Duration;

use crate::UnixMillis;

/// A budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// That of the Lightning backend.
    Service,
    /// That of whoever asks: the `daily_budget_millisats` of their key.
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

/// What a payment has spent, or may spend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// Millisats without fees; 0 when it is certain that nothing was paid.
    pub amount: u64,
    /// The largest fee, in millisats, that the configuration allowed when the payment started.
    pub fees_allowed: u64,
    /// The fee, in millisats, that the backend reports.
    pub fees_paid: Option<u64>,
    /// Until when it counts towards the budget; `None` while the payment is not over.
    pub until: Option<UnixMillis>,
}

impl Spending {
    /// Its allocation of the budget, in millisats. A fee that is not reported may have been the largest allowed one.
    pub fn allocation(&self) -> u64 {
        self.amount.saturating_add(self.fees_paid.unwrap_or(self.fees_allowed))
    }
}
