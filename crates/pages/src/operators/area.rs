//! The parts of the pages that operators log in to.

/// A part of the pages, whose address begins with its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Area {
    /// Payments that wait for an approval, for the keys in `wallet.approvers`.
    Approvals,
    /// The console, for operators.
    Console,
}

impl Area {
    /// The first part of the path.
    pub(crate) const fn folder(self) -> &'static str {
        match self {
            Self::Approvals => "approve",
            Self::Console => "console",
        }
    }

    /// The name of a login in the audit log.
    pub(super) const fn log_in(self) -> &'static str {
        match self {
            Self::Approvals => "logInToApprove",
            Self::Console => "logInToConsole",
        }
    }

    /// The outcome of a login with a key that may not enter.
    pub(super) const fn refused(self) -> &'static str {
        match self {
            Self::Approvals => "not_an_approver",
            Self::Console => "not_an_operator",
        }
    }
}
