//! Outages, one at a time: an operation, a counterpart that is away while it begins, and what happens to the process
//! meanwhile. It ends as it would have without.

mod actions;

use clap::ValueEnum;

/// For how long the service is down, in milliseconds.
pub(crate) const DOWN: u64 = 5_000;

/// An outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Script {
    pub(crate) operation: Operation,
    pub(crate) target: OutageTarget,
    pub(crate) process: Process,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Operation {
    /// A handshake; the user scans again when nothing happens.
    Handshake,
    /// A user proves their key.
    Authenticate,
    /// A user pays us.
    Payment,
    /// A user agrees to a subscription.
    Subscribe,
    /// A date of a subscription is charged.
    Charge,
    /// The operator closes a subscription, and the user's wallet gets the close.
    Close,
    /// A user makes an invoice.
    Invoice,
    /// A user pays another's invoice.
    PayTheirs,
    /// The service's own wallet pays another's invoice.
    PayOurs,
    /// The same, and the wallet refuses: it has too little for it.
    PayRefused,
}

/// Who is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutageTarget {
    Nobody,
    Relay,
    /// The relay, and it is back as soon as the service is, which is restarted later than otherwise.
    RelayUntilRestart,
    User,
    Lightning,
    Receiver,
}

/// What becomes of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Process {
    /// It keeps running.
    GoesOn,
    /// It is stopped in order and started again.
    Restarted,
    Killed,
    /// It is killed, and killed again just after its next start.
    KilledTwice,
}

impl Script {
    /// Every outage.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for &operation in Operation::value_variants() {
            for &target in OutageTarget::value_variants() {
                all.extend(Process::value_variants().iter().map(|&process| Self { operation, target, process }));
            }
        }
        all
    }
}
