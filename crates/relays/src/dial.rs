//! Connecting to a relay.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls::{ClientConfig, RootCertStore};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_tungstenite::tungstenite::handshake::client::Response;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::RelayAddress;
use crate::dialer::{Dialer, Stream};
use crate::guard::{self, GuardError, Trust};
use crate::meter::{Frames, Meter, Wire};
use crate::options::{Burden, Timing};

/// A connection to a relay.
pub(crate) type Socket = WebSocketStream<Frames<Box<dyn Stream>>>;

/// Most addresses of one relay that are tried before a pause.
const MAX_ATTEMPTS: usize = 4;

/// What is read from or written to the socket at a time.
const BUFFER_BYTES: usize = 32 * 1024;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialError {
    #[error(transparent)]
    Guard(#[from] GuardError),
    #[error("cannot connect: {0}")]
    Tcp(#[source] io::Error),
    #[error("nobody answered in time")]
    TcpTimeout,
    #[error("the handshake failed: {0}")]
    Handshake(#[source] Box<tungstenite::Error>),
    #[error("users have too many relays at the same network address")]
    Crowded,
    #[error("the handshake took too long")]
    HandshakeTimeout,
}

/// How a relay is connected to.
pub(crate) struct DialOptions<'a> {
    pub(crate) trust: Trust,
    pub(crate) timing: &'a Timing,
    pub(crate) tls: &'a Arc<ClientConfig>,
    /// Largest message that is received at all, in bytes.
    pub(crate) frame_bytes: usize,
    pub(crate) burden: &'a Burden,
    /// Takes the place of guard and TCP.
    pub(crate) dialer: Option<&'a dyn Dialer>,
}

/// Connects, and leaves the relay's response to the handshake aside; see [`open`].
pub(crate) async fn dial(
    address: &RelayAddress,
    options: &DialOptions<'_>,
    admit: impl FnOnce(IpAddr) -> bool,
) -> Result<Socket, DialError> {
    open(address, options, admit).await.map(|(socket, _)| socket)
}

/// Connects to `address` at exactly one of the network addresses that the [guard] let pass, and goes on if `admit` says so
/// to that address. Redirects are not followed.
pub(crate) async fn open(
    address: &RelayAddress,
    options: &DialOptions<'_>,
    admit: impl FnOnce(IpAddr) -> bool,
) -> Result<(Socket, Response), DialError> {
    let DialOptions { trust, timing, tls, frame_bytes, burden, dialer } = *options;
    let stream: Box<dyn Stream> = match dialer {
        Some(dialer) => dialer.dial(address).await.map_err(DialError::Tcp)?,
        None => {
            let candidates = guard::resolve(address.host(), address.port(), trust, timing.resolve).await?;
            let (stream, peer) = connect(&candidates, timing).await?;
            if !admit(peer.ip()) {
                return Err(DialError::Crowded);
            }
            Box::new(stream)
        }
    };
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        // Never reached: no more is handed over than the socket takes, but for one message.
        .max_write_buffer_size(BUFFER_BYTES + frame_bytes.max(1024 * 1024))
        .max_message_size(Some(frame_bytes))
        .max_frame_size(Some(frame_bytes));
    let handshake = async {
        let meter = Arc::new(Meter::new(burden, timing.message_within, Instant::now()));
        let wire = Wire::new(stream, Arc::clone(&meter));
        let inside: Box<dyn Stream> = match address.server_name() {
            Some(name) => {
                let connecting = TlsConnector::from(Arc::clone(tls)).connect(name, wire);
                Box::new(connecting.await.map_err(|error| DialError::Handshake(Box::new(error.into())))?)
            }
            None => Box::new(wire),
        };
        let upgraded = client_async_with_config(address.as_str(), Frames::new(inside, meter), Some(config)).await;
        upgraded.map_err(|error| DialError::Handshake(Box::new(error)))
    };
    timeout(timing.handshake, handshake).await.unwrap_or(Err(DialError::HandshakeTimeout))
}

async fn connect(candidates: &[SocketAddr], timing: &Timing) -> Result<(TcpStream, SocketAddr), DialError> {
    let mut failure = DialError::TcpTimeout;
    for candidate in candidates.iter().take(MAX_ATTEMPTS) {
        match timeout(timing.connect, TcpStream::connect(candidate)).await {
            Ok(Ok(stream)) => {
                prepare(&stream, timing).map_err(DialError::Tcp)?;
                return Ok((stream, *candidate));
            }
            Ok(Err(error)) => failure = DialError::Tcp(error),
            Err(_) => {}
        }
    }
    Err(failure)
}

/// Messages are small and somebody waits for each: no delay. And the kernel notices by itself when the peer is gone,
/// sooner than our own pings when there is something to send.
fn prepare(stream: &TcpStream, timing: &Timing) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(timing.write_within))?;
    // The kernel counts in seconds and takes no zero.
    let whole = |time: Duration| time.max(Duration::from_secs(1));
    let keepalive = TcpKeepalive::new().with_time(whole(timing.ping_after)).with_interval(whole(timing.pong_within));
    socket.set_tcp_keepalive(&keepalive)
}

/// TLS with the web's certificate authorities, and *ring* whatever other provider is linked.
pub(crate) fn web_tls() -> Result<Arc<ClientConfig>, rustls::Error> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
