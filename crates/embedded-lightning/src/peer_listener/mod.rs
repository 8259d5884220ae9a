//! Where peers connect to the node: a listener in front of the library's own.
//!
//! Whoever listens on a public port is scanned and flooded. The library's listener has no limits, and ends for good if the
//! process has no file left for a connection. So the library listens on a port of 127.0.0.1, and gets only connections that
//! have begun the handshake of Lightning's transport (BOLT 8), and only while there are files to spare.
//!
//! ```text
//! (accepted) ─▶ silent ──act one: 50 bytes──▶ handshake ──act two, act three, the library's first message──▶ established
//!                  │                              │                                                          │
//!                  └── 10 s, or something else    └── 30 s, or the library closes                            └── 3 min silent
//! ```
//!
//! The library sends a message only to a peer that has proven its key, so a connection is established only then. Until
//! then it makes room for others when the limits are reached ([`slots`]); an established one does not.

mod slots;
#[cfg(test)]
mod tests;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use self::slots::{Admission, Slot, Slots, Stage};

/// The lengths of the handshake's acts.
const ACT_ONE: usize = 50;
const ACT_TWO: usize = 50;
const ACT_THREE: usize = 66;

/// How many files must be free before the library gets a connection: it needs one at once, and others take some meanwhile.
const SPARE_FILES: usize = 16;

/// How long to accept no connections when there is no file for one.
const PAUSE: Duration = Duration::from_secs(1);

/// How long the library may take to accept a connection and to answer act one. It is not delayed by the peer.
const LIBRARY_TIME: Duration = Duration::from_secs(5);

/// How often a warning is repeated.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// What is copied at once.
const BUFFER: usize = 4096;

/// What peers may do.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Connections at once. Each that has begun the handshake takes three files: the peer's, and both ends of the one to the library.
    total: usize,
    /// Connections at once from one IPv4 address, or one IPv6 network of 64 bits.
    per_source: usize,
    /// The time until act one has arrived.
    act_one: Duration,
    /// The time for the rest of the handshake.
    handshake: Duration,
    /// How long an established peer may be silent or take nothing. The library pings every ten seconds, so it answers.
    idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            total: 256,
            per_source: 8,
            act_one: Duration::from_secs(10),
            handshake: Duration::from_secs(30),
            idle: Duration::from_secs(180),
        }
    }
}

/// A port for peers, open from the start, although nobody is served before [`run`](Self::run).
#[derive(Debug)]
pub(crate) struct PeerListener {
    listener: std::net::TcpListener,
    library: SocketAddr,
    /// Keeps the library's port free for it.
    reservation: Option<TcpSocket>,
    limits: Limits,
}

impl PeerListener {
    /// Opens the port.
    ///
    /// # Errors
    /// If it cannot be listened on.
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let (library, reservation) = reserve()?;
        Ok(Self { listener, library, reservation, limits: Limits::default() })
    }

    /// Where the library must listen.
    pub(crate) const fn library_address(&self) -> SocketAddr {
        self.library
    }

    /// Serves peers until `stop`, then closes all connections. Runs on the runtime that it is polled on.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let listener = match TcpListener::from_std(self.listener) {
            Ok(listener) => listener,
            Err(error) => {
                tracing::error!(%error, "the Lightning node cannot listen for peers; restart the service");
                return;
            }
        };
        let front = Arc::new(Front {
            slots: Arc::new(Slots::new(self.limits.total, self.limits.per_source)),
            library: self.library,
            limits: self.limits,
            connecting: tokio::sync::Mutex::new(()),
            full: Warning::default(),
            library_away: Warning::default(),
            no_files: Warning::default(),
        });
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                Some(_) = connections.join_next() => {}
                accepted = front.accept(&listener) => match accepted {
                    Ok((stream, from)) => {
                        if let Some(slot) = front.admit(from, &stop) {
                            connections.spawn(Arc::clone(&front).serve(stream, slot));
                        }
                    }
                    // That one peer went away; the next may be waiting.
                    Err(error) if is_of_the_connection(&error) => {}
                    Err(error) => {
                        front.warn_of_files(&error);
                        // Connections end meanwhile.
                        let _ = stop.run_until_cancelled(sleep(PAUSE)).await;
                    }
                }
            }
        }
        connections.shutdown().await;
        drop(self.reservation);
    }
}

/// A port of 127.0.0.1 for the library, which binds it itself, but not before its chain source answers. On Linux, a socket
/// that has the port and never listens keeps it from those who take any free port, and not from the library, which asks for it
/// by number. Other systems do not let it share the port.
fn reserve() -> io::Result<(SocketAddr, Option<TcpSocket>)> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    let address = socket.local_addr()?;
    let shares = std::net::TcpListener::bind(address).is_ok();
    Ok((address, shares.then_some(socket)))
}

/// What the connections share.
#[derive(Debug)]
struct Front {
    slots: Arc<Slots>,
    library: SocketAddr,
    limits: Limits,
    /// Held from the look at the free files until the library has accepted.
    connecting: tokio::sync::Mutex<()>,
    full: Warning,
    library_away: Warning,
    no_files: Warning,
}

