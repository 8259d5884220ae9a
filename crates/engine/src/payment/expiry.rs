//! Default and given expiries of payments.

use std::time::Duration;

use crate::UnixMillis;

/// The default time for a user to pay.
const PAYMENT_TTL: Duration = Duration::from_secs(300);

/// Until when a user can pay, or create an invoice: the given Unix seconds, or the default.
pub(crate) fn expiry(given: Option<u64>, now: UnixMillis) -> UnixMillis {
    given.map_or(now.plus(PAYMENT_TTL), UnixMillis::from_secs)
}
