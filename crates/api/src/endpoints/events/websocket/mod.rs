//! `GET /ws`

mod close_reason;
mod command;
mod encode;
mod handshake;
mod pre_auth_limits;
mod requests;
mod session;
mod socket;
mod stream_watches;

use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::FutureExt as _;
use http::Version;
use tracing::{Instrument as _, Span};

use self::handshake::HandshakeError;
use self::session::Session;
use self::socket::Socket;
use crate::ApiState;
use crate::auth::Authorization;
use crate::connection_lease::ConnectionLease;
use crate::peer_address::ClientAddress;
use crate::problem::Problem;

/// Opens a WebSocket for events and requests.
///
/// A client that cannot set headers, such as a browser, omits `Authorization` and sends
/// `{"id":"1","cmd":"auth","params":{"token":"…"}}` as the first message within 10 seconds. The commands are
/// `subscribe`, `unsubscribe`, `ping` and `request`; `docs/api.md` describes all messages, close codes and limits.
#[utoipa::path(
    get,
    path = "/ws",
    params(
        ("Connection" = String, Header, pattern = "^[Uu]pgrade$", description = "`Upgrade`."),
        ("Upgrade" = String, Header, pattern = "^[Ww]eb[Ss]ocket$", description = "`websocket`."),
        ("Sec-WebSocket-Version" = u64, Header, minimum = 13, maximum = 13, description = "`13`."),
        ("Sec-WebSocket-Key" = String, Header, pattern = "^[0-9A-Za-z+/]{22}==$",
            description = "16 random bytes in Base64.", example = "dGhlIHNhbXBsZSBub25jZQ=="),
    ),
    responses(
        (status = 101, description = "The WebSocket is open."),
        (status = 426, description = "`upgrade_required`: This is not an opening handshake (RFC 6455, version 13)."),
        (status = 503, description = "`overloaded`: `limits.max_websockets` or `limits.max_connections` is reached."),
    ),
)]
pub(crate) async fn open_web_socket(State(state): State<ApiState>, mut request: Request) -> Result<Response, Problem> {
    let response = handshake::accept(request.method(), request.headers())?;
    if request.version() != Version::HTTP_11 {
        return Err(HandshakeError::NotAnUpgrade.into());
    }
    // Without one, the token comes in the first message.
    let authorization = request.extensions_mut().remove::<Authorization>();
    // A client that has not sent the token does not count towards `limits.max_websockets` yet, only towards the limits of
    // connections.
    let permit = match &authorization {
        Some(client) => Some(state.websockets.take(client.origin())?),
        None => None,
    };
    let client = request.extensions().get::<ClientAddress>().copied();
    let lease = request.extensions_mut().remove::<ConnectionLease>().ok_or(HandshakeError::NotAnUpgrade)?;
    let upgrade = hyper::upgrade::on(&mut request);
    let tasks = state.tasks.clone();
    let run = async move {
        let Ok(io) = upgrade.await else { return };
        let limits = &state.limits;
        let socket =
            Socket::new(io, authorization.is_some(), limits.body_bytes, limits.socket_send_timeout).boxed().await;
        let session = Box::new(Session::new(state, lease.clone(), socket, client));
        tokio::select! {
            () = lease.cut().cancelled_owned() => {}
            () = session.run(authorization, permit) => {}
        }
        // The connection's place is free again.
        drop(lease);
    };
    tasks.spawn(run.instrument(Span::current()));
    Ok(response)
}
