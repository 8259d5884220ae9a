use std::time::Duration;

use usher_protocol::bolt11::Network;

use super::spending_budget::SpendingRules;

/// The settings of payments and subscriptions.
#[derive(Clone, Debug)]
pub struct PaymentRules {
    /// The network of invoices (`wallet.network`).
    pub network: Network,
    /// The largest payment in millisats (`limits.max_amount_millisats`).
    pub max_amount: u64,
    /// The intervals after which a failed charge is retried (`subscriptions.retry_hours`).
    pub retry_after: Vec<Duration>,
    /// Most regular look-ups of open invoices per second (`wallet.lookups_per_second`).
    pub look_ups_per_second: u64,
    /// How long payments stay in the books after their last change (`payments.records_days`).
    pub records_kept: Duration,
    /// Whether the service has a Lightning address (`payments.lightning_address`).
    pub has_lightning_address: bool,
    /// The limits of the Lightning backend's spending.
    pub spending: SpendingRules,
}
