use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_tungstenite::client_async_with_config;
use tokio_tungstenite::tungstenite;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::client::Response;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::header::USER_AGENT;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use url::{Host, Url};

use crate::address_guard::{self, AddressSource, GuardError};
use crate::connection::Connection;
use crate::dialer::{ByteStream, Dialer};
use crate::gated_stream::{GatedStream, WriteGate};
use crate::overhead_limits::{Metered, ReadMeter};
use crate::time_limits::Timing;
use crate::tls::web_tls;

/// Most addresses of a relay tried before a pause.
const MAX_ATTEMPTS: usize = 4;

const BUFFER_BYTES: usize = 32 * 1024;

/// Why connecting failed. Does not contain the relay's URL, which may be a secret.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The URL has no host.
    #[error("the URL has no host")]
    NoHost,
    /// The relay's name has no address that may be connected to.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// TCP failed.
    #[error("cannot connect: {0}")]
    Tcp(#[source] io::Error),
    /// No address accepted the connection in time.
    #[error("no address accepted the connection in time")]
    TcpTimeout,
    /// TLS cannot be set up.
    #[error("TLS cannot be used: {0}")]
    Tls(#[from] rustls::Error),
    /// TLS or the WebSocket handshake failed.
    #[error("the handshake failed: {0}")]
    Handshake(#[source] Box<tungstenite::Error>),
    /// The caller refused this network address.
    #[error("too many connections to the same network address")]
    NotAdmitted,
    /// TLS and the WebSocket handshake took too long.
    #[error("the handshake took too long")]
    HandshakeTimeout,
}

/// Options of a connection.
#[derive(Clone, Copy, Debug)]
pub struct DialOptions<'a> {
    /// Who supplied the URL.
    pub source: AddressSource,
    /// Time limits, also of the connection.
    pub timing: &'a Timing,
    /// For `wss://`; `None` means the web's certificate authorities.
    pub tls: Option<&'a Arc<ClientConfig>>,
    /// Largest message received, in bytes; a larger one ends the connection.
    pub max_message_bytes: usize,
    /// Replaces name resolution, the address guard and TCP in simulations.
    pub dialer: Option<&'a dyn Dialer>,
    /// Whether anything may be sent; `None` means always.
    pub gate: Option<&'a WriteGate>,
}

impl<'a> DialOptions<'a> {
    /// Without restrictions and replacements.
    pub const fn new(source: AddressSource, timing: &'a Timing, max_message_bytes: usize) -> Self {
        Self { source, timing, tls: None, max_message_bytes, dialer: None, gate: None }
    }
}

/// As [`open`], without the handshake response.
pub async fn dial(
    url: &Url,
    options: &DialOptions<'_>,
    admit: impl FnOnce(IpAddr) -> bool,
) -> Result<Connection, DialError> {
    open(url, options, admit).await.map(|(connection, _)| connection)
}

/// Connects to `url` (`ws` or `wss`) at exactly one of the network addresses that the [address guard](address_guard)
/// allows, if `admit` accepts that address too. Does not follow redirects. Also returns the relay's response to the
/// WebSocket handshake.
pub async fn open(
    url: &Url,
    options: &DialOptions<'_>,
    admit: impl FnOnce(IpAddr) -> bool,
) -> Result<(Connection, Response), DialError> {
    let DialOptions { source, timing, tls, max_message_bytes, dialer, gate } = *options;
    let host = url.host().ok_or(DialError::NoHost)?;
    let stream: Box<dyn ByteStream> = match dialer {
        Some(dialer) => dialer.dial(url).await.map_err(DialError::Tcp)?,
        None => {
            let port = url.port_or_known_default().unwrap_or(443);
            let candidates = address_guard::resolve(host.clone(), port, source, timing.resolve).await?;
            let (stream, peer) = connect(&candidates, timing).await?;
            if !admit(peer.ip()) {
                return Err(DialError::NotAdmitted);
            }
            Box::new(stream)
        }
    };
    let stream: Box<dyn ByteStream> = match gate {
        Some(gate) => Box::new(GatedStream { stream, gate: gate.clone() }),
        None => stream,
    };
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        // Never reached: no more is passed than the socket accepts, except for one message.
        .max_write_buffer_size(BUFFER_BYTES + max_message_bytes.max(1024 * 1024))
        .max_message_size(Some(max_message_bytes))
        .max_frame_size(Some(max_message_bytes));
    let has_tls = url.scheme() == "wss";
    let meter = ReadMeter::new(max_message_bytes, timing.message_within, has_tls, Instant::now());
    let metered = Metered::new(stream, Arc::clone(&meter));
    let handshake = async {
        let plaintext: Box<dyn ByteStream> = if has_tls {
            let tls = tls.map_or_else(web_tls, |tls| Ok(Arc::clone(tls)))?;
            let connecting = TlsConnector::from(tls).connect(server_name(&host), metered);
            Box::new(connecting.await.map_err(|error| DialError::Handshake(Box::new(error.into())))?)
        } else {
            Box::new(metered)
        };
        let failed = |error| DialError::Handshake(Box::new(error));
        let mut request = url.as_str().into_client_request().map_err(failed)?;
        // Some relays refuse clients without a `User-Agent`.
        request
            .headers_mut()
            .insert(USER_AGENT, HeaderValue::from_static(concat!("Usher/", env!("CARGO_PKG_VERSION"))));
        client_async_with_config(request, plaintext, Some(config)).await.map_err(failed)
    };
    let upgraded = timeout(timing.handshake, handshake).await;
    let (socket, response) = upgraded.unwrap_or(Err(DialError::HandshakeTimeout))?;
    Ok((Connection::new(socket, meter, timing.clone(), Instant::now()), response))
}

fn server_name(host: &Host<&str>) -> ServerName<'static> {
    match host {
        Host::Ipv4(ip) => IpAddr::V4(*ip).into(),
        Host::Ipv6(ip) => IpAddr::V6(*ip).into(),
        // A host that is not a DNS name gets a name that no certificate has.
        Host::Domain(name) => ServerName::try_from((*name).to_owned())
            .unwrap_or_else(|_| IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED).into()),
    }
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

/// Disables Nagle's algorithm, and lets the kernel detect a dead peer, which after a send is faster than our pings.
fn prepare(stream: &TcpStream, timing: &Timing) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(timing.write_within))?;
    // The kernel counts whole seconds and refuses zero.
    let whole = |time: Duration| time.max(Duration::from_secs(1));
    let keepalive = TcpKeepalive::new().with_time(whole(timing.ping_after)).with_interval(whole(timing.pong_within));
    socket.set_tcp_keepalive(&keepalive)
}
