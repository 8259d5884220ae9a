//! What a connection occupies, for whoever goes on with it after an upgrade.

use std::sync::Arc;

use axum::Router;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

/// A connection's place among `limits.max_connections`, kept for as long as a clone of this is. A request extension.
///
/// HTTP is over for a connection when it becomes a WebSocket, and so is its task; but the connection is still open: it
/// counts, a stop waits for it, and in the end cuts it.
#[derive(Clone)]
pub(crate) struct Lease(Arc<Parts>);

struct Parts {
    router: Router,
    cut: CancellationToken,
    _place: OwnedSemaphorePermit,
}

impl Lease {
    /// A lease of `place` under a server that serves `router` and cuts what is left when `cut` is cancelled.
    pub(super) fn new(router: Router, cut: CancellationToken, place: OwnedSemaphorePermit) -> Self {
        Self(Arc::new(Parts { router, cut, _place: place }))
    }

    /// What the server serves.
    pub(crate) fn router(&self) -> Router {
        self.0.router.clone()
    }

    /// Cancelled when the connection must end at once. A token of one's own: waiting on the shared one would make all
    /// connections take turns at its lock.
    pub(crate) fn cut(&self) -> CancellationToken {
        self.0.cut.child_token()
    }
}