impl Front {
    fn admit(&self, from: SocketAddr, stop: &CancellationToken) -> Option<Slot> {
        let slot = match self.slots.admit(from.ip(), stop) {
            Admission::Free(slot) => return Some(slot),
            Admission::InsteadOfAnother(slot) => Some(slot),
            Admission::Refused => None,
        };
        if let Some(closed) = self.full.take() {
            let Limits { total, per_source, .. } = self.limits;
            tracing::warn!(
                closed,
                total,
                per_address = per_source,
                "too many connections by Lightning peers: new ones, or others that had not finished the handshake, were closed"
            );
        }
        slot
    }

    /// Accepts no connection while the library is about to accept one: a burst would take the spare files.
    async fn accept(&self, listener: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
        drop(self.connecting.lock().await);
        listener.accept().await
    }

    fn warn_of_files(&self, error: &io::Error) {
        if let Some(times) = self.no_files.take() {
            tracing::warn!(%error, times, "too few files are free for connections by Lightning peers: they wait, or are closed");
        }
    }

    async fn serve(self: Arc<Self>, peer: TcpStream, slot: Slot) {
        let close = slot.close.clone();
        if let Some(Err(error)) = close.run_until_cancelled(self.connect_through(peer, slot)).await {
            tracing::debug!(%error, "a connection by a Lightning peer ended");
        }
    }

    /// One connection from its beginning to its end.
    async fn connect_through(&self, mut peer: TcpStream, slot: Slot) -> io::Result<()> {
        peer.set_nodelay(true)?;
        let act_one = timeout(self.limits.act_one, read_act_one(&mut peer)).await??;
        slot.reach(Stage::Handshake);
        let mut library = timeout(self.limits.handshake, self.shake_hands(&mut peer, &act_one)).await??;
        slot.reach(Stage::Established);
        let (mut from_peer, mut to_peer) = peer.split();
        let (mut from_library, mut to_library) = library.split();
        // Lightning knows no connection that is open in one direction.
        tokio::select! {
            ended = copy(&mut from_peer, &mut to_library, self.limits.idle) => ended,
            ended = copy(&mut from_library, &mut to_peer, self.limits.idle) => ended,
        }
    }

    /// Passes the handshake on, until the library accepts the peer.
    async fn shake_hands(&self, peer: &mut TcpStream, act_one: &[u8; ACT_ONE]) -> io::Result<TcpStream> {
        let (mut library, act_two) = self.ask_library(act_one).await?;
        peer.write_all(&act_two).await?;
        let mut act_three = [0; ACT_THREE];
        peer.read_exact(&mut act_three).await?;
        library.write_all(&act_three).await?;
        if library.peek(&mut [0]).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(library)
    }

    /// Connects to the library and gets its response to act one. One at a time: see [`SPARE_FILES`].
    async fn ask_library(&self, act_one: &[u8; ACT_ONE]) -> io::Result<(TcpStream, [u8; ACT_TWO])> {
        let _connecting = self.connecting.lock().await;
        // Not waited for: this connection has a file itself, and so have those behind it.
        let socket = socket_with_spare_files().inspect_err(|error| self.warn_of_files(error))?;
        let asking = async {
            let mut library = socket.connect(self.library).await.inspect_err(|error| self.warn_of_library(error))?;
            library.set_nodelay(true)?;
            library.write_all(act_one).await?;
            let mut act_two = [0; ACT_TWO];
            library.read_exact(&mut act_two).await?;
            Ok((library, act_two))
        };
        timeout(LIBRARY_TIME, asking).await?
    }

    fn warn_of_library(&self, error: &io::Error) {
        if let Some(times) = self.library_away.take() {
            tracing::warn!(%error, times, "Lightning peers were turned away: the node has not started, or has stopped");
        }
    }
}

/// Whether an error of `accept` concerns the connection alone, and not the listener.
fn is_of_the_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// A socket, if there are files to spare. The library's listener would end for good if there was none for its end.
fn socket_with_spare_files() -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    let spare: Vec<_> = (0..SPARE_FILES).map(|_| TcpSocket::new_v4()).collect::<io::Result<_>>()?;
    drop(spare);
    Ok(socket)
}

/// Act one: version 0, a compressed public key, and a tag that only the library can verify.
async fn read_act_one(peer: &mut TcpStream) -> io::Result<[u8; ACT_ONE]> {
    let mut act_one = [0; ACT_ONE];
    let (start, rest) = act_one.split_at_mut(2);
    peer.read_exact(start).await?;
    if !matches!(start, [0, 2 | 3]) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    peer.read_exact(rest).await?;
    Ok(act_one)
}

/// Copies until the end, or until nothing could be read or written for so long.
async fn copy(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    idle: Duration,
) -> io::Result<()> {
    let mut buffer = [0; BUFFER];
    loop {
        let length = timeout(idle, from.read(&mut buffer)).await??;
        if length == 0 {
            return Ok(());
        }
        timeout(idle, to.write_all(buffer.get(..length).unwrap_or_default())).await??;
    }
}

/// A warning that is logged at most once a minute.
#[derive(Debug, Default)]
struct Warning(Mutex<(u64, Option<Instant>)>);

impl Warning {
    /// How often this has been called since the last warning, if one is due.
    fn take(&self) -> Option<u64> {
        let mut state = self.0.lock();
        let (count, last) = &mut *state;
        *count += 1;
        if last.is_some_and(|last| last.elapsed() < WARNING_INTERVAL) {
            return None;
        }
        *last = Some(Instant::now());
        Some(std::mem::take(count))
    }
}
