//! The time, in Unix seconds.

use std::fmt;
use std::sync::Arc;

/// Returns the current time in Unix seconds. Tests can supply their own.
#[derive(Clone)]
pub struct UnixClock(pub Arc<dyn Fn() -> u64 + Send + Sync>);

impl UnixClock {
    /// Now, in Unix seconds.
    pub fn now(&self) -> u64 {
        (self.0)()
    }
}

impl fmt::Debug for UnixClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UnixClock")
    }
}

pub fn system_clock() -> UnixClock {
    UnixClock(Arc::new(|| nostr::Timestamp::now().as_secs()))
}
