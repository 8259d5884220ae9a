//! The task of one relay of the connection string: connects, subscribes, and connects again.

mod outgoing_request;
mod session;
mod shared;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tracing::{debug, warn};
use url::Url;
use usher_nostr_connection::address_guard::AddressSource;
use usher_nostr_connection::{DialOptions, EndReason, Quality, Reconnection, Timing, dial};

pub(crate) use outgoing_request::OutgoingRequest;
use session::RequestSession;
pub(crate) use shared::{ReceivedEvent, Shared};

/// Largest message received, in bytes.
const MAX_MESSAGE_BYTES: usize = 256 * 1024;

/// A connection longer than this resets the warning about the relay.
const LASTED: Duration = Duration::from_secs(30);

/// A connection longer than this has worked: two seconds after the subscription was assumed to be open.
const WORKED: Duration = Duration::from_secs(4);

/// Time limits and pauses. Pauses are short, because users wait for invoices.
pub(crate) fn timing() -> Timing {
    Timing {
        reconnect_first: Duration::from_millis(500),
        reconnect_longest: Duration::from_secs(30),
        worked_after: WORKED,
        write_within: Duration::from_secs(10),
        ..Timing::default()
    }
}

pub(crate) async fn run(
    shared: Arc<Shared>,
    relay: usize,
    url: Url,
    mut outgoing: mpsc::Receiver<Arc<OutgoingRequest>>,
) {
    let host = url.host_str().unwrap_or_default().to_owned();
    let mut reconnection = Reconnection::new(&shared.timing, Instant::now());
    let mut was_logged = false;
    loop {
        let begun = Instant::now();
        let (ended, quality) = tokio::select! {
            ended = connect_once(&shared, relay, &url, &mut outgoing) => ended,
            () = shared.stop.cancelled() => return shared.set_up(relay, false),
        };
        shared.set_up(relay, false);
        // Queued requests were meant for this connection; the tasks that wait for their responses withdraw them.
        while outgoing.try_recv().is_ok() {}
        was_logged &= begun.elapsed() <= LASTED;
        if was_logged {
            debug!(relay = host, reason = %ended, "the Lightning backend's relay is down");
        } else {
            // Only the host of the URL: the rest may be a secret.
            warn!(relay = host, reason = %ended, "the Lightning backend's relay is down; trying again until it is back");
            was_logged = true;
        }
        tokio::select! {
            () = sleep(reconnection.after(quality, Instant::now()).duration()) => {}
            () = shared.stop.cancelled() => return,
        }
    }
}

/// Runs one connection. Returns why it ended, and its quality if it was established.
async fn connect_once(
    shared: &Shared,
    relay: usize,
    url: &Url,
    outgoing: &mut mpsc::Receiver<Arc<OutgoingRequest>>,
) -> (EndReason, Option<Quality>) {
    let options = DialOptions {
        dialer: shared.dialer.as_deref(),
        gate: shared.gate.as_ref(),
        ..DialOptions::new(AddressSource::Operator, &shared.timing, MAX_MESSAGE_BYTES)
    };
    match dial(url, &options, |_| true).await {
        Ok(connection) => RequestSession::new(shared, relay, url, connection).run(outgoing).await,
        Err(error) => (error.into(), None),
    }
}
