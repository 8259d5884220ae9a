//! The task of one relay of the connection string: connects, subscribes, and connects again.

mod outgoing_request;
mod session;

use std::sync::Arc;
use std::time::Duration;

use nostr::{Event, EventId};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};
use url::Url;
use usher_engine::ports::Clock;
use usher_nostr_connection::address_guard::AddressSource;
use usher_nostr_connection::{
    DialOptions, Dialer, EndReason, OnRefusal, Quality, Reconnection, SessionTiming, Timing, WriteGate, dial,
};

use super::connection_uri::ConnectionUri;
pub(crate) use outgoing_request::OutgoingRequest;
use session::RequestSession;

/// The backend's announcement.
pub(crate) const INFO: u16 = 13_194;
pub(crate) const REQUEST: u16 = 23_194;
pub(crate) const RESPONSE: u16 = 23_195;
/// A notification of the backend, encrypted with NIP-04.
pub(crate) const NOTIFICATION_NIP04: u16 = 23_196;
/// A notification of the backend, encrypted with NIP-44.
pub(crate) const NOTIFICATION: u16 = 23_197;

/// Largest message received, in bytes.
const MAX_MESSAGE_BYTES: usize = 256 * 1024;

/// How far the backend's clock may be behind: older events are not requested. Relays store them briefly, if at all.
const CLOCKS: Duration = Duration::from_secs(900);

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

/// A subscription is soon assumed to be open, because nothing is sent before it is.
fn session_timing() -> SessionTiming {
    SessionTiming {
        confirm_within: Some(Duration::from_secs(2)),
        auth_within: Duration::from_secs(15),
        acknowledge_within: Duration::from_secs(60),
        resubscribe_first: Duration::from_millis(100),
        on_refusal: OnRefusal::End,
        ..SessionTiming::default()
    }
}

/// An event of the backend, and the relay that delivered it.
pub(crate) struct ReceivedEvent {
    pub(crate) relay: usize,
    pub(crate) event: Event,
}

pub(crate) struct Shared {
    pub(crate) uri: ConnectionUri,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) up: watch::Sender<Vec<bool>>,
    pub(crate) received: mpsc::Sender<ReceivedEvent>,
    pub(crate) stop: CancellationToken,
    /// Replaces TCP in simulations.
    pub(crate) dialer: Option<Arc<dyn Dialer>>,
    pub(crate) gate: Option<WriteGate>,
    pub(crate) timing: Timing,
}

impl Shared {
    fn set_up(&self, relay: usize, is_up: bool) {
        self.up.send_if_modified(|up| match up.get_mut(relay) {
            Some(was) if *was != is_up => {
                *was = is_up;
                true
            }
            _ => false,
        });
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
        source: AddressSource::Operator,
        timing: &shared.timing,
        tls: None,
        max_message_bytes: MAX_MESSAGE_BYTES,
        dialer: shared.dialer.as_deref(),
        gate: shared.gate.as_ref(),
    };
    match dial(url, &options, |_| true).await {
        Ok(connection) => RequestSession::new(shared, relay, url, connection).run(outgoing).await,
        Err(error) => (error.into(), None),
    }
}

/// The request of a response: its first `e` tag.
pub(crate) fn request_of(event: &Event) -> Option<EventId> {
    event.tags.iter().take(16).find_map(|tag| match tag.as_slice() {
        [name, id, ..] if name == "e" => EventId::from_hex(id).ok(),
        _ => None,
    })
}
