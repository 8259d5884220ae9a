//! Who started an operation.

/// Who started an operation: an opaque number stored with it. In an `Option`, `None` means no API key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin(pub i64);

impl Origin {
    /// Of all users of pages and of other apps together, where API keys share something. No key has this number.
    pub const USERS: Self = Self(-1);
}
