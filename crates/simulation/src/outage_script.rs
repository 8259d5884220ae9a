//! Which outages there are: an operation, a counterpart that is away while it begins, and what becomes of the process
//! meanwhile.

/// For how long the service is down, in milliseconds.
pub const DOWN: u64 = 5_000;

/// An outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Script {
    /// The request.
    pub operation: Operation,
    /// Who is away.
    pub target: OutageTarget,
    /// What becomes of the process.
    pub process: Process,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutageTarget {
    /// None.
    Nobody,
    /// The relay.
    Relay,
    /// The relay, and it is back as soon as the service is, which is restarted later than otherwise.
    RelayUntilRestart,
    /// The user's wallet.
    User,
    /// The wallet behind the Lightning backend.
    Lightning,
    /// The receiver of webhooks.
    Receiver,
}

/// What becomes of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// It keeps running.
    GoesOn,
    /// It is stopped in order and started again.
    Restarted,
    /// It is killed and started again.
    Killed,
    /// It is killed, and killed again just after its next start.
    KilledTwice,
}

impl Script {
    /// Every outage.
    pub fn all() -> Vec<Self> {
        use Operation::{
            Authenticate, Charge, Close, Handshake, Invoice, PayOurs, PayRefused, PayTheirs, Payment, Subscribe,
        };
        let operations =
            [Handshake, Authenticate, Payment, Subscribe, Charge, Close, Invoice, PayTheirs, PayOurs, PayRefused];
        let targets = [
            OutageTarget::Nobody,
            OutageTarget::Relay,
            OutageTarget::RelayUntilRestart,
            OutageTarget::User,
            OutageTarget::Lightning,
            OutageTarget::Receiver,
        ];
        let processes = [Process::GoesOn, Process::Restarted, Process::Killed, Process::KilledTwice];
        let mut all = Vec::new();
        for operation in operations {
            for target in targets {
                all.extend(processes.map(|process| Self { operation, target, process }));
            }
        }
        all
    }
}
