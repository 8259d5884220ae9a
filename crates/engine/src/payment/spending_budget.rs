//! The budgets of the service's Lightning backend (`wallet.daily_budget_millisats`, `wallet.max_fee_percent`) and of
//! clients with a budget of their own.
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
//! A payment's allocation follows from its state ([`Spending`]), and the operation stays open until its allocation has
//! left the budget. So the start computes all allocations from the open operations, also after a crash; no other record
//! is stored.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::kernel::observer::{CommittedStep, Observer};
use crate::machine::{BUDGET_WINDOW, Budget, Spending};
use crate::ports::{OpenOperation, Version};
use crate::registry::Operation;
use crate::{Origin, Requester, StreamId, UnixMillis};

/// `Retry-After` if the budget is allocated to payments in progress.
const UNTIL_A_PAYMENT_ENDS: Duration = Duration::from_secs(60);

/// Limits on the spending of the Lightning backend. The default: no budget, no approvals, and no allocation for fees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpendingRules {
    /// The most millisats within 24 hours, fees included (`wallet.daily_budget_millisats`); `None` is no limit.
    pub daily_budget: Option<u64>,
    /// The largest fee of a payment, in percent of its amount (`wallet.max_fee_percent`).
    pub max_fee_percent: u64,
    /// Payments that may cost more millisats than this, with their fee, need an approval
    /// (`wallet.approval_above_millisats`). `None`: no payment does.
    pub approval_above: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BudgetError {
    TooLarge {
        of: Budget,
        /// The budget in millisats.
        budget: u64,
        /// The largest allowed fee in millisats.
        fee: u64,
    },
    Exhausted {
        of: Budget,
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
    /// Allocations by the time at which they leave the budget.
    leaving: BTreeSet<(UnixMillis, StreamId)>,
    /// Their sum in millisats.
    total: u128,
    /// The sums by client.
    by_origin: HashMap<Origin, u128>,
}

#[derive(Clone, Copy)]
struct Allocation {
    /// The revision of the operation; 0 until it is committed.
    revision: u64,
    /// Millisats.
    amount: u64,
    /// The client that started the payment.
    origin: Option<Origin>,
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

    pub(crate) const fn has_approval_limit(&self) -> bool {
        self.rules.approval_above.is_some()
    }

    pub(crate) fn needs_approval(&self, spending: &Spending) -> bool {
        self.rules.approval_above.is_some_and(|above| spending.allocation() > above)
    }

    pub(crate) const fn is_limited(&self) -> bool {
        self.rules.approval_above.is_some() || self.rules.daily_budget.is_some()
    }

    pub(crate) fn reserve(
        self: &Arc<Self>,
        requester: &Requester,
        id: StreamId,
        spending: &Spending,
        now: UnixMillis,
    ) -> Result<Reservation, BudgetError> {
        let reservation = Reservation { budget: Arc::clone(self), id, at: now };
        let origin = requester.origin();
        if !self.counts(origin) {
            return Ok(reservation);
        }
        let needed = spending.allocation();
        let service = self.rules.daily_budget.map(|budget| (Budget::Service, budget, None));
        let client = requester.spending_limit().map(|budget| (Budget::Client, budget, origin));
        let mut allocations = self.allocations.lock();
        allocations.forget_past(now);
        for (of, budget, origin) in service.into_iter().chain(client) {
            if needed > budget {
                return Err(BudgetError::TooLarge { of, budget, fee: spending.fees_allowed });
            }
            let spent = origin.map_or(allocations.total, |origin| allocations.of(origin));
            let excess = (spent + u128::from(needed)).saturating_sub(u128::from(budget));
            if excess > 0 {
                let retry_after = allocations.time_until_free(excess, origin, now);
                return Err(BudgetError::Exhausted { of, retry_after });
            }
        }
        allocations.put(id, Some(Allocation { revision: 0, amount: needed, origin, until: None }));
        Ok(reservation)
    }

    /// Whether the spending of payments of this origin is limited.
    const fn counts(&self, origin: Option<Origin>) -> bool {
        self.rules.daily_budget.is_some() || origin.is_some()
    }

    pub(crate) fn update(&self, id: StreamId, version: Version, spending: &Spending, now: UnixMillis) {
        let Version { revision, origin } = version;
        if !self.counts(origin) {
            return;
        }
        let mut allocations = self.allocations.lock();
        // The later commit wins, whatever the order of arrival.
        if allocations.by_payment.get(&id).is_none_or(|allocation| allocation.revision <= revision) {
            let amount = spending.allocation();
            allocations.put(id, Some(Allocation { revision, amount, origin, until: spending.until }));
        }
        allocations.forget_past(now);
    }

    #[cfg(test)]
    fn total(&self) -> u128 {
        self.allocations.lock().total
    }
}

impl Observer for SpendingBudget {
    fn restored(&self, open: &OpenOperation, read: Option<(Version, &Operation)>, now: UnixMillis) {
        if let Some((version, operation)) = read
            && let Some(spending) = operation.spending()
        {
            self.update(open.id, version, &spending, now);
        }
    }

    fn committed(&self, step: &CommittedStep<'_>) {
        let Some(spending) = step.operation.spending() else { return };
        let version = Version { revision: step.head.revision, origin: step.origin };
        self.update(step.id, version, &spending, step.now);
        // Only the step that reports the payment.
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
            if let Some(origin) = before.origin {
                let left = self.of(origin).saturating_sub(u128::from(before.amount));
                if left > 0 {
                    self.by_origin.insert(origin, left)
                } else {
                    self.by_origin.remove(&origin)
                };
            }
            if let Some(until) = before.until {
                self.leaving.remove(&(until, id));
            }
        }
        if let Some(allocation) = allocation {
            self.total += u128::from(allocation.amount);
            if let Some(origin) = allocation.origin {
                *self.by_origin.entry(origin).or_default() += u128::from(allocation.amount);
            }
            self.leaving.extend(allocation.until.map(|until| (until, id)));
        }
    }

    fn of(&self, origin: Origin) -> u128 {
        self.by_origin.get(&origin).copied().unwrap_or_default()
    }

    fn forget_past(&mut self, now: UnixMillis) {
        while let Some((until, id)) = self.leaving.first().copied()
            && until <= now
        {
            self.put(id, None);
        }
    }

    /// For one origin, or in total.
    fn time_until_free(&self, excess: u128, origin: Option<Origin>, now: UnixMillis) -> Duration {
        let mut freed = 0;
        for (until, id) in &self.leaving {
            let allocation = self.by_payment.get(id);
            let counts = |allocation: &&Allocation| origin.is_none() || allocation.origin == origin;
            freed += allocation.filter(counts).map_or(0, |allocation| u128::from(allocation.amount));
            if freed >= excess {
                return until.since(now).max(Duration::from_secs(1));
            }
        }
        UNTIL_A_PAYMENT_ENDS
    }
}

