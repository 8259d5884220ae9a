//! `POST /calendar/next-occurrence`

use axum::Json;
use serde::Serialize;
use usher_engine::request_body;
use usher_engine::request_body::{CalendarText, Integer};
use utoipa::ToSchema;

use crate::body;

/// The largest integer that programs in all languages can represent; far beyond the last occurrence of any calendar.
const LATEST: u64 = i64::MAX as u64;

request_body! {
    /// A calendar, and a time.
    pub(crate) struct Body, BodyDraft = "CalendarNextOccurrenceRequest", example { "calendar": "monthly", "from": 1732137600 } {
        /// One of `minutely`, `hourly`, `daily`, `weekly`, `monthly`, `quarterly`, `semiannually`, `yearly`; or the systemd form
        /// to which wallets expand them, `[weekdays ]year-month-day hour:minute:second[ timezone]`, for example
        /// `Mon..Fri *-*-01,15 09:00:00 Europe/Rome`. The default time zone is UTC.
        calendar: CalendarText,
        /// Unix seconds.
        from: Integer<0, LATEST>,
    }
}

/// The next occurrence of a calendar.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CalendarNextOccurrence)]
pub(crate) struct NextOccurrence {
    /// Unix seconds, always after `from`; `null` if there is no occurrence before the year 2200.
    #[schema(required = true, minimum = 0, example = 1733011200)]
    next_occurrence: Option<u64>,
}

/// Computes the next occurrence of a calendar.
///
/// The due dates of a subscription are computed like this: after `first_payment_due`, each due date is the next
/// occurrence after the previous one. A day that a month does not have is skipped, and so is a time that does not
/// exist because clocks are put forward. A time that exists twice because clocks are put back is used once, the first
/// time.
#[utoipa::path(
    post,
    path = "/calendar/next-occurrence",
    request_body = Body,
    responses((status = 200, description = "The first occurrence after `from`, if there is one.", body = NextOccurrence)),
)]
pub(crate) async fn get_next_occurrence(body::Json(request): body::Json<Body>) -> Json<NextOccurrence> {
    Json(NextOccurrence { next_occurrence: request.calendar.next_after(request.from) })
}
