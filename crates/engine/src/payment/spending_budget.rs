//! The budget of the service's own Lightning backend (`wallet.daily_budget_millisats`, `wallet.max_fee_percent`).
//!
//! A payment takes its allocation of the budget before it is committed, so payments that start at the same time cannot exceed
//! it together:
//!
//! | payment | its allocation |
//! | --- | --- |
//! | not over | the amount and the largest allowed fee |
//! | paid | the amount and the fee that the backend reports (the largest allowed one if it reports none), for 24 hours |
//! | over, outcome unknown | the amount and the largest allowed fee, for 24 hours |
//! | over, definitely not paid | nothing |
//!
//! A payment's allocation follows from its state ([`Spending`]), and it stays open until its allocation has left the budget. So
//! after a crash the start computes all allocations from the open operations; nothing else is stored.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::kernel::observer::{CommittedStep, Observer};
use crate::operations::{BUDGET_WINDOW, Operation, Spending};
use crate::ports::OpenOperation;
use crate::{StreamId, UnixMillis};

/// When to ask again if the budget is taken by payments that are not over.
const UNTIL_A_PAYMENT_ENDS: Duration = Duration::from_secs(60);

/// Limits on what the Lightning backend spends. The default: no budget, and no fee is set aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpendingRules {
    /// Most millisats within 24 hours, fees included (`wallet.daily_budget_millisats`); `None` is no limit.
    pub daily_budget: Option<u64>,
    /// The largest fee of a payment, in percent of its amount (`wallet.max_fee_percent`).
    pub max_fee_percent: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BudgetError {
    TooLarge {
        /// The budget in millisats.
        budget: u64,
        /// The largest allowed fee in millisats.
        fee: u64,
    },
    Exhausted {
        retry_after: Duration,
    },
}

pub(crate) struct SpendingBudget {
    rules: SpendingRules,
    allocations: Mutex<Allocations>,
}

#[derive(Default)]
struct Allocations {
    by_payment: HashMap<StreamId, Allocation>,
    /// Allocations that leave the budget, by when.
    leaving: BTreeSet<(UnixMillis, StreamId)>,
    /// Their sum in millisats.
    total: u128,
}

#[derive(Clone, Copy)]
struct Allocation {
    /// The revision of the operation that it is of; 0 until it is committed.
    revision: u64,
    /// Millisats.
    amount: u64,
    until: Option<UnixMillis>,
}

impl SpendingBudget {
    pub(crate) fn new(rules: SpendingRules) -> Self {
        Self { rules, allocations: Mutex::default() }
    }

    /// The largest allowed fee for an amount, both in millisats, rounded up.
    pub(crate) fn largest_fee(&self, amount: u64) -> u64 {
        let fee = (u128::from(amount) * u128::from(self.rules.max_fee_percent)).div_ceil(100);
        u64::try_from(fee).unwrap_or(u64::MAX)
    }

    pub(crate) fn reserve(
        self: &Arc<Self>,
        id: StreamId,
        spending: &Spending,
        now: UnixMillis,
    ) -> Result<Reservation, BudgetError> {
        let reservation = Reservation { budget: Arc::clone(self), id, at: now };
        let Some(budget) = self.rules.daily_budget else { return Ok(reservation) };
        let needed = spending.allocation();
        if needed > budget {
            return Err(BudgetError::TooLarge { budget, fee: spending.fees_allowed });
        }
        let mut allocations = self.allocations.lock();
        allocations.forget_past(now);
        let excess = (allocations.total + u128::from(needed)).saturating_sub(u128::from(budget));
        if excess > 0 {
            return Err(BudgetError::Exhausted { retry_after: allocations.time_until_free(excess, now) });
        }
        allocations.put(id, Some(Allocation { revision: 0, amount: needed, until: None }));
        Ok(reservation)
    }

    pub(crate) fn update(&self, id: StreamId, revision: u64, spending: &Spending, now: UnixMillis) {
        if self.rules.daily_budget.is_none() {
            return;
        }
        let mut allocations = self.allocations.lock();
        // The later commit wins, whichever arrives here first.
        if allocations.by_payment.get(&id).is_none_or(|allocation| allocation.revision <= revision) {
            allocations.put(id, Some(Allocation { revision, amount: spending.allocation(), until: spending.until }));
        }
        allocations.forget_past(now);
    }

    #[cfg(test)]
    fn total(&self) -> u128 {
        self.allocations.lock().total
    }
}

impl Observer for SpendingBudget {
    fn restored(&self, open: &OpenOperation, read: Option<(u64, &Operation)>, now: UnixMillis) {
        if let Some((revision, operation)) = read
            && let Some(spending) = operation.spending()
        {
            self.update(open.id, revision, &spending, now);
        }
    }

    fn committed(&self, step: &CommittedStep<'_>) {
        let Some(spending) = step.operation.spending() else { return };
        self.update(step.id, step.head.revision, &spending, step.now);
        // The step that reports the payment, and no later one.
        if let Some(fee) = spending.fees_paid.filter(|fee| *fee > spending.fees_allowed && step.has_events) {
            tracing::warn!(
                stream_id = %step.id,
                amount = spending.amount,
                fee,
                largest_allowed_fee = spending.fees_allowed,
                "the Lightning backend paid a higher fee than wallet.max_fee_percent allows: limit fees in its own settings"
            );
        }
    }
}

impl Allocations {
    fn put(&mut self, id: StreamId, allocation: Option<Allocation>) {
        let before = match allocation {
            Some(allocation) => self.by_payment.insert(id, allocation),
            None => self.by_payment.remove(&id),
        };
        if let Some(before) = before {
            self.total = self.total.saturating_sub(u128::from(before.amount));
            if let Some(until) = before.until {
                self.leaving.remove(&(until, id));
            }
        }
        if let Some(allocation) = allocation {
            self.total += u128::from(allocation.amount);
            self.leaving.extend(allocation.until.map(|until| (until, id)));
        }
    }