/// The allocation of a payment that is being committed. It remains if the commit fails, as the next start may find it.
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
    use crate::testing::api_key;

    fn budget(millisats: u64) -> Arc<SpendingBudget> {
        Arc::new(SpendingBudget::new(SpendingRules {
            daily_budget: Some(millisats),
            max_fee_percent: 5,
            approval_above: None,
        }))
    }

    fn spending(amount: u64, until: Option<UnixMillis>) -> Spending {
        Spending { amount, fees_allowed: 0, fees_paid: None, until }
    }

    const fn version(revision: u64) -> Version {
        Version { revision, origin: None }
    }

    fn later(secs: u64) -> UnixMillis {
        NOW.plus(Duration::from_secs(secs))
    }

    fn retry_after(result: Result<Reservation, BudgetError>) -> u64 {
        match result {
            Err(BudgetError::Exhausted { retry_after, .. }) => retry_after.as_secs(),
            Err(error) => panic!("{error:?}"),
            Ok(_) => panic!("there was room"),
        }
    }

    #[test]
    fn fees_are_rounded_up_and_never_overflow() {
        let budget = budget(1);
        assert_eq!([0, 1, 20, 21, 1_000].map(|amount| budget.largest_fee(amount)), [0, 1, 1, 2, 50]);
        let all = SpendingBudget::new(SpendingRules { max_fee_percent: 100, ..SpendingRules::default() });
        assert_eq!(all.largest_fee(u64::MAX), u64::MAX);
    }

    #[test]
    fn reserved_shares_stay_within_the_budget_and_expire() {
        let budget = budget(100);
        budget.reserve(&Requester::Service, stream(1), &spending(60, None), NOW).unwrap();
        budget.update(stream(1), version(1), &spending(60, None), NOW);
        assert_eq!(
            retry_after(budget.reserve(&Requester::Service, stream(2), &spending(41, None), NOW)),
            60,
            "it may end at any time"
        );
        budget.reserve(&Requester::Service, stream(2), &spending(40, None), NOW).unwrap();
        budget.update(stream(2), version(2), &spending(30, Some(later(100))), NOW);
        budget.update(stream(1), version(2), &spending(50, Some(later(200))), NOW);
        assert_eq!(retry_after(budget.reserve(&Requester::Service, stream(3), &spending(21, None), NOW)), 100);
        assert_eq!(retry_after(budget.reserve(&Requester::Service, stream(3), &spending(51, None), later(50))), 150);
        budget.reserve(&Requester::Service, stream(3), &spending(50, None), later(100)).unwrap();
        assert_eq!(budget.total(), 100);
        let too_large = budget.reserve(&Requester::Service, stream(4), &spending(101, None), later(500)).err();
        assert_eq!(too_large, Some(BudgetError::TooLarge { of: Budget::Service, budget: 100, fee: 0 }));
    }

    #[test]
    fn share_is_released_only_if_the_payment_certainly_did_not_start() {
        let budget = budget(100);
        budget.reserve(&Requester::Service, stream(1), &spending(100, None), NOW).unwrap().release();
        assert_eq!(budget.total(), 0);
        drop(budget.reserve(&Requester::Service, stream(2), &spending(100, None), NOW).unwrap());
        assert_eq!(retry_after(budget.reserve(&Requester::Service, stream(3), &spending(1, None), NOW)), 24 * 3600);
        budget.reserve(&Requester::Service, stream(3), &spending(1, None), NOW.plus(BUDGET_WINDOW)).unwrap();
    }

    #[test]
    fn outdated_update_is_ignored() {
        let budget = budget(100);
        drop(budget.reserve(&Requester::Service, stream(1), &spending(100, None), NOW).unwrap());
        // Not paid: the allocation is zero, and stays recorded.
        budget.update(stream(1), version(3), &spending(0, Some(later(100))), NOW);
        budget.update(stream(1), version(2), &spending(100, None), NOW);
        assert_eq!(budget.total(), 0);
    }

    #[test]
    fn without_a_budget_nothing_is_recorded() {
        let budget = Arc::new(SpendingBudget::new(SpendingRules::default()));
        budget.reserve(&Requester::Service, stream(1), &spending(u64::MAX, None), NOW).unwrap();
        budget.update(stream(1), version(1), &spending(u64::MAX, None), NOW);
        assert_eq!(budget.total(), 0);
    }

    #[test]
    fn clients_budget_counts_what_it_has_started() {
        let budget = Arc::new(SpendingBudget::new(SpendingRules::default()));
        let client = |n, limit| api_key(n, |terms| terms.daily_budget_millisats = limit);
        let reserve = |client: &Requester, n, amount| budget.reserve(client, stream(n), &spending(amount, None), NOW);
        let [one, other, unlimited] = [client(1, Some(100)), client(2, Some(100)), client(3, None)];
        let first = reserve(&one, 1, 60).unwrap();
        let of_one = |revision| Version { revision, origin: Some(Origin(1)) };
        budget.update(stream(1), of_one(1), &spending(60, None), NOW);
        reserve(&other, 2, 100).unwrap();
        reserve(&unlimited, 3, 1_000_000).unwrap();
        budget.reserve(&Requester::Service, stream(4), &spending(1_000_000, None), NOW).unwrap();
        assert_eq!(
            reserve(&one, 5, 101).err(),
            Some(BudgetError::TooLarge { of: Budget::Client, budget: 100, fee: 0 })
        );
        assert_eq!(retry_after(reserve(&one, 5, 41)), 60);
        // Paid: it leaves the budget later. Payments of others do not affect it.
        budget.update(stream(1), of_one(2), &spending(60, Some(later(100))), NOW);
        budget.update(stream(2), Version { revision: 1, origin: Some(Origin(2)) }, &spending(100, Some(later(1))), NOW);
        assert_eq!(retry_after(reserve(&one, 5, 41)), 100);
        reserve(&one, 5, 40).unwrap();
        drop(first);
        budget.allocations.lock().forget_past(NOW.plus(BUDGET_WINDOW));
        assert_eq!(budget.allocations.lock().by_origin.len(), 0, "all is forgotten in the end");
    }

    #[test]
    fn zero_budget_allows_no_payment() {
        let result = budget(0).reserve(&Requester::Service, stream(1), &spending(1, None), NOW).err();
        assert_eq!(result, Some(BudgetError::TooLarge { of: Budget::Service, budget: 0, fee: 0 }));
    }
}
