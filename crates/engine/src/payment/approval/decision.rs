//! A decision about a payment that waits for an approval.

/// What becomes of a payment that waits for an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It begins.
    Approve,
    /// It ends unpaid.
    Decline,
}

impl Decision {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Decline => "decline",
        }
    }
}
