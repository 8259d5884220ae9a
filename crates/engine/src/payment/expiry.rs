//! Until when a payment can be made.

use std::time::Duration;

use crate::UnixMillis;

/// How long a user may take to pay if the caller does not say.
const PAYMENT_TTL: Duration = Duration::from_secs(300);

/// Until when a user can pay, or make an invoice: the given Unix seconds, or a while from now.
pub(crate) fn expiry(given: Option<u64>, now: UnixMillis) -> UnixMillis {
    given.map_or(now.plus(PAYMENT_TTL), UnixMillis::from_secs)
}
