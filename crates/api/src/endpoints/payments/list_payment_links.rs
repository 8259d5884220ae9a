//! `GET /payment-links`

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use usher_engine::operations::LinkAmount;
use usher_engine::{ListedLink, Requester, StreamId};
use usher_protocol::lnurl;
use utoipa::ToSchema;

use crate::ApiState;
use crate::paging::{OrderQuery, PageQuery, page};
use crate::problem::Problem;
use crate::query::Parameters;

/// A payment link.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PaymentLink)]
pub(crate) struct Link {
    /// Where to read its events: `GET /events/{stream_id}`.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
    /// `open`, `closed`, `expired` (`expires_at`) or `completed` (`max_payments`).
    #[schema(pattern = "^(open|closed|expired|completed)$", example = "open")]
    status: &'static str,
    /// What each payer pays, in millisats, sats, or the minor unit of `currency`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 350)]
    amount: Option<u64>,
    /// The least that a payer may choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    min: Option<u64>,
    /// The most that a payer may choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    max: Option<u64>,
    /// `millisats`, `sats`, or the currency.
    #[schema(example = "EUR")]
    currency: String,
    /// What the payments are for.
    #[schema(example = "One coffee")]
    description: String,
    /// Your own reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "table-7")]
    request_id: Option<String>,
    /// Unix seconds from which no more invoices are given out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    expires_at: Option<u64>,
    /// After how many payments no more invoices are given out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    max_payments: Option<u32>,
    /// How many payments were made.
    #[schema(example = 12)]
    payments: u64,
    /// Its page.
    #[schema(example = "https://login.example/link/01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11/5b0c…")]
    page_url: String,
    /// The same for wallets (LNURL-pay).
    #[schema(example = "lnurl1dp68gurn8ghj7…")]
    lnurl: String,
    /// When it was created, in Unix seconds.
    #[schema(example = 1732137600)]
    created_at: u64,
}

impl From<ListedLink> for Link {
    fn from(ListedLink { link, state, terms, payments }: ListedLink) -> Self {
        let (unit, word) = if terms.in_sats { (1_000, "sats") } else { (1, "millisats") };
        let (amount, min, max) = match terms.amount {
            LinkAmount::Fixed { amount } => (Some(amount / unit), None, None),
            LinkAmount::Chosen { min, max } => (None, Some(min / unit), Some(max / unit)),
        };
        Self {
            stream_id: link.stream_id.to_string(),
            status: state.as_str(),
            amount,
            min,
            max,
            currency: terms.currency.map_or_else(|| word.to_owned(), |currency| currency.to_string()),
            description: terms.description,
            request_id: terms.reference,
            expires_at: terms.expires_at.map(|at| at.secs()),
            max_payments: terms.max_payments,
            payments,
            page_url: link.page_url,
            lnurl: lnurl::encode(&link.lnurl_url),
            created_at: link.stream_id.created_at().secs(),
        }
    }
}

page! {
    /// Payment links.
    PaymentLinkList sparse {
        /// The links, in the order of their creation; with `order=newest` the last first.
        links: Link,
    }
}

/// Lists payment links.
///
/// Those that are open, and those that have ended within the last 61 days: as long as an invoice of theirs may still be paid.
#[utoipa::path(
    get,
    path = "/payment-links",
    params(
        ("order" = inline(Option<String>), Query, pattern = "^(oldest|newest)$",
            description = "`oldest`, as by default, or `newest`: the last first. The pages of one list have one order."),
        PageQuery<StreamId>,
    ),
    responses(
        (status = 200, description = "The links.", body = List),
        (status = 503, description = "`storage_unavailable`"),
    ),
)]
pub(crate) async fn list_payment_links(
    State(state): State<ApiState>,
    Extension(requester): Extension<Requester>,
    Parameters(query): Parameters<(OrderQuery, PageQuery<StreamId>)>,
) -> Result<Json<List>, Problem> {
    let (OrderQuery(order), PageQuery { after, limit }) = query;
    let page = state.engine.payment_links().list(&requester, order, after, limit).await?;
    Ok(List::page(page.items, page.next))
}
