//! Who started an operation.

/// Who started an operation: an opaque number stored with it. In an `Option`, `None` means no API key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin(pub i64);
