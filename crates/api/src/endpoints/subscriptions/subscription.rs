//! A subscription, in responses.

use serde::Serialize;
use usher_engine::event_data::AuthorizedRecurrence;
use usher_engine::operations::SubscriptionView;
use utoipa::ToSchema;

/// A subscription.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SubscriptionInfo)]
pub(crate) struct Subscription {
    /// Its id, chosen by the user's wallet.
    #[schema(example = "0b9c8a53-2d5f-4c5e-9d1c-0f3f9a8d2f10")]
    subscription_id: String,
    /// Who pays.
    #[schema(example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e")]
    main_key: String,
    /// `active`, `closed_by_user`, `closed_by_provider`, `completed` (all agreed payments were made) or `ended` (no
    /// further payment is due).
    #[schema(example = "active")]
    state: &'static str,
    /// Why it was closed, in the words of the user's wallet.
    #[schema(example = json!(null))]
    reason: Option<String>,
    /// What it is for.
    #[schema(example = "Membership")]
    description: String,
    /// Of each payment, as you requested: millisats, sats, or the minor unit of `currency`.
    #[schema(example = 10000)]
    amount: u64,
    /// `millisats`, `sats`, or the code of a currency (ISO 4217).
    #[schema(example = "millisats")]
    currency: String,
    /// The most of each payment in millisats, as the user authorized: requests for more are refused.
    #[schema(example = 10000)]
    authorized_amount: u64,
    authorized_recurrence: AuthorizedRecurrence,
    /// Whether the service asks for each due payment.
    #[schema(example = true)]
    auto_charge: bool,
    /// How many payments were made.
    #[schema(example = 3)]
    payments_made: u32,
    /// With `auto_charge`: the due date that is charged next or now, in Unix seconds.
    #[schema(example = 1735689600)]
    next_payment_due: Option<u64>,
    /// When the user agreed, in Unix seconds.
    #[schema(example = 1732137600)]
    created_at: u64,
    /// When it ended, in Unix seconds.
    #[schema(example = json!(null))]
    ended_at: Option<u64>,
    /// Your own reference.
    #[schema(example = json!(null))]
    request_id: Option<String>,
}

impl From<SubscriptionView> for Subscription {
    fn from(view: SubscriptionView) -> Self {
        Self {
            subscription_id: view.subscription_id,
            main_key: view.main_key.to_hex(),
            state: view.state.as_str(),
            reason: view.reason,
            description: view.description,
            amount: view.amount,
            currency: view.currency.map_or_else(|| "millisats".to_owned(), |currency| currency.to_string()),
            authorized_amount: view.authorized_amount,
            authorized_recurrence: (&view.recurrence).into(),
            auto_charge: view.auto_charge,
            payments_made: view.payments_made,
            next_payment_due: view.next_payment_due,
            created_at: view.created_at,
            ended_at: view.ended_at,
            request_id: view.reference,
        }
    }
}
