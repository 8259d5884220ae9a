//! Default and given expiries of payments.

use std::time::Duration;

use crate::UnixMillis;

/// The default time for a user's wallet to pay, or to create an invoice.
const WALLET_TTL: Duration = Duration::from_secs(300);

/// The default time to pay on a page, and the time to pay a further invoice there: a payer may first have to find a wallet.
pub(crate) const PAGE_TTL: Duration = Duration::from_secs(900);

/// Until when a user can pay, or create an invoice: the given Unix seconds, or the default.
pub(crate) fn expiry(given: Option<u64>, now: UnixMillis) -> UnixMillis {
    given.map_or(now.plus(WALLET_TTL), UnixMillis::from_secs)
}

/// The same for a payment with a page.
pub(crate) fn payment_expiry(given: Option<u64>, now: UnixMillis) -> UnixMillis {
    given.map_or(now.plus(PAGE_TTL), UnixMillis::from_secs)
}
