//! Sums of each hour, kept with the books and the records of logins.

/// What happened in an hour. A payment is counted when it is paid or ends unpaid, and a login when it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HourlySums {
    /// Its number since the Unix epoch.
    pub hour: u64,
    /// Payments to the service that were paid.
    pub paid: u64,
    /// What they brought, in millisats; with what came on top later.
    pub paid_millisats: u64,
    /// What was paid back, in millisats, without fees.
    pub refunded_millisats: u64,
    /// What the service paid otherwise, in millisats, without fees.
    pub sent_millisats: u64,
    /// Payments to the service that ended unpaid, without those that were paid late.
    pub unpaid: u64,
    /// Logins that were approved.
    pub logins: u64,
    /// Logins that ended otherwise.
    pub logins_failed: u64,
}
