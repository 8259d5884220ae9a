//! Recurring payments and subscriptions (docs/protocol.md, Payments).

use serde::{Deserialize, Serialize};

use super::{Currency, ExchangeRate, Sensitive};
use crate::calendar::Calendar;
use crate::{serde_helpers, text};

/// Kind 28005: asks the user to agree to a subscription.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "payment_type", rename = "Recurring")]
pub struct RecurringRequest {
    /// The amount of each payment, in [`Self::currency`].
    pub amount: u64,
    /// The unit of [`Self::amount`].
    pub currency: Currency,
    /// The schedule.
    pub recurrence: Recurrence,
    /// The rate at the time of the request; none for millisats.
    #[serde(default)]
    pub current_exchange_rate: Option<ExchangeRate>,
    /// Unix seconds until which a reply is valid.
    #[serde(with = "serde_helpers::timestamp")]
    pub expires_at: u64,
    /// Lets the wallet agree without asking; not used by this service.
    #[serde(default)]
    pub auth_token: Option<Sensitive>,
    /// What the subscription is for.
    #[serde(default, deserialize_with = "serde_helpers::optional_words::<_, { text::MAX_DESCRIPTION_CHARS }>")]
    pub description: Option<String>,
    /// Identifies the request in the reply.
    #[serde(deserialize_with = "serde_helpers::id")]
    pub request_id: String,
}

/// When, and how often, a subscription is paid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recurrence {
    /// Unix seconds after which no payment falls due.
    #[serde(default, with = "serde_helpers::optional_timestamp")]
    pub until: Option<u64>,
    /// The due dates.
    pub calendar: Calendar,
    /// After how many payments it ends.
    #[serde(default)]
    pub max_payments: Option<u32>,
    /// Unix seconds of the first payment.
    #[serde(with = "serde_helpers::timestamp")]
    pub first_payment_due: u64,
}

impl Recurrence {
    /// The due date after `previous`, a number (from 1) and Unix seconds; without one, the first:
    /// [`Self::first_payment_due`], regardless of the calendar. `None` when no further payment falls due.
    pub fn next_due(&self, previous: Option<(u32, u64)>) -> Option<(u32, u64)> {
        let (number, due) = match previous {
            None => (1, self.first_payment_due),
            Some((number, due)) => (number.checked_add(1)?, self.calendar.next_after(due)?),
        };
        let allowed = self.max_payments.is_none_or(|max| number <= max) && self.until.is_none_or(|until| due <= until);
        allowed.then_some((number, due))
    }
}

/// Kind 28006: the user's reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecurringResponse {
    /// The request.
    #[serde(deserialize_with = "serde_helpers::id")]
    pub request_id: String,
    /// The decision.
    pub status: RecurringStatus,
}

/// The decision of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum RecurringStatus {
    /// The user agreed.
    Confirmed {
        /// The subscription's id, chosen by the wallet.
        #[serde(deserialize_with = "serde_helpers::id")]
        subscription_id: String,
        /// The amount of each payment; may be less than requested.
        authorized_amount: u64,
        /// The unit of the amount.
        authorized_currency: Currency,
        /// The schedule; may differ from the requested one.
        authorized_recurrence: Recurrence,
    },
    /// The user refused.
    Rejected {
        /// The reason; at most [`text::MAX_REASON_CHARS`].
        #[serde(default, deserialize_with = "serde_helpers::optional_words::<_, { text::MAX_REASON_CHARS }>")]
        reason: Option<String>,
    },
}

/// Kind 28007: the author ends a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloseSubscription {
    /// The subscription.
    #[serde(deserialize_with = "serde_helpers::id")]
    pub subscription_id: String,
    /// The reason; at most [`text::MAX_REASON_CHARS`].
    #[serde(default, deserialize_with = "serde_helpers::optional_words::<_, { text::MAX_REASON_CHARS }>")]
    pub reason: Option<String>,
    /// Which side ends it, as claimed by the author; the event's signature decides.
    pub by_service: bool,
}
