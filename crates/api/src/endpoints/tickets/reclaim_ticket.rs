//! `POST /cashu/outgoing/{stream_id}/reclaim`

use axum::Json;
use serde::Serialize;
use usher_engine::request_body;
use usher_engine::request_body::{Aliased, MintAuth, StaticAuthToken};
use usher_engine::{StreamId, TicketCallError};
use utoipa::ToSchema;

use crate::body;
use crate::endpoints::change::Change;
use crate::path_parameter::PathParameter;
use crate::problem::Problem;
use crate::request_log;

request_body! {
    /// Takes back a ticket that was sent.
    pub(crate) struct Body, BodyDraft = "ReclaimTicketRequest", example {} {
        /// The token by which the mint knows who may use it (header `Clear-auth`), if it wants one.
        auth as "static_token": Aliased<Option<MintAuth>, StaticAuthToken>,
    }
}

/// A ticket that was taken back.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TicketReclaimed)]
pub(crate) struct Reclaimed {
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
    /// `reclaimed`.
    #[schema(example = "reclaimed")]
    status: &'static str,
    /// What the service received, in the ticket's unit: its value without the mint's fee.
    #[schema(example = 1)]
    amount: u64,
}

impl Reclaimed {
    fn of(stream: StreamId, amount: u64) -> Self {
        Self { stream_id: stream.to_string(), status: "reclaimed", amount }
    }
}

/// Takes back a ticket that was sent and not redeemed.
///
/// The service redeems the ticket itself: the user's copy becomes worthless, and the value joins the service's own balance
/// (`GET /cashu/balances`). The stream is done. A ticket that was reclaimed already gets the same response.
///
/// A ticket that is no longer listed, because the mint says that it is spent, can be reclaimed until its stream is removed: the
/// mint may have been wrong. It is redeemed if the mint agrees.
#[utoipa::path(
    post,
    path = "/cashu/outgoing/{stream_id}/reclaim",
    params(("stream_id" = String, Path, description = "The `stream_id` of `POST /cashu/send-direct`.")),
    request_body = Body,
    responses(
        (status = 200, description = "The ticket is redeemed into the service's own balance.", body = Reclaimed),
        (status = 404, description = "`stream_not_found`: No ticket was sent with this stream, or it was removed after \
            `streams.retention_days`."),
        (status = 409, description = "`token_already_spent`: The mint says that it is spent: usually the user has redeemed it. \
            Or another delivery sends it.\n\n\
            `token_pending`: The mint holds it as pending, for example because the user is redeeming it. Repeat the \
            request later."),
        (status = 502, description = "`mint_error`"),
        (status = 503, description = "`storage_unavailable`\n\n`overloaded`: Too many tickets wait for their mints."),
        (status = 504, description = "`mint_timeout`: The mint did not respond in time. The work continues: repeat the \
            request."),
    ),
)]
pub(crate) async fn reclaim_ticket(
    change: Change,
    PathParameter(stream): PathParameter<StreamId>,
    body::OptionalJson(Body { auth }): body::OptionalJson<Body>,
) -> Result<Json<Reclaimed>, Problem> {
    // Text that is not a stream id names no stream.
    let stream = stream.ok_or(TicketCallError::NotFound)?;
    request_log::record_stream_id(&stream);
    let reclaimed = move |amount: &u64| Reclaimed::of(stream, *amount);
    change
        .wait_for_mint(reclaimed, |engine, requester, once| async move {
            engine.tickets().reclaim(&requester, stream, auth, once).await
        })
        .await
}
