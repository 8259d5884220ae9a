use std::time::Duration;

use usher_protocol::PublicKey;
use usher_protocol::bolt11::Network;

use super::spending_budget::SpendingRules;

/// The rules of payments and subscriptions.
#[derive(Clone, Debug)]
pub struct PaymentRules {
    /// The network of invoices (`wallet.network`).
    pub network: Network,
    /// The largest payment in millisats (`limits.max_amount_millisats`).
    pub max_amount: u64,
    /// After how long a failed charge is tried again, one after the other (`subscriptions.retry_hours`).
    pub retry_after: Vec<Duration>,
    /// Most look-ups of open invoices a second that have no particular reason (`wallet.lookups_per_second`).
    pub look_ups_per_second: u64,
    /// How long payments stay in the books after they were last changed (`payments.records_days`).
    pub records_kept: Duration,
    /// Whether the service has a Lightning address (`payments.lightning_address`).
    pub has_lightning_address: bool,
    /// Who may approve payments on the page for that (`wallet.approvers`); without anybody there is no page.
    pub approvers: Vec<PublicKey>,
    /// What the Lightning backend may spend.
    pub spending: SpendingRules,
}
