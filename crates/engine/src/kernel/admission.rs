//! Which messages of wallets reach their operations.

use crate::StreamId;
use crate::ports::Inbound;

pub(crate) trait Admission: Send + Sync {
    /// Whether this message goes on to this operation. It came over this relay; a copy came over another before.
    fn admits(&self, id: StreamId, inbound: &Inbound) -> bool;
}
