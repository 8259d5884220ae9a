//! Scans that wait are looked up and drawn.

use std::sync::Arc;
use std::time::Duration;

use tracing::warn;

use super::{Moment, Refusals, Scan};
use crate::StreamId;
use crate::engine::Engine;
use crate::operations::Input;
use usher_protocol::message::WalletMessage;

/// How often scans are drawn while some wait.
const EVERY: Duration = Duration::from_millis(50);

/// Authors about whom the store is asked in one read; with [`EVERY`] 5,000 in a second.
const AUTHORS: usize = 256;

impl Engine {
    /// Draws scans that wait until everything stops.
    pub(in crate::engine) async fn draw_scans(self: Arc<Self>) {
        loop {
            tokio::select! {
                () = self.scans.some_wait() => {}
                () = self.stop.cancelled() => return,
            }
            while self.scans.has_waiting() {
                self.look_up_authors().await;
                for (stream, scan) in self.scans.draw(self.moment(), &*self.randomness) {
                    self.take_scan(stream, scan).await;
                }
                self.warn_of_refusals();
                tokio::select! {
                    () = self.clock.sleep(EVERY) => {}
                    () = self.stop.cancelled() => return,
                }
            }
        }
    }

    /// Asks the store which authors of scans that wait the service knows. When the store fails they are asked about again.
    async fn look_up_authors(&self) {
        let authors = self.scans.unchecked(AUTHORS);
        if authors.is_empty() {
            return;
        }
        let keys: Vec<_> = authors.iter().map(|(_, author)| *author).collect();
        let Ok(known) = self.store.known_users(&keys).await else {
            self.counts.store_failed();
            return;
        };
        for ((stream, author), known) in authors.into_iter().zip(known) {
            self.scans.checked(stream, &author, known, self.clock.now(), &*self.randomness);
        }
    }

    /// Hands a scan to its operation.
    pub(in crate::engine) async fn take_scan(&self, stream: StreamId, scan: Scan) {
        let Scan { author, event, sent_at, handshake, via: _ } = scan;
        let input = Input::Wallet { author, sent_at, message: WalletMessage::KeyHandshake(handshake) };
        self.workers.wallet(stream, input, event).await;
    }

    /// The time of both clocks.
    pub(in crate::engine) fn moment(&self) -> Moment {
        Moment { now: self.clock.now(), monotonic: self.clock.monotonic() }
    }

    /// Logs that scans were refused, at most once a minute.
    pub(in crate::engine) fn warn_of_refusals(&self) {
        if let Some(Refusals { stream, limit, relay, count }) = self.scans.take_warning() {
            warn!(
                stream_id = %stream,
                limit = limit.as_str(),
                relay = relay.as_deref().unwrap_or("a user's relay"),
                refused = count,
                "limits refuse scans of reusable handshake URLs; GET /key-handshake lists how many of each, and \
                 DELETE /key-handshake/{{stream_id}} ends one"
            );
        }
    }
}
