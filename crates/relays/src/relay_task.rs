//! The task of one relay: connects, runs the session, and connects again, until the relay is no longer wanted.

use std::sync::Arc;

use tokio::time::{Instant, sleep};
use usher_nostr_connection::{DialOptions, EndReason, Pause, Quality, Reconnection, dial};

use crate::metrics::add;
use crate::relay_handle::RelayHandle;
use crate::relay_status::Origin;
use crate::session::RelaySession;
use crate::shared_state::SharedState;

/// Why there is no connection, and how good the last one was, if there was one.
struct Disconnected {
    reason: String,
    quality: Option<Quality>,
}

impl Disconnected {
    fn failed(reason: String) -> Self {
        Self { reason, quality: None }
    }
}

/// Keeps the relay connected until `handle.close` is cancelled.
pub(crate) async fn run(shared: Arc<SharedState>, handle: Arc<RelayHandle>) {
    let mut reconnection = Reconnection::new(&shared.options.connection, Instant::now());
    while let Some(disconnected) = connect_once(&shared, &handle).await {
        add(&shared.metrics.disconnects);
        let pause = match reconnection.after(disconnected.quality, Instant::now()) {
            Pause::AtOnce(pause) => {
                handle.reconnecting(&disconnected.reason);
                pause
            }
            Pause::BackOff(pause) => {
                handle.disconnected(shared.clock.now(), disconnected.reason);
                handle.queries.clear();
                // Authors who still need a proof write again.
                handle.low_priority.clear();
                pause
            }
        };
        tokio::select! {
            () = sleep(pause) => {}
            () = handle.close.cancelled() => break,
        }
    }
    handle.queue.clear();
    handle.low_priority.clear();
    handle.queries.clear();
    tracing::debug!(relay = %handle.address, "relay closed");
}

/// One connection from the attempt to its end. Returns why it ended, or `None` when the relay is no longer wanted.
async fn connect_once(shared: &SharedState, handle: &RelayHandle) -> Option<Disconnected> {
    let limits = &shared.options.limits;
    let max_message_bytes = match handle.origin {
        Origin::Configured => limits.frame_bytes,
        Origin::User => limits.user_frame_bytes,
    };
    let tls = match &shared.tls {
        Ok(tls) => tls,
        Err(error) => return Some(Disconnected::failed(format!("TLS cannot be used: {error}"))),
    };
    let (timing, dialer) = (&shared.options.connection, shared.options.dialer.as_deref());
    let options = DialOptions { trust: handle.trust, timing, tls, max_message_bytes, dialer };
    let connection = tokio::select! {
        dialled = dial(handle.address.url(), &options, |ip| shared.admit(handle, ip)) => match dialled {
            Ok(connection) => connection,
            Err(error) => return Some(Disconnected::failed(error.to_string())),
        },
        () = handle.close.cancelled() => return None,
    };
    add(&shared.metrics.connects);
    handle.connected(shared.clock.now());
    shared.changed();
    tracing::debug!(relay = %handle.address, "relay connected");
    let (ended, quality) = RelaySession::new(shared, handle, connection).run().await;
    match ended {
        EndReason::ByUs => None,
        ended => Some(Disconnected { reason: ended.to_string(), quality: Some(quality) }),
    }
}