    fn forget_past(&mut self, now: UnixMillis) {
        while let Some((until, id)) = self.leaving.first().copied()
            && until <= now
        {
            self.put(id, None);
        }
    }

    fn time_until_free(&self, excess: u128, now: UnixMillis) -> Duration {
        let mut freed = 0;
        for (until, id) in &self.leaving {
            freed += self.by_payment.get(id).map_or(0, |allocation| u128::from(allocation.amount));
            if freed >= excess {
                return until.since(now).max(Duration::from_secs(1));
            }
        }
        UNTIL_A_PAYMENT_ENDS
    }
}

/// The allocation of a payment that is being committed. If the commit fails, the next start may find it: the allocation stays.
pub(crate) struct Reservation {
    budget: Arc<SpendingBudget>,
    id: StreamId,
    at: UnixMillis,
}

impl Reservation {
    pub(crate) fn release(self) {
        self.settle(None);
    }

    fn settle(&self, until: Option<UnixMillis>) {
        let mut allocations = self.budget.allocations.lock();
        if let Some(allocation) = allocations.by_payment.get(&self.id).copied()
            && allocation.revision == 0
        {
            allocations.put(self.id, until.map(|until| Allocation { until: Some(until), ..allocation }));
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.settle(Some(self.at.plus(BUDGET_WINDOW)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::fixtures::{NOW, stream};

    fn budget(millisats: u64) -> Arc<SpendingBudget> {
        Arc::new(SpendingBudget::new(SpendingRules { daily_budget: Some(millisats), max_fee_percent: 5 }))
    }

    fn spending(amount: u64, until: Option<UnixMillis>) -> Spending {
        Spending { amount, fees_allowed: 0, fees_paid: None, until }
    }

    fn later(secs: u64) -> UnixMillis {
        NOW.plus(Duration::from_secs(secs))
    }

    fn retry_after(result: Result<Reservation, BudgetError>) -> u64 {
        match result {
            Err(BudgetError::Exhausted { retry_after }) => retry_after.as_secs(),
            Err(error) => panic!("{error:?}"),
            Ok(_) => panic!("there was room"),
        }
    }

    #[test]
    fn fees_are_rounded_up_and_never_overflow() {
        let budget = budget(1);
        assert_eq!([0, 1, 20, 21, 1_000].map(|amount| budget.largest_fee(amount)), [0, 1, 1, 2, 50]);
        let all = SpendingBudget::new(SpendingRules { daily_budget: None, max_fee_percent: 100 });
        assert_eq!(all.largest_fee(u64::MAX), u64::MAX);
    }

    #[test]
    fn reserved_shares_stay_within_the_budget_and_expire() {
        let budget = budget(100);
        budget.reserve(stream(1), &spending(60, None), NOW).unwrap();
        budget.update(stream(1), 1, &spending(60, None), NOW);
        assert_eq!(retry_after(budget.reserve(stream(2), &spending(41, None), NOW)), 60, "it may end at any time");
        budget.reserve(stream(2), &spending(40, None), NOW).unwrap();
        budget.update(stream(2), 2, &spending(30, Some(later(100))), NOW);
        budget.update(stream(1), 2, &spending(50, Some(later(200))), NOW);
        assert_eq!(retry_after(budget.reserve(stream(3), &spending(21, None), NOW)), 100);
        assert_eq!(retry_after(budget.reserve(stream(3), &spending(51, None), later(50))), 150);
        budget.reserve(stream(3), &spending(50, None), later(100)).unwrap();
        assert_eq!(budget.total(), 100);
        let too_large = budget.reserve(stream(4), &spending(101, None), later(500)).err();
        assert_eq!(too_large, Some(BudgetError::TooLarge { budget: 100, fee: 0 }));
    }

    #[test]
    fn share_is_released_only_if_the_payment_certainly_did_not_start() {
        let budget = budget(100);
        budget.reserve(stream(1), &spending(100, None), NOW).unwrap().release();
        assert_eq!(budget.total(), 0);
        drop(budget.reserve(stream(2), &spending(100, None), NOW).unwrap());
        assert_eq!(retry_after(budget.reserve(stream(3), &spending(1, None), NOW)), 24 * 3600);
        budget.reserve(stream(3), &spending(1, None), NOW.plus(BUDGET_WINDOW)).unwrap();
    }

    #[test]
    fn outdated_update_is_ignored() {
        let budget = budget(100);
        drop(budget.reserve(stream(1), &spending(100, None), NOW).unwrap());
        // Not paid: the allocation is nothing, and is remembered as such.
        budget.update(stream(1), 3, &spending(0, Some(later(100))), NOW);
        budget.update(stream(1), 2, &spending(100, None), NOW);
        assert_eq!(budget.total(), 0);
    }

    #[test]
    fn without_a_budget_nothing_is_recorded() {
        let budget = Arc::new(SpendingBudget::new(SpendingRules::default()));
        budget.reserve(stream(1), &spending(u64::MAX, None), NOW).unwrap();
        budget.update(stream(1), 1, &spending(u64::MAX, None), NOW);
        assert_eq!(budget.total(), 0);
    }

    #[test]
    fn zero_budget_allows_no_payment() {
        let result = budget(0).reserve(stream(1), &spending(1, None), NOW).err();
        assert_eq!(result, Some(BudgetError::TooLarge { budget: 0, fee: 0 }));
    }
}
