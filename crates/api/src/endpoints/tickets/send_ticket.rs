//! `POST /cashu/send-direct`

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use usher_engine::ports::RelayLinkState;
use usher_engine::{FieldValues, SendTicket, StreamId};
use utoipa::ToSchema;

use crate::ApiState;
use crate::body;
use crate::endpoints::operation_started::Error;
use crate::field_types::{CashuToken, Identifier, Key, Subkeys};
use crate::idempotency::IdempotencyContext;
use crate::request_body::{Aliased, RecipientKey, RequestBody, ValuesToCheck, request_body};
use crate::request_log;
use crate::tasks;

request_body! {
    /// Sends a ticket to a user.
    pub(crate) struct Body = "SendTicketRequest", example {
        "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
        "subkeys": [],
        "token": "cashuBo2FteBtodHRwczovL21pbnQuZXhhbXBsZS5jb21hdWVtdWx0aWF0gaJhaUgArSaLR8qGYGFwgaNhYQFhc3hA",
    } {
        /// Who gets it: 64 hex characters. Required, here or as `recipient_key`.
        main_key: Aliased<Key, RecipientKey>,
        /// Another name for `main_key`.
        recipient_key: Option<Key>,
        /// Keys of the user's devices that get it, too; usually none, at most 8.
        subkeys: Subkeys,
        /// The token, of any mint and unit. A message has room for 40,000 bytes.
        token: CashuToken,
        /// Your own reference, repeated in the events.
        request_id: Option<Identifier>,
    }
}

impl RequestBody for Body {
    type Request = SendTicket;

    fn complete(self) -> Option<SendTicket> {
        Some(SendTicket {
            main_key: self.main_key.or(self.recipient_key)?,
            subkeys: self.subkeys?,
            token: self.token?,
            reference: self.request_id,
        })
    }

    fn values(&self) -> Option<ValuesToCheck> {
        Some(ValuesToCheck::Engine(FieldValues::SentTicket { token: self.token.clone() }))
    }
}

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
    request_body = Body,
    responses(
        (status = 200, description = "The ticket is stored and will be sent.", body = Sent),
        (status = 422, description = "`invalid_request`: Some fields are wrong; or the token is malformed, too large, or \
            being sent to somebody else (`/token`)."),
        (status = 503, description = "`storage_unavailable`: The database is unavailable.\n\n\
            `overloaded`: `limits.max_open_streams` is reached."),
    ),
)]
pub(crate) async fn send_ticket(
    State(state): State<ApiState>,
    idempotency: Option<Extension<IdempotencyContext>>,
    body::Json(request): body::Json<Body>,
) -> Result<Json<Sent>, Error> {
    let engine = state.engine.clone();
    let is_connected = state.relays.relays().iter().any(|relay| relay.state == RelayLinkState::Connected);
    let status = if is_connected { "sent" } else { "queued" };
    let once = idempotency
        .map(|Extension(idempotency)| idempotency.request(move |stream: &StreamId| Sent::on(stream, status)));
    let stream = tasks::run_detached(&state, async move { engine.tickets().send(request, once).await }).await??;
    request_log::record_stream_id(&stream);
    Ok(Json(Sent::on(&stream, status)))
}
