//! `POST /calendar/next-occurrence`

use axum::Json;
use serde::Serialize;
use serde_json::Value;
use usher_protocol::calendar::Calendar;
use utoipa::ToSchema;

use crate::body::{self, JsonBody};
use crate::field_reader::{self, Errors, Fields};

/// The largest integer that programs of all languages can hold; far beyond the last occurrence of any calendar.
const LATEST: u64 = i64::MAX as u64;

/// A calendar, and a time.
#[derive(Debug, ToSchema)]
#[schema(as = CalendarNextOccurrenceRequest, example = json!({ "calendar": "monthly", "from": 1732137600 }))]
#[expect(dead_code, reason = "describes the body that `JsonBody for Request` reads")]
pub(crate) struct RequestBody {
    /// One of `minutely`, `hourly`, `daily`, `weekly`, `monthly`, `quarterly`, `semiannually`, `yearly`; or the form of
    /// systemd to which wallets expand them, `[weekdays ]year-month-day hour:minute:second[ timezone]`, such as
    /// `Mon..Fri *-*-01,15 09:00:00 Europe/Rome`. Without a time zone it is UTC.
    #[schema(format = "calendar", max_length = 2048)]
    calendar: String,
    /// Unix seconds.
    #[schema(minimum = 0, maximum = 9_223_372_036_854_775_807_i64)]
    from: u64,
}

/// What was read of it.
pub(crate) struct Request {
    calendar: Calendar,
    from: u64,
}

impl JsonBody for Request {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let calendar = fields.required("calendar", calendar);
        let from = fields.required("from", field_reader::integer::<0, LATEST>);
        Some(Self { calendar: calendar?, from: from? })
    }
}

/// When the calendar comes next.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CalendarNextOccurrence)]
pub(crate) struct NextOccurrence {
    /// Unix seconds, always after `from`; `null` when the calendar does not come any more before the year 2200.
    #[schema(required = true, minimum = 0, example = 1733011200)]
    next_occurrence: Option<u64>,
}

/// Says when a calendar comes next.
///
/// That is how the due dates of a subscription follow each other: after `first_payment_due`, each is the next occurrence
/// after the one before. A day that a month does not have is passed over, and so is a time that clocks leave out when they
/// are put forward; a time that comes twice when they are put back counts once, the first time.
#[utoipa::path(
    post,
    path = "/calendar/next-occurrence",
    request_body = RequestBody,
    responses((status = 200, description = "The first occurrence after `from`, if there is one.", body = NextOccurrence)),
)]
pub(crate) async fn get_next_occurrence(body::Json(request): body::Json<Request>) -> Json<NextOccurrence> {
    Json(NextOccurrence { next_occurrence: request.calendar.next_after(request.from) })
}

/// A calendar in any spelling.
fn calendar(pointer: &str, value: &Value, errors: &mut Errors) -> Option<Calendar> {
    let text = field_reader::text(pointer, value, errors)?;
    text.parse().ok().or_else(|| {
        errors.note(
            pointer,
            "must be one of minutely, hourly, daily, weekly, monthly, quarterly, semiannually, yearly, or of the form \
             [weekdays ]year-month-day hour:minute:second[ timezone]",
        )
    })
}
