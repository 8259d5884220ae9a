use usher_protocol::PublicKey;
use usher_protocol::message::Recurrence;

use super::{Subscription, SubscriptionState};
use crate::price::PriceUnit;

/// A subscription as the API shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionView {
    /// The id chosen by the wallet.
    pub subscription_id: String,
    /// The payer.
    pub main_key: PublicKey,
    /// Its state.
    pub state: SubscriptionState,
    /// Why it was closed.
    pub reason: Option<String>,
    /// The amount of each payment, as requested: millisats, or the unit of `currency`.
    pub amount: u64,
    /// The currency, if it was not requested in millisats.
    pub currency: Option<PriceUnit>,
    /// The maximum of each payment in millisats, as authorized.
    pub authorized_amount: u64,
    /// The schedule, as authorized.
    pub recurrence: Recurrence,
    /// The description.
    pub description: String,
    /// The app's own reference.
    pub reference: Option<String>,
    /// Whether the service charges each due date automatically.
    pub auto_charge: bool,
    /// The number of payments made.
    pub payments_made: u32,
    /// Unix seconds of the due date charged now or next.
    pub next_payment_due: Option<u64>,
    /// Unix seconds of the agreement.
    pub created_at: u64,
    /// Unix seconds of the end.
    pub ended_at: Option<u64>,
}

impl Subscription {
    /// The subscription as the API shows it.
    pub fn view(&self) -> SubscriptionView {
        SubscriptionView {
            subscription_id: self.agreement.subscription_id.clone(),
            main_key: self.user_keys.main_key(),
            state: self.state,
            reason: self.reason.clone(),
            amount: self.agreement.price.map_or(self.agreement.amount, |price| price.amount),
            currency: self.agreement.price.map(|price| price.currency),
            authorized_amount: self.agreement.authorized_amount,
            recurrence: self.agreement.recurrence.clone(),
            description: self.agreement.description.clone(),
            reference: self.agreement.reference.clone(),
            auto_charge: self.agreement.auto_charge,
            payments_made: self.payments_made,
            next_payment_due: self.dates.due().filter(|_| self.ended_at.is_none()),
            created_at: self.created_at.secs(),
            ended_at: self.ended_at,
        }
    }
}
