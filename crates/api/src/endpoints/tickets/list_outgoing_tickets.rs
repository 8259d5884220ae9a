//! `GET /cashu/outgoing`

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use usher_engine::operations::DeliveryView;
use usher_engine::{Requester, StreamId};
use utoipa::ToSchema;

use crate::ApiState;
use crate::paging::{OrderQuery, PageQuery, page};
use crate::problem::Problem;
use crate::query::Parameters;

page! {
    /// Tickets that were sent.
    OutgoingTicketList sparse {
        /// The tickets, in the order in which they were sent; with `order=newest` the last first.
        outgoing: Outgoing,
    }
}

/// A ticket that was sent and is not known to be redeemed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OutgoingTicket)]
pub(crate) struct Outgoing {
    /// Its stream.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
    /// The user.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e")]
    main_key: String,
    /// The mint.
    #[schema(example = "https://mint.example")]
    mint_url: String,
    /// The unit.
    #[schema(example = "multi")]
    unit: String,
    /// Its value in the unit, as the token states it.
    #[schema(example = 1)]
    amount: u64,
    /// `queued`: not sent yet. `sent`: it is sent again and again. `timeout`: not redeemed in time, and not sent any more.
    /// `reclaiming`: being taken back.
    #[schema(pattern = "^(queued|sent|timeout|reclaiming)$", example = "sent")]
    status: &'static str,
    /// When it was first sent, in Unix seconds.
    #[schema(example = 1732137600)]
    created_at: u64,
    /// Until when it is sent, in Unix seconds.
    #[schema(example = 1732742400)]
    expires_at: u64,
}

impl From<(StreamId, DeliveryView)> for Outgoing {
    fn from((stream_id, delivery): (StreamId, DeliveryView)) -> Self {
        let DeliveryView { main_key, mint_url, unit, amount, status, expires_at } = delivery;
        Self {
            stream_id: stream_id.to_string(),
            main_key: main_key.to_hex(),
            mint_url,
            unit,
            amount,
            status: status.as_str(),
            created_at: stream_id.created_at().secs(),
            expires_at,
        }
    }
}

/// Lists tickets that were sent and that are not known to be redeemed.
///
/// A ticket leaves the list when the mint says that it is spent, and when it is reclaimed.
#[utoipa::path(
    get,
    path = "/cashu/outgoing",
    params(
        ("order" = inline(Option<String>), Query, pattern = "^(oldest|newest)$",
            description = "`oldest`, as by default, or `newest`: the last first. The pages of one list have one order."),
        PageQuery<StreamId>,
    ),
    responses(
        (status = 200, description = "The tickets.", body = List),
        (status = 503, description = "`storage_unavailable`"),
    ),
)]
pub(crate) async fn list_outgoing_tickets(
    State(state): State<ApiState>,
    Extension(requester): Extension<Requester>,
    Parameters(query): Parameters<(OrderQuery, PageQuery<StreamId>)>,
) -> Result<Json<List>, Problem> {
    let (OrderQuery(order), PageQuery { after, limit }) = query;
    let page = state.engine.tickets().outgoing(&requester, order, after, limit).await?;
    Ok(List::page(page.items, page.next))
}
