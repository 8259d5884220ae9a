//! `POST /cashu/send-direct`

use axum::Json;
use serde::Serialize;
use usher_engine::ports::RelayLinkState;
use usher_engine::{SendTicket, StreamId};
use utoipa::ToSchema;

use crate::body;
use crate::endpoints::change::Change;
use crate::problem::Problem;
use crate::request_log;

/// A ticket that is on its way.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TicketSent)]
pub(crate) struct Sent {
    /// Where to read what becomes of it: `GET /events/{stream_id}`.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
    /// `sent`: it is being sent. `queued`: it is stored, and will be sent as soon as a relay is connected.
    #[schema(pattern = "^(sent|queued)$", example = "sent")]
    status: &'static str,
}

impl Sent {
    fn on(stream: &StreamId, status: &'static str) -> Self {
        Self { stream_id: stream.to_string(), status }
    }
}

/// Sends a ticket to a user's wallet.
///
/// The token is stored before the response, and then sent again and again, less and less often, until the mint says that it
/// is spent: the user has redeemed it, and the stream gets `CashuResponse` `{status: "success"}`. After
/// `cashu.send_ttl_hours` (a week) the stream gets `StatusUpdate` `{status: "timeout"}`. The token is not lost then: it stays
/// in the list of `GET /cashu/outgoing`, and `POST /cashu/outgoing/{stream_id}/reclaim` takes it back. While a token is
/// being sent, the same request gets the same stream.
#[utoipa::path(
    post,
    path = "/cashu/send-direct",
    request_body = SendTicket,
    responses(
        (status = 200, description = "The ticket is stored and will be sent.", body = Sent),
        (status = 422, description = "`invalid_request`: Some fields are wrong; or the token is malformed, too large, or \
            being sent to somebody else (`/token`)."),
        (status = 503, description = "`storage_unavailable`\n\n`overloaded`"),
    ),
)]
pub(crate) async fn send_ticket(
    change: Change,
    body::Checked(request): body::Checked<SendTicket>,
) -> Result<Json<Sent>, Problem> {
    let is_connected = change.state.relays.relays().iter().any(|relay| relay.state == RelayLinkState::Connected);
    let status = if is_connected { "sent" } else { "queued" };
    let once = change.once(move |stream: &StreamId| Sent::on(stream, status));
    let stream = change.state.engine.tickets().send(&change.requester, request, once).await?;
    request_log::record_stream_id(&stream);
    Ok(Json(Sent::on(&stream, status)))
}
