//! A decision on a payment waiting for an approval.

usher_protocol::words! {
    /// A decision on a payment waiting for an approval.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Decision {
        /// It begins.
        Approve = "approve",
        /// It ends unpaid.
        Decline = "decline",
    }
}
