//! The life of one connection: reading and writing its socket, and the quirks in between.

use std::future;
use std::sync::Arc;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use super::client_session::Session;
use super::hub::{Hub, Outbox, Outgoing};
use super::junk;
use super::quirks::Quirks;

/// Frames read ahead of the session (the frames that are under way when there is a latency).
const READ_AHEAD: usize = 8_192;

/// Buffer for reading from one socket. It is cleared before each read, and clearing the default of 128 KiB took a third of
/// a relay's processor time under load.
const READ_BYTES: usize = 8 * 1024;

/// A frame and when it arrived.
type Incoming = (Instant, Message);

/// Counts a connection for as long as it lives, however it ends.
struct Open(Arc<Hub>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.count(|metrics| metrics.open_connections -= 1);
    }
}

/// Serves one client until it disconnects, is disconnected, or the relay stops.
pub(super) async fn serve(stream: TcpStream, hub: Arc<Hub>) {
    let opened = Instant::now();
    hub.count(|metrics| {
        metrics.connections += 1;
        metrics.open_connections += 1;
    });
    let _open = Open(Arc::clone(&hub));
    let mut quirks = hub.quirks.subscribe();
    let handshake = async {
        quirks.wait_for(|quirks| !quirks.accept_tcp_only).await.ok()?;
        stream.set_nodelay(true).ok()?;
        let config = WebSocketConfig::default().read_buffer_size(READ_BYTES);
        tokio_tungstenite::accept_async_with_config(stream, Some(config)).await.ok()
    };
    let Some(websocket) = handshake.await else { return };
    hub.count(|metrics| metrics.handshakes += 1);

    let (sink, source) = websocket.split();
    let (outbox, outgoing, overflow) = Outbox::new();
    let (arrived, incoming) = mpsc::channel(READ_AHEAD);
    let session = Session::new(Arc::clone(&hub), outbox.clone());
    // When the client disconnects, what it sent before is still processed, as by other relays; then `converse` ends.
    let line = async {
        tokio::join!(read(source, arrived, hub.quirks.subscribe()), write(sink, outgoing));
    };
    tokio::select! {
        () = async { line.await; future::pending().await } => {}
        () = converse(session, &hub, outbox, incoming, opened) => {}
        () = hub.hang_up.notified() => {}
        () = overflow.cancelled() => {}
    }
}

/// Handles frames, each after the latency, and applies the quirks in between.
async fn converse(
    mut session: Session,
    hub: &Hub,
    outbox: Outbox,
    mut incoming: mpsc::Receiver<Incoming>,
    opened: Instant,
) {
    let mut changes = hub.quirks.subscribe();
    let mut junk = 0_usize;
    let mut last_junk = opened;
    loop {
        let quirks = Arc::clone(&changes.borrow_and_update());
        session.challenge_if_due();
        let close_due = quirks.close_subscriptions_after.and_then(|age| session.close_older_than(age));
        let drop_due = quirks.drop_every.map(|age| opened + age);
        let junk_due = quirks.garbage.map(|every| last_junk + every);
        tokio::select! {
            frame = incoming.recv() => {
                let Some((arrived, frame)) = frame else { return };
                sleep_until(arrived + quirks.latency).await;
                session.take(&frame);
            }
            () = at(close_due) => {}
            () = at(drop_due) => return,
            () = at(junk_due) => {
                last_junk = Instant::now();
                outbox.push(last_junk, junk::frame(junk, session.any_subscription()));
                junk = junk.wrapping_add(1);
            }
            changed = changes.changed() => {
                if changed.is_err() {
                    return;
                }
            }
        }
    }
}

/// Waits until `due`, or forever without one.
async fn at(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => future::pending().await,
    }
}

/// Reads frames into the queue until the client goes; a full queue stops reading, and so the client.
async fn read(
    mut socket: SplitStream<WebSocketStream<TcpStream>>,
    queue: mpsc::Sender<Incoming>,
    mut quirks: watch::Receiver<Arc<Quirks>>,
) {
    while quirks.wait_for(|quirks| !quirks.stop_reading).await.is_ok() {
        tokio::select! {
            frame = socket.next() => {
                let Some(Ok(frame)) = frame else { return };
                if queue.send((Instant::now(), frame)).await.is_err() {
                    return;
                }
            }
            changed = quirks.changed() => {
                if changed.is_err() {
                    return;
                }
            }
        }
    }
}

/// Writes the frames of the queue, none before its time.
async fn write(mut socket: SplitSink<WebSocketStream<TcpStream>, Message>, mut queue: mpsc::Receiver<Outgoing>) {
    while let Some((at, frame)) = queue.recv().await {
        if at > Instant::now() {
            if socket.flush().await.is_err() {
                return;
            }
            sleep_until(at).await;
        }
        if socket.feed(frame).await.is_err() || (queue.is_empty() && socket.flush().await.is_err()) {
            return;
        }
    }
}

/// Sends the flood while one is configured.
pub(super) async fn flood(hub: Arc<Hub>) {
    /// How often a batch leaves.
    const BEAT: std::time::Duration = std::time::Duration::from_millis(10);

    let mut changes: watch::Receiver<Arc<Quirks>> = hub.quirks.subscribe();
    let mut next = 0_usize;
    loop {
        let Some(flood) = changes.borrow_and_update().flood.clone().filter(|f| !f.events.events.is_empty()) else {
            if changes.changed().await.is_err() {
                return;
            }
            continue;
        };
        let started = Instant::now();
        let mut sent = 0_u64;
        while !changes.has_changed().unwrap_or(true) {
            tokio::time::sleep(BEAT).await;
            let due = started.elapsed().as_micros() * u128::from(flood.per_second) / 1_000_000;
            let due = u64::try_from(due).unwrap_or(u64::MAX).saturating_sub(sent);
            // After a stall of the machine the flood does not make up for more than a second.
            for event in flood
                .events
                .events
                .iter()
                .cycle()
                .skip(next)
                .take(usize::try_from(due).unwrap_or(0).min(flood.per_second as usize))
            {
                let pushed = hub.forward_junk(event, Instant::now());
                hub.count(|metrics| metrics.flooded += pushed);
            }
            next = (next + usize::try_from(due).unwrap_or(0)) % flood.events.events.len();
            sent += due;
        }
    }
}
