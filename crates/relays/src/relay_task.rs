//! The task of one relay: connects, runs the session, and connects again, until the relay is no longer wanted.

use std::sync::Arc;

use tokio::time::{Instant, sleep};
use usher_nostr_connection::{DialOptions, EndReason, Pause, Quality, Reconnection, dial};

use crate::options::RelayOptions;
use crate::relay_handle::RelayHandle;
use crate::relay_status::Origin;
use crate::session::RelaySession;
use crate::shared_state::SharedState;

/// Largest message of a user's relay: a larger one ends the connection. 64 of them buffer 32 MiB at worst.
const USER_FRAME_BYTES: usize = 512 * 1024;

pub(crate) async fn run(shared: Arc<SharedState>, handle: Arc<RelayHandle>) {
    let mut reconnection = Reconnection::new(&shared.options.connection, Instant::now());
    while let Some((ended, quality)) = connect_once(&shared, &handle).await {
        shared.metrics.disconnects.add(1);
        let pause = match reconnection.after(quality, Instant::now()) {
            Pause::AtOnce(pause) => {
                handle.reconnecting(&ended);
                pause
            }
            Pause::BackOff(pause) => {
                handle.disconnected(shared.clock.now(), ended.to_string());
                handle.queries.clear();
                // Authors who still need a proof send again.
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

/// Runs one connection. Returns why it ended, and its quality if it was established; `None` when the relay is no longer
/// wanted.
async fn connect_once(shared: &SharedState, handle: &RelayHandle) -> Option<(EndReason, Option<Quality>)> {
    let max_message_bytes = match handle.origin {
        Origin::Configured => shared.options.limits.frame_bytes,
        Origin::User => USER_FRAME_BYTES,
    };
    let RelayOptions { connection: timing, tls, dialer, gate, .. } = &shared.options;
    let (tls, dialer, gate) = (tls.as_ref(), dialer.as_deref(), gate.as_ref());
    let options = DialOptions { source: handle.source, timing, tls, max_message_bytes, dialer, gate };
    let connection = tokio::select! {
        dialled = dial(handle.address.url(), &options, |ip| shared.admit(handle, ip)) => match dialled {
            Ok(connection) => connection,
            Err(error) => return Some((error.into(), None)),
        },
        () = handle.close.cancelled() => return None,
    };
    shared.metrics.connects.add(1);
    handle.connected(shared.clock.now());
    shared.changed();
    tracing::debug!(relay = %handle.address, "relay connected");
    let (ended, quality) = RelaySession::new(shared, handle, connection).run().await;
    (!matches!(ended, EndReason::ByUs)).then_some((ended, quality))
}
