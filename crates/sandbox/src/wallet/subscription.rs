use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::message::{Currency, Recurrence, RecurringRequest};

/// Subscriptions a wallet remembers; the oldest goes first.
const MAX_SUBSCRIPTIONS: usize = 1_000;

/// A subscription that the user agreed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    /// Its id, chosen by the wallet.
    pub id: String,
    pub service: PublicKey,
    /// Most that the user pays each time, in [`Self::currency`].
    pub amount: u64,
    /// The unit of [`Self::amount`].
    pub currency: Currency,
    pub recurrence: Recurrence,
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default)]
    pub payments: u32,
    #[serde(default)]
    pub closed: Option<Closed>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    pub by_service: bool,
    pub reason: Option<String>,
}

/// The terms on which a user agrees to a subscription; by default those of the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Another amount than was asked.
    pub amount: Option<u64>,
}

impl Subscription {
    pub(super) fn agreed(id: String, service: PublicKey, request: &RecurringRequest, terms: &Agreement) -> Self {
        Self {
            id,
            service,
            amount: terms.amount.unwrap_or(request.amount),
            currency: request.currency.clone(),
            recurrence: request.recurrence.clone(),
            description: request.description.clone(),
            payments: 0,
            closed: None,
        }
    }

    pub const fn is_open(&self) -> bool {
        self.closed.is_none()
    }

    pub(super) fn remember(all: &mut Vec<Self>, subscription: Self) {
        if let Some(known) = all.iter_mut().find(|known| known.id == subscription.id) {
            *known = subscription;
            return;
        }
        if all.len() >= MAX_SUBSCRIPTIONS {
            all.remove(0);
        }
        all.push(subscription);
    }
}
