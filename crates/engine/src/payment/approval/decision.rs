//! A decision on a payment waiting for an approval.

/// A decision on a payment waiting for an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It begins.
    Approve,
    /// It ends unpaid.
    Decline,
}

impl Decision {
    /// The decision as a word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Decline => "decline",
        }
    }
}
