use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::calendar::Calendar;
use usher_protocol::message::{Currency, Recurrence, RecurringRequest};

/// Subscriptions a wallet remembers; the oldest goes first.
const MAX_SUBSCRIPTIONS: usize = 1_000;

/// A subscription that the user agreed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    /// Its id, chosen by the wallet.
    pub id: String,
    /// The key that requested it.
    pub service: PublicKey,
    /// Most that the user pays each time, in [`Self::currency`].
    pub amount: u64,
    /// The unit of [`Self::amount`].
    pub currency: Currency,
    /// When it is paid.
    pub recurrence: Recurrence,
    /// What it is for.
    #[serde(default)]
    pub description: Option<String>,
    /// Payments made.
    #[serde(default)]
    pub payments: u32,
    /// Whether, and by whom, it was closed.
    #[serde(default)]
    pub closed: Option<Closed>,
}

/// The end of a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    /// Whether the service closed it, and not the user.
    pub by_service: bool,
    /// Why, for people.
    pub reason: Option<String>,
}

/// The terms on which a user agrees to a subscription; by default those of the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// The subscription's id; by default one that nobody can guess.
    pub subscription_id: Option<String>,
    /// Another amount than was asked.
    pub amount: Option<u64>,
    /// Another currency than was asked.
    pub currency: Option<Currency>,
    /// Another recurrence than was asked.
    pub recurrence: Option<Recurrence>,
    /// How the calendar is written.
    pub spelling: CalendarSpelling,
}

/// How a wallet writes a calendar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CalendarSpelling {
    /// With fields, as deployed wallets do: `*-*-01 00:00:00`.
    #[default]
    Expanded,
    /// With fields, without leading zeros: `*-*-1 0:0:0`.
    WithoutZeros,
    /// By the plain word, where there is one: `monthly`.
    Word,
}

impl CalendarSpelling {
    pub(super) fn write(self, calendar: &Calendar) -> String {
        match self {
            Self::Expanded => calendar.expanded().to_owned(),
            Self::Word => calendar.to_string(),
            Self::WithoutZeros => without_zeros(calendar.expanded()),
        }
    }
}

/// Each number without its leading zeros.
fn without_zeros(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut in_number = false;
    while let Some(c) = chars.next() {
        let leads = c == '0' && !in_number && chars.peek().is_some_and(char::is_ascii_digit);
        in_number = c.is_ascii_digit() && !leads;
        if !leads {
            short.push(c);
        }
    }
    short
}

impl Subscription {
    pub(super) fn agreed(id: String, service: PublicKey, request: &RecurringRequest, terms: &Agreement) -> Self {
        Self {
            id,
            service,
            amount: terms.amount.unwrap_or(request.amount),
            currency: terms.currency.clone().unwrap_or_else(|| request.currency.clone()),
            recurrence: terms.recurrence.clone().unwrap_or_else(|| request.recurrence.clone()),
            description: request.description.clone(),
            payments: 0,
            closed: None,
        }
    }

    /// Whether it is open.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_gives_the_same_calendar() {
        for word in ["minutely", "hourly", "daily", "weekly", "monthly", "quarterly", "semiannually", "yearly"] {
            let calendar: Calendar = word.parse().unwrap();
            for spelling in [CalendarSpelling::Expanded, CalendarSpelling::WithoutZeros, CalendarSpelling::Word] {
                assert_eq!(spelling.write(&calendar).parse::<Calendar>().unwrap(), calendar, "{spelling:?}");
            }
        }
        assert_eq!(without_zeros("*-01,04,07,10-01 00:00:00"), "*-1,4,7,10-1 0:0:0");
    }
}
