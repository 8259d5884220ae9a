//! Several instances that share a database: their machines, their lease, and what happens to them.

mod actions;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use nostr::EventId;

pub(crate) use super::lease_row::LeaseRow;

/// How long a lease lasts without a renewal.
pub(crate) const LEASE: Duration = Duration::from_secs(5);

/// The instant at which a transaction is on its way to the database.
pub(crate) const ON_ITS_WAY: &str = "with a transaction on its way";

/// The instant at which the answer to a transaction arrives.
pub(crate) const ANSWERED: &str = "as the answer to a transaction arrives";

/// The instant at which something has been read.
pub(crate) const READ: &str = "after a read";

/// An instance while it is the active one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) instance: usize,
    pub(crate) epoch: u64,
}

/// A defect that is put in on purpose, to see that it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mutation {
    /// The database does not check the epoch of what is written.
    NoEpochCheck,
    /// An instance judges its lease by its wall clock.
    LeaseByWallClock,
    /// Wallets and the webhook are reached whether the lease holds or not.
    NoGates,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Active,
    Instance(usize),
}

/// What happens to an instance, or to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstanceFault {
    Kill(Target),
    /// The process is paused, and goes on exactly where it was.
    Pause(Target, Duration),
    /// The process that comes to the so-manyth instant of interest, or of this kind, is paused there.
    PauseAt(Option<&'static str>, u64, Duration),
    /// It is stopped in order: it hands the lease over.
    Stop(Target),
    /// Nothing reaches the database from there, nor back.
    CutFromDatabase(Target, Duration),
    /// Nor the relays.
    CutFromRelays(Target, Duration),
    /// Nor the app's webhook.
    CutFromReceiver(Target, Duration),
    /// The machine's wall clock is set, by so many milliseconds.
    SetClock(Target, i64),
    /// The database's clock is.
    SetDatabaseClock(i64),
    /// The database is slow.
    SlowDatabase(Duration),
    /// Some of its answers are lost.
    LoseAnswers(Duration),
}

/// A machine on which an instance runs.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    /// By how many milliseconds its wall clock is ahead of everybody else's.
    pub(crate) ahead: Arc<AtomicI64>,
    database_until: u64,
    relays_until: u64,
    receiver_until: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Instances {
    pub(crate) machines: Vec<Machine>,
    pub(crate) lease: LeaseRow,
    /// What is wrong on purpose.
    pub(crate) mutation: Option<Mutation>,
    /// The instance that comes to the so-manyth instant of interest, or of this kind, from now is paused there, for so long.
    pub(crate) pause_in: Option<(Option<&'static str>, u64, Duration)>,
    /// For how long the one that runs is to be paused, from now on.
    pub(crate) pause_now: Option<Duration>,
    /// Whether the wall clock of a machine was ever set.
    pub(crate) clocks_were_set: bool,
    slow_until: u64,
    answers_lost_until: u64,
    /// Requests to the Lightning backend that were sent after the lease of their sender.
    late_requests: BTreeSet<EventId>,
}

impl Instances {
    pub(crate) fn new(count: usize) -> Self {
        Self { machines: (0..count).map(|_| Machine::default()).collect(), ..Self::default() }
    }

    pub(crate) fn is_cut_from_database(&self, instance: usize, now: u64) -> bool {
        self.machines.get(instance).is_some_and(|machine| machine.database_until > now)
    }

    /// Since when the database has been there for this instance, and quick; the future when it is not.
    pub(crate) fn reaches_database_since(&self, instance: usize) -> u64 {
        let cut = self.machines.get(instance).map_or(0, |machine| machine.database_until);
        cut.max(self.slow_until).max(self.answers_lost_until)
    }
}
