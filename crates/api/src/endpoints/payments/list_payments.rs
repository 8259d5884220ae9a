//! `GET /payments`

use axum::extract::State;
use axum::{Extension, Json};
use usher_engine::ports::{PaymentFilter, PaymentRecordStatus};
use usher_engine::{FieldErrors, Order, Requester, StreamId, UnixMillis};

use super::booked_payment::Payment;
use crate::ApiState;
use crate::paging::{OrderQuery, PageQuery, page};
use crate::problem::Problem;
use crate::query::{LATEST, Parameters, Query, ReadQuery};

/// Most characters of a search: invoices are long.
const MAX_SEARCH: usize = 2_048;

/// What is searched for.
pub(crate) struct Search(Option<String>);

impl ReadQuery for Search {
    fn read(query: &Query<'_>, errors: &mut FieldErrors) -> Self {
        let text = query.text("q", errors).and_then(|text| {
            let is_possible = (1..=MAX_SEARCH).contains(&text.chars().count());
            if is_possible {
                Some(text)
            } else {
                errors.reject("/q", format!("must have 1 to {MAX_SEARCH} characters"))
            }
        });
        Self(text.map(Into::into))
    }
}

impl ReadQuery for PaymentFilter {
    fn read(query: &Query<'_>, errors: &mut FieldErrors) -> Self {
        let from = query.integer("from", 0..=LATEST, errors).map(UnixMillis::from_secs);
        let to = query.integer("to", 0..=LATEST, errors).map(UnixMillis::from_secs);
        let status = query.text("status", errors).and_then(|word| {
            let words = "must be `open`, `paid`, `not_paid` or `unknown`";
            PaymentRecordStatus::parse(&word).or_else(|| errors.reject("/status", words))
        });
        let is_incoming = query.text("direction", errors).and_then(|word| match &*word {
            "in" => Some(true),
            "out" => Some(false),
            _ => errors.reject("/direction", "must be `in` or `out`"),
        });
        Self { from, to, status, is_incoming }
    }
}

page! {
    /// Payments.
    PaymentList sparse {
        /// The payments, in the order in which they were requested; with `order=newest` or `q` the last first.
        payments: Payment,
    }
}

type Selection = (PaymentFilter, Search);

/// Lists the payments that the service received or made: its books.
///
/// They stay for `payments.records_days` after their end, longer than their streams, and name no user. Over any time in which
/// no payment was `open` or `unknown`, the balance of the Lightning backend has changed by the `settled_millisats` of `in`, less
/// `settled_millisats` and `fee_millisats` of `out`; what was paid from the same wallet in other ways, and the fees of channels, come
/// on top. Invoices that users pay to others are not in it.
#[utoipa::path(
    get,
    path = "/payments",
    params(
        ("from" = inline(Option<u64>), Query, maximum = 253_402_300_799_i64,
            description = "Only those requested at this time or later, in Unix seconds."),
        ("to" = inline(Option<u64>), Query, maximum = 253_402_300_799_i64,
            description = "Only those requested before this time, in Unix seconds."),
        ("status" = inline(Option<String>), Query, pattern = "^(open|paid|not_paid|unknown)$",
            description = "Only those with this status: `open`, `paid`, `not_paid` or `unknown`."),
        ("direction" = inline(Option<String>), Query, pattern = "^(in|out)$",
            description = "Only those to the service (`in`), or by it (`out`)."),
        ("order" = inline(Option<String>), Query, pattern = "^(oldest|newest)$",
            description = "`oldest`, as by default, or `newest`: the last first."),
        ("q" = inline(Option<String>), Query, min_length = 1, max_length = 2048,
            description = "Only those with this `stream_id`, `payment_hash`, invoice, `txid` or `request_id`, and refunds of that \
                stream, the last first. If there are none: those with this text in their `description`, in upper or lower case, if it has at \
                least 3 characters. A request searches 20,000 payments: continue while `next` is not `null`."),
        PageQuery<StreamId>,
    ),
    responses(
        (status = 200, description = "The payments.", body = List),
        (status = 503, description = "`storage_unavailable`"),
    ),
)]
pub(crate) async fn list_payments(
    State(state): State<ApiState>,
    Extension(requester): Extension<Requester>,
    Parameters(query): Parameters<(Selection, (OrderQuery, PageQuery<StreamId>))>,
) -> Result<Json<List>, Problem> {
    let ((filter, Search(text)), (OrderQuery(order), PageQuery { after, limit })) = query;
    let payments = state.engine.payments();
    let page = match (text, order) {
        (Some(text), _) => payments.search(&requester, &text, filter, after, limit).await?,
        (None, Order::Newest) => payments.newest(&requester, filter, after, limit).await?,
        (None, Order::Oldest) => payments.list(&requester, filter, after, limit).await?,
    };
    Ok(List::page(page.items, page.next))
}
