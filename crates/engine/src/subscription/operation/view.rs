use serde::Serialize;
use usher_protocol::PublicKey;
use utoipa::ToSchema;

use super::{Subscription, SubscriptionState};
use crate::event_data::AuthorizedRecurrence;

/// A subscription.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = SubscriptionInfo)]
pub struct SubscriptionView {
    /// Its id, chosen by the user's wallet.
    #[schema(example = "0b9c8a53-2d5f-4c5e-9d1c-0f3f9a8d2f10")]
    pub subscription_id: String,
    /// Who pays.
    #[schema(value_type = String, example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e")]
    pub main_key: PublicKey,
    /// `active`, `closed_by_user`, `closed_by_provider`, `completed` (all agreed payments were made) or `ended` (no
    /// further payment is due).
    #[schema(value_type = String, example = "active")]
    pub state: SubscriptionState,
    /// Why it was closed, in the words of the user's wallet.
    #[schema(example = json!(null))]
    pub reason: Option<String>,
    /// What it is for.
    #[schema(example = "Membership")]
    pub description: String,
    /// Of each payment, as you requested: millisats, sats, or the minor unit of `currency`.
    #[schema(example = 10000)]
    pub amount: u64,
    /// `millisats`, `sats`, or the code of a currency (ISO 4217).
    #[schema(example = "millisats")]
    pub currency: String,
    /// The most of each payment in millisats, as the user authorized: requests for more are refused.
    #[schema(example = 10000)]
    pub authorized_amount: u64,
    #[expect(missing_docs, reason = "the response needs no description of it")]
    pub authorized_recurrence: AuthorizedRecurrence,
    /// Whether the service asks for each due payment.
    #[schema(example = true)]
    pub auto_charge: bool,
    /// How many payments were made.
    #[schema(example = 3)]
    pub payments_made: u32,
    /// With `auto_charge`: the due date that is charged next or now, in Unix seconds.
    #[schema(example = 1735689600)]
    pub next_payment_due: Option<u64>,
    /// When the user agreed, in Unix seconds.
    #[schema(example = 1732137600)]
    pub created_at: u64,
    /// When it ended, in Unix seconds.
    #[schema(example = json!(null))]
    pub ended_at: Option<u64>,
    /// Your own reference.
    #[schema(example = json!(null))]
    pub request_id: Option<String>,
}

impl Subscription {
    /// The subscription as the API shows it.
    pub fn view(&self) -> SubscriptionView {
        let price = self.agreement.price;
        SubscriptionView {
            subscription_id: self.agreement.subscription_id.clone(),
            main_key: self.user_keys.main_key(),
            state: self.state,
            reason: self.reason.clone(),
            amount: price.map_or(self.agreement.amount, |price| price.amount),
            currency: price.map_or_else(|| "millisats".to_owned(), |price| price.currency.to_string()),
            authorized_amount: self.agreement.authorized_amount,
            authorized_recurrence: (&self.agreement.recurrence).into(),
            description: self.agreement.description.clone(),
            request_id: self.agreement.reference.clone(),
            auto_charge: self.agreement.auto_charge,
            payments_made: self.payments_made,
            next_payment_due: self.dates.due().filter(|_| self.ended_at.is_none()),
            created_at: self.created_at.secs(),
            ended_at: self.ended_at,
        }
    }
}
