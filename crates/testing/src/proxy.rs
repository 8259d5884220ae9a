//! A TCP proxy that can cut connections, drop bytes and delay them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::TcpServer;

/// Chunks (of up to 64 KiB) under way in one direction of one connection.
const CHUNKS: usize = 1_024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkState {
    Open,
    Cut,
    Swallowing,
}

#[derive(Clone, Copy, Debug)]
struct State {
    link: LinkState,
    delay: Duration,
}

/// A TCP proxy on a free loopback port to a target, which can be broken while connections are open.
#[derive(Debug)]
pub struct BreakableProxy {
    state: watch::Sender<State>,
    server: TcpServer,
}

impl BreakableProxy {
    /// Starts a proxy to `target` (`host:port`), which need not listen yet.
    pub async fn start(target: impl Into<String>) -> io::Result<Self> {
        let target: Arc<str> = Arc::from(target.into());
        let state = watch::Sender::new(State { link: LinkState::Open, delay: Duration::ZERO });
        let carried = state.clone();
        let server = TcpServer::start(move |client| carry(client, Arc::clone(&target), carried.subscribe())).await;
        Ok(Self { state, server })
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Its address for a relay behind it, `ws://127.0.0.1:<port>`.
    pub fn ws_url(&self) -> String {
        format!("ws://{}", self.address())
    }

    /// Connections accepted so far.
    pub fn connections(&self) -> u64 {
        self.server.connections() as u64
    }

    /// Closes every connection, and each new one at once, until [`restore`](Self::restore).
    pub fn cut(&self) {
        self.set(|state| state.link = LinkState::Cut);
    }

    /// Half-opens the line: connections stay and new ones are accepted, but every byte in either direction is lost.
    ///
    /// Connections that lost bytes are closed by [`restore`](Self::restore): they cannot continue.
    pub fn swallow(&self) {
        self.set(|state| state.link = LinkState::Swallowing);
    }

    /// Delays what passes in each direction from now on, without changing its order.
    pub fn delay(&self, delay: Duration) {
        self.set(|state| state.delay = delay);
    }

    /// Forwards everything again, without delay.
    pub fn restore(&self) {
        self.set(|state| *state = State { link: LinkState::Open, delay: Duration::ZERO });
    }

    fn set(&self, change: impl FnOnce(&mut State)) {
        self.state.send_modify(change);
    }

    /// Closes the port and every connection. Dropping it does the same without waiting.
    pub async fn stop(&self) {
        self.server.stop().await;
    }
}

/// Carries one connection until either side closes it or the line is cut.
async fn carry(client: TcpStream, target: Arc<str>, mut state: watch::Receiver<State>) {
    let opened_in = state.borrow().link;
    let target = match opened_in {
        LinkState::Cut => return,
        LinkState::Open => match TcpStream::connect(&*target).await {
            Ok(target) => Some(target),
            Err(_) => return,
        },
        LinkState::Swallowing => None,
    };
    let Some(target) = target else {
        // Accepted and silent; the client's bytes pile up in the buffers of the system.
        let _ = state.wait_for(|state| state.link != LinkState::Swallowing).await;
        drop(client);
        return;
    };
    if client.set_nodelay(true).is_err() || target.set_nodelay(true).is_err() {
        return;
    }
    let (client_in, client_out) = client.into_split();
    let (target_in, target_out) = target.into_split();
    let mut cut = state.clone();
    let lossy = CancellationToken::new();
    let forth = pump(client_in, target_out, state.clone(), lossy.clone());
    let back = pump(target_in, client_out, state, lossy.clone());
    tokio::select! {
        // One direction may end (half-close) while the other still carries.
        _ = async { tokio::join!(forth, back) } => {}
        _ = cut.wait_for(|state| state.link == LinkState::Cut) => {}
        () = lossy.cancelled() => {}
    }
}

/// Carries one direction; cancels `lossy` when the line is whole again but bytes were lost.
async fn pump(source: OwnedReadHalf, sink: OwnedWriteHalf, state: watch::Receiver<State>, lossy: CancellationToken) {
    let (queue, chunks) = mpsc::channel(CHUNKS);
    tokio::join!(read(source, queue, state, lossy), write(sink, chunks));
}

async fn read(
    mut source: OwnedReadHalf,
    queue: mpsc::Sender<(Instant, Vec<u8>)>,
    mut state: watch::Receiver<State>,
    lossy: CancellationToken,
) {
    let mut buffer = vec![0; 64 * 1024];
    let mut lost = false;
    let mut ended = false;
    loop {
        let count = tokio::select! {
            read = source.read(&mut buffer), if !ended => read.unwrap_or(0),
            changed = state.changed() => {
                if changed.is_err() {
                    return;
                }
                if lost && state.borrow().link == LinkState::Open {
                    return lossy.cancel();
                }
                continue;
            }
        };
        let State { link, delay } = *state.borrow();
        match link {
            LinkState::Cut => return,
            LinkState::Swallowing => {
                // The end of the stream is lost like anything else.
                lost = true;
                ended = count == 0;
            }
            LinkState::Open if lost => return lossy.cancel(),
            LinkState::Open if count == 0 => return,
            LinkState::Open => {
                let chunk = buffer.get(..count).unwrap_or_default().to_vec();
                if queue.send((Instant::now() + delay, chunk)).await.is_err() {
                    return;
                }
            }
        }
    }
}

async fn write(mut sink: OwnedWriteHalf, mut chunks: mpsc::Receiver<(Instant, Vec<u8>)>) {
    while let Some((at, chunk)) = chunks.recv().await {
        tokio::time::sleep_until(at).await;
        if sink.write_all(&chunk).await.is_err() {
            return;
        }
    }
    let _ = sink.shutdown().await;
}
