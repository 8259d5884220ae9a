/// How an operation ended: the status of its last event, if it has one. Used as the label of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperationOutcome {
    /// It succeeded, and its last event has no status.
    Completed,
    /// `approved`
    Approved,
    /// `declined`
    Declined,
    /// `paid`
    Paid,
    /// `success`
    Success,
    /// `rejected` or `user_rejected`
    Rejected,
    /// `insufficient_funds`
    InsufficientFunds,
    /// `timeout`
    Timeout,
    /// `error`, or a status that is not a result
    Error,
}

impl OperationOutcome {
    /// Every outcome.
    pub const ALL: [Self; 9] = [
        Self::Completed,
        Self::Approved,
        Self::Declined,
        Self::Paid,
        Self::Success,
        Self::Rejected,
        Self::InsufficientFunds,
        Self::Timeout,
        Self::Error,
    ];

    /// The outcome that an event with this status reports.
    pub fn of_status(status: &str) -> Self {
        match status {
            "approved" => Self::Approved,
            "declined" => Self::Declined,
            "paid" => Self::Paid,
            "success" => Self::Success,
            "rejected" | "user_rejected" => Self::Rejected,
            "insufficient_funds" => Self::InsufficientFunds,
            "timeout" => Self::Timeout,
            _ => Self::Error,
        }
    }

    /// The outcome as the label of a metric.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Approved => "approved",
            Self::Declined => "declined",
            Self::Paid => "paid",
            Self::Success => "success",
            Self::Rejected => "rejected",
            Self::InsufficientFunds => "insufficient_funds",
            Self::Timeout => "timeout",
            Self::Error => "error",
        }
    }
}
