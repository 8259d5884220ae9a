//! How long a reply is awaited.

use std::time::Duration;

use crate::UnixMillis;

/// How long to wait for a reply of the Lightning backend: longer than the adapters' time limits.
const LEASE: Duration = Duration::from_secs(25);

pub(crate) fn lease(now: UnixMillis) -> UnixMillis {
    now.plus(LEASE)
}
