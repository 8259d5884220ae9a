//! Invalid responses, and why they are refused.

/// A response is invalid. What was requested may have been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid response")]
pub struct InvalidResponse;
