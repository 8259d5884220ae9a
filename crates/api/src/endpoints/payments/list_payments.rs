//! `GET /payments`

use axum::extract::State;
use axum::{Extension, Json};
use usher_engine::ports::{PaymentFilter, PaymentRecordStatus};
use usher_engine::{FieldErrors, Requester, StreamId, UnixMillis};

use super::booked_payment::Payment;
use crate::ApiState;
use crate::paging::{PageQuery, page};
use crate::problem::Problem;
use crate::query::{Parameters, Query, ReadQuery};

/// The end of the year 9999.
const LATEST: u64 = 253_402_300_799;

impl ReadQuery for PaymentFilter {
    fn read(query: &Query<'_>, errors: &mut FieldErrors) -> Self {
        let from = query.integer("from", 0..=LATEST, errors).map(UnixMillis::from_secs);
        let to = query.integer("to", 0..=LATEST, errors).map(UnixMillis::from_secs);
        let status = query.text("status", errors).and_then(|word| {
            let words = "must be `open`, `paid`, `not_paid` or `unknown`";
            PaymentRecordStatus::parse(&word).or_else(|| errors.reject("/status", words))
        });
        Self { from, to, status }
    }
}

page! {
    /// Payments.
    PaymentList {
        /// The payments, in the order in which they were requested.
        payments: Payment,
    }
}

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
    Parameters(query): Parameters<(PaymentFilter, PageQuery<StreamId>)>,
) -> Result<Json<List>, Problem> {
    let (filter, PageQuery { after, limit }) = query;
    let page = state.engine.payments().list(&requester, filter, after, limit).await?;
    Ok(List::page(page.items, page.next))
}
