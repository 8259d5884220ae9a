usher_protocol::words! {
    /// How an operation ended: the status of its last event, if it has one. Used as the label of a metric.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum OperationOutcome {
        /// It succeeded, and its last event has no status.
        Completed = "completed",
        /// `approved`
        Approved = "approved",
        /// `declined`
        Declined = "declined",
        /// `paid`
        Paid = "paid",
        /// `success`
        Success = "success",
        /// `rejected` or `user_rejected`
        Rejected = "rejected",
        /// `insufficient_funds`
        InsufficientFunds = "insufficient_funds",
        /// `timeout`
        Timeout = "timeout",
        /// `error`, or a status that is not a result
        Error = "error",
    }
}

impl OperationOutcome {
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
}
