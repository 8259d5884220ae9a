//! Limits on wallets' messages to their operations.

use crate::StreamId;
use crate::ports::Inbound;

pub(crate) trait Admission: Send + Sync {
    /// Whether this message is passed to this operation. `inbound` says over which relay it arrived, and whether
    /// another delivered it before.
    fn admits(&self, id: StreamId, inbound: &Inbound) -> bool;
}
