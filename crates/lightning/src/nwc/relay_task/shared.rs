//! What the tasks of all relays share.

use std::sync::Arc;

use nostr::Event;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use usher_engine::ports::Clock;
use usher_nostr_connection::{Dialer, Timing, WriteGate};

use crate::nwc::connection_uri::ConnectionUri;

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
    pub(super) fn set_up(&self, relay: usize, is_up: bool) {
        self.up.send_if_modified(|up| match up.get_mut(relay) {
            Some(was) if *was != is_up => {
                *was = is_up;
                true
            }
            _ => false,
        });
    }
}
