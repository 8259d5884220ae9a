//! `POST /calendar/next-occurrence`; what calendars mean is tested in `usher-protocol`.

use serde_json::json;

use crate::app::TestApp;

/// 2026-11-21 04:36:13 UTC, a Saturday.
const FROM: u64 = 1_795_235_773;
/// 2026-11-21 00:00:00 UTC.
const MIDNIGHT: u64 = 1_795_219_200;
const DAY: u64 = 86_400;
const YEAR_2200: u64 = 7_258_118_400;

#[tokio::test]
async fn calendars_have_a_next_occurrence_or_none() {
    let app = TestApp::start().await;
    for (calendar, from, expected) in [
        ("weekly", FROM, json!(MIDNIGHT + 2 * DAY)),
        ("Mon..Fri *-*-* 09:00:00 Europe/Rome", FROM, json!(MIDNIGHT + 2 * DAY + 8 * 3_600)),
        ("*-02-30 00:00:00", FROM, json!(null)),
        ("daily", 0, json!(DAY)),
        ("daily", MIDNIGHT, json!(MIDNIGHT + DAY)),
        ("daily", YEAR_2200 - DAY - 1, json!(YEAR_2200 - DAY)),
        ("daily", YEAR_2200 - DAY, json!(null)),
        ("daily", i64::MAX as u64, json!(null)),
    ] {
        let body = json!({ "calendar": calendar, "from": from, "x": 1 });
        let answer = app.call("POST", "/calendar/next-occurrence", body).await;
        assert_eq!(answer, (200, json!({ "next_occurrence": expected })), "{calendar} {from}");
    }
}
