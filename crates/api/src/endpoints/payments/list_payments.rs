//! `GET /payments`

use axum::extract::{RawQuery, State};
use axum::{Extension, Json};
use serde::Serialize;
use usher_engine::ports::{PaymentFilter, PaymentRecordStatus};
use usher_engine::{FieldError, FieldErrors, Requester, StreamId, UnixMillis};
use utoipa::ToSchema;

use super::booked_payment::Payment;
use crate::ApiState;
use crate::paging::{ListError, PageQuery};
use crate::query::Query;

/// The end of the year 9999.
const LATEST: u64 = 253_402_300_799;

/// The query.
#[derive(Debug)]
struct Parameters {
    filter: PaymentFilter,
    page: PageQuery<StreamId>,
}

impl Parameters {
    fn read(query: Option<&str>) -> Result<Self, Vec<FieldError>> {
        let mut errors = FieldErrors::default();
        let query = Query::new(query);
        let from = query.integer("from", 0..=LATEST, &mut errors).map(UnixMillis::from_secs);
        let to = query.integer("to", 0..=LATEST, &mut errors).map(UnixMillis::from_secs);
        let status = query.text("status", &mut errors).and_then(|word| {
            let words = "must be `open`, `paid`, `not_paid` or `unknown`";
            PaymentRecordStatus::from_word(&word).or_else(|| errors.reject("/status", words))
        });
        let page = PageQuery::read(&query, &mut errors);
        errors.finish(Some(Self { filter: PaymentFilter { from, to, status }, page }))
    }
}

/// Payments.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PaymentList)]
pub(crate) struct List {
    /// The payments, in the order in which they were requested.
    payments: Vec<Payment>,
    /// The `after` for the next page; `null` if this is the last one.
    #[schema(example = json!(null))]
    next: Option<String>,
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
        (status = 503, description = "`storage_unavailable`: The database is unavailable."),
    ),
)]
pub(crate) async fn list_payments(
    State(state): State<ApiState>,
    Extension(requester): Extension<Requester>,
    RawQuery(query): RawQuery,
) -> Result<Json<List>, ListError> {
    let Parameters { filter, page: PageQuery { after, limit } } =
        Parameters::read(query.as_deref()).map_err(ListError::Invalid)?;
    let page = state.engine.payments().list(&requester, filter, after, limit).await?;
    Ok(Json(List {
        payments: page.payments.into_iter().map(Payment::from).collect(),
        next: page.next.map(|next| next.to_string()),
    }))
}
