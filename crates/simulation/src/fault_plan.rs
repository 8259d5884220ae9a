//! The faults of a seed, planned in advance.

use std::ops::Range;
use std::time::Duration;

use crate::seeded_decisions::Decisions;
use crate::world::outage::{self, Script};

/// What a run is mostly about. Every kind has some of everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Workload {
    /// Everything now and then.
    #[default]
    Mixed,
    /// Many subscriptions that fall due, and are closed, at the same moments.
    Subscriptions,
    /// Payments by the service's own Lightning backend.
    Paying,
    /// Users who log in at a reusable login, several at once, and some of them twice.
    ReusableLogin,
    /// The disk is full at times.
    Disk,
    /// The clocks are set, in both directions.
    Clocks,
    /// The service, or the receiver of webhooks, is down for days.
    Days,
    Years,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct FaultPlan {
    /// What it is mostly about.
    pub(crate) workload: Workload,
    /// For how long things happen and go wrong; after that all goes well again.
    pub(crate) trouble: Duration,
    /// How much longer it goes on after that.
    pub(crate) recovery: Duration,
    /// What apps and operators ask for.
    pub(crate) calls: u64,
    pub(crate) users: usize,
    /// Times at which the service is killed.
    pub(crate) kills: u64,
    /// The percentage of kills at a critical instant rather than at a random time.
    pub(crate) kills_at_instants: u32,
    pub(crate) restarts: u64,
    /// For how long the service is down, in milliseconds.
    pub(crate) down: Range<u64>,
    /// How long the disk takes for a transaction, in milliseconds.
    pub(crate) disk: Range<u64>,
    /// Times at which the disk takes nothing for a while.
    pub(crate) disk_full: u64,
    /// Times at which a relay is down for a while.
    pub(crate) relay_outages: u64,
    /// Times at which the wallet behind the Lightning backend is away for a while.
    pub(crate) node_outages: u64,
    /// Times at which the receiver of webhooks fails for a while.
    pub(crate) receiver_outages: u64,
    /// How long outages last, in milliseconds.
    pub(crate) outage: Range<u64>,
    /// The percentage of lost messages.
    pub(crate) lost: u32,
    /// The percentage of duplicated messages.
    pub(crate) doubled: u32,
    /// How long a message takes, in milliseconds.
    pub(crate) latency: Range<u64>,
    /// Times at which the clocks are set back.
    pub(crate) set_backs: u64,
    /// Times at which the clocks are set forward, as after a suspend.
    pub(crate) set_forwards: u64,
    /// Times at which the clocks leap ahead by days, and are corrected within ten minutes.
    pub(crate) leaps: u64,
    pub(crate) webhook: bool,
    /// What happens is written down: one operation and one outage.
    pub(crate) script: Option<Script>,
    /// Some payments by the service's own Lightning backend wait for an approval.
    pub(crate) approvals: bool,
}

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

impl FaultPlan {
    /// The plan of an outage: nothing else goes wrong, and all users behave as expected.
    pub(crate) fn of_outage(script: Script) -> Self {
        Self {
            trouble: Duration::from_millis(10 * MINUTE),
            recovery: Duration::from_millis(2 * HOUR),
            users: 1,
            down: outage::DOWN..outage::DOWN + 1,
            disk: 1..20,
            latency: 5..200,
            webhook: true,
            script: Some(script),
            ..Self::default()
        }
    }

    /// Whether users are unpredictable: they refuse, change their minds, or do not reply.
    pub(crate) fn is_troubled(&self) -> bool {
        self.workload != Workload::Years && self.script.is_none()
    }

    pub(crate) fn of(seed: u64, decisions: &mut Decisions) -> Self {
        use Workload::{Clocks, Days, Disk, Mixed, Paying, ReusableLogin, Subscriptions, Years};
        // Seeds in a row are of all kinds.
        let workloads = [Mixed, Subscriptions, Paying, Subscriptions, Paying, Disk, Clocks, Days, ReusableLogin, Years];
        let workload = usize::try_from(seed % 10).ok().and_then(|n| workloads.get(n)).copied().unwrap_or(Mixed);
        // Days and years take long.
        let workload = if matches!(workload, Days | Years) && seed % 20 >= 10 { Mixed } else { workload };
        let slow_disk = decisions.percent(40) || matches!(workload, Subscriptions | ReusableLogin);
        let mut plan = Self {
            workload,
            trouble: Duration::from_millis(decisions.number(10 * MINUTE..25 * MINUTE)),
            recovery: Duration::from_millis(3 * HOUR),
            calls: decisions.number(8..24),
            users: usize::try_from(decisions.number(2..5)).unwrap_or(2),
            kills: decisions.number(0..5),
            kills_at_instants: 60,
            restarts: decisions.number(0..3),
            down: 50..2 * MINUTE,
            disk: if slow_disk { 1..2 * SECOND } else { 1..20 },
            disk_full: u64::from(decisions.percent(20)),
            relay_outages: decisions.number(0..3),
            node_outages: decisions.number(0..3),
            receiver_outages: decisions.number(0..3),
            outage: SECOND..3 * MINUTE,
            lost: decisions.pick(&[0, 0, 1, 5], 0),
            doubled: decisions.pick(&[0, 2, 10], 0),
            latency: 5..decisions.pick(&[200, SECOND, 5 * SECOND], SECOND),
            webhook: decisions.percent(80),
            approvals: matches!(seed % 20, 0 | 4 | 12),
            ..Self::default()
        };
        match workload {
            Mixed => {}
            Subscriptions | ReusableLogin => plan.calls += 12,
            Paying => {
                plan.node_outages += 1;
                plan.kills += 1;
                plan.restarts += 1;
            }
            Disk => {
                plan.disk_full = decisions.number(1..4);
                plan.webhook = true;
                plan.kills = 0;
            }
            Clocks => {
                plan.set_backs = decisions.number(1..3);
                plan.leaps = decisions.number(0..3);
                // A leap is told from a step of hours only by times before it: not both at once.
                plan.set_forwards = if plan.leaps == 0 { decisions.number(1..3) } else { 0 };
                plan.webhook = true;
                plan.receiver_outages += 1;
                // A payment whose request a wallet may still act on, by a clock that was ahead, is looked up for a day.
                plan.recovery = Duration::from_millis(if plan.leaps > 0 { 28 } else { 9 } * HOUR);
            }
            Days => {
                plan.webhook = true;
                plan.down = 10 * SECOND..4 * DAY;
                plan.restarts = decisions.number(1..3);
                plan.kills = decisions.number(0..2);
                plan.receiver_outages += 1;
                plan.recovery = Duration::from_millis(4 * DAY + 12 * HOUR);
            }
            Years => {
                plan.calls = 6;
                plan.kills = 0;
                plan.restarts = 0;
                plan.lost = 0;
                plan.relay_outages = 0;
                plan.recovery = Duration::from_millis(9 * HOUR);
            }
        }
        plan
    }
}
