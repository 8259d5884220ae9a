//! The permits that a connection holds, for the code that takes it over after an upgrade.

use std::sync::Arc;

use axum::Router;
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;
use usher_engine::Origin;

use crate::connection_table::ConnectionPermit;

/// A connection's permit among `limits.max_connections`, kept as long as a clone of it exists, also after the upgrade
/// to a WebSocket. A request extension.
#[derive(Clone)]
pub(crate) struct ConnectionLease(Arc<Parts>);

struct Parts {
    api: Router,
    cut: CancellationToken,
    permit: ConnectionPermit,
    _open: TaskTrackerToken,
}

impl ConnectionLease {
    /// A lease of `permit` under a server that serves `api`, tracks the connection by `open`, and closes it when `cut`
    /// is cancelled.
    pub(crate) fn new(api: Router, cut: CancellationToken, permit: ConnectionPermit, open: TaskTrackerToken) -> Self {
        Self(Arc::new(Parts { api, cut, permit, _open: open }))
    }

    /// The API without the pages: those are for browsers, and some belong to the browser that opens them first.
    pub(crate) fn api(&self) -> Router {
        self.0.api.clone()
    }

    /// Cancelled when the connection must close immediately.
    pub(crate) fn cut(&self) -> CancellationToken {
        self.0.cut.clone()
    }

    /// From now on, the connection does not count against its address.
    pub(crate) fn leave_address(&self) {
        self.0.permit.leave_address();
    }

    /// Records that the client has sent a valid key, or the token (`None`). From now on, the connection is not evicted,
    /// unless the key has more than its share.
    pub(crate) fn authenticate(&self, client: Option<Origin>) {
        self.0.permit.authenticate(client);
    }
}
