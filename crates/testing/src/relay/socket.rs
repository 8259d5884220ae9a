//! Reading and writing one websocket.

use std::sync::Arc;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::outbox::Outgoing;
use super::quirks::Quirks;

/// A frame and when it arrived.
pub(super) type Incoming = (Instant, Message);

/// Reads frames into the queue until the client goes; a full queue stops reading, and so the client.
pub(super) async fn read(
    mut socket: SplitStream<WebSocketStream<TcpStream>>,
    queue: mpsc::Sender<Incoming>,
    mut quirks: watch::Receiver<Arc<Quirks>>,
) {
    loop {
        if quirks.wait_for(|quirks| !quirks.stop_reading).await.is_err() {
            return;
        }
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
pub(super) async fn write(
    mut socket: SplitSink<WebSocketStream<TcpStream>, Message>,
    mut queue: mpsc::Receiver<Outgoing>,
) {
    while let Some(Outgoing { at, frame }) = queue.recv().await {
        if at > Instant::now() {
            if socket.flush().await.is_err() {
                return;
            }
            tokio::time::sleep_until(at).await;
        }
        if socket.feed(frame).await.is_err() || (queue.is_empty() && socket.flush().await.is_err()) {
            return;
        }
    }
}
