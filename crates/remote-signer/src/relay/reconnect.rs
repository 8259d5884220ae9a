use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tracing::debug;
use usher_nostr_connection::{DialOptions, EndReason, Quality, Reconnection, dial};

use super::session::SignerSession;
use super::shared::Shared;
use super::shared_relay::SharedRelay;

/// Largest message received, in bytes.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

/// Keeps a relay connected while pairings wait on it.
pub(super) async fn run(shared: Arc<Shared>, relay: Arc<SharedRelay>) {
    let mut reconnection = Reconnection::new(&shared.options.connection, Instant::now());
    loop {
        let turn = if shared.is_own(&relay.url) { Ok(()) } else { shared.connect_limits.lock().take(&relay.url) };
        if let Err(wait) = turn {
            if !rest(&shared, &relay, wait).await {
                return;
            }
            continue;
        }
        let (ended, quality) = tokio::select! {
            ended = connect_once(&shared, &relay) => ended,
            () = relay.displaced.cancelled() => return relay.disconnected(),
            () = shared.stop.cancelled() => return,
        };
        relay.disconnected();
        if matches!(ended, EndReason::ByUs) {
            return;
        }
        // Only the host of its address: the rest may be a secret.
        debug!(relay = relay.url.host_str(), reason = %ended, "a relay of remote signers is down");
        if !rest(&shared, &relay, reconnection.after(quality, Instant::now()).duration()).await {
            return;
        }
    }
}

/// Waits before the next attempt; false if the relay is no longer needed.
async fn rest(shared: &Arc<Shared>, relay: &Arc<SharedRelay>, pause: Duration) -> bool {
    let pause = sleep(pause);
    tokio::pin!(pause);
    loop {
        tokio::select! {
            () = &mut pause => return true,
            () = relay.changed.notified() => if shared.retire(relay) { return false },
            () = relay.displaced.cancelled() => return false,
            () = shared.stop.cancelled() => return false,
        }
    }
}

/// Runs one connection. Returns why it ended, and its quality if it was established.
async fn connect_once(shared: &Shared, relay: &Arc<SharedRelay>) -> (EndReason, Option<Quality>) {
    if shared.retire(relay) {
        return (EndReason::ByUs, None);
    }
    let timing = &shared.options.connection;
    let options = DialOptions::new(relay.source, timing, MAX_MESSAGE_BYTES);
    let options = DialOptions { gate: shared.options.gate.as_ref(), ..options };
    match dial(&relay.url, &options, |ip| shared.admits(relay, ip)).await {
        Ok(connection) => SignerSession::new(shared, relay, connection).run().await,
        Err(error) => (error.into(), None),
    }
}
