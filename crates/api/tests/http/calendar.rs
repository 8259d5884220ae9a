//! `POST /calendar/next-occurrence`

use serde_json::{Value, json};

use crate::app::TestApp;

impl TestApp {
    async fn next_occurrence(&self, body: &Value) -> (u16, Value) {
        let response = self.post("/calendar/next-occurrence").json(body).send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }
}

/// 2026-11-21 04:36:13 UTC, a Saturday.
const FROM: u64 = 1_795_235_773;
/// 2026-11-21 00:00:00 UTC.
const MIDNIGHT: u64 = 1_795_219_200;
const DAY: u64 = 86_400;
const YEAR_2200: u64 = 7_258_118_400;

#[tokio::test]
async fn keywords_and_expressions_have_a_next_occurrence() {
    let app = TestApp::start().await;
    for (calendar, expected) in [
        ("minutely", json!(FROM - 13 + 60)),
        ("hourly", json!(MIDNIGHT + 5 * 3_600)),
        ("daily", json!(MIDNIGHT + DAY)),
        ("weekly", json!(MIDNIGHT + 2 * DAY)),
        ("monthly", json!(MIDNIGHT + 10 * DAY)),
        ("quarterly", json!(MIDNIGHT + 41 * DAY)),
        ("semiannually", json!(MIDNIGHT + 41 * DAY)),
        ("yearly", json!(MIDNIGHT + 41 * DAY)),
        ("*-*-1 0:0:0", json!(MIDNIGHT + 10 * DAY)),
        ("Mon..Fri *-*-* 09:00:00 Europe/Rome", json!(MIDNIGHT + 2 * DAY + 8 * 3_600)),
        ("*-02-30 00:00:00", json!(null)),
        ("2026-11-21 04:36:13", json!(null)),
    ] {
        let answer = app.next_occurrence(&json!({ "calendar": calendar, "from": FROM, "x": 1 })).await;
        assert_eq!(answer, (200, json!({ "next_occurrence": expected })), "{calendar}");
    }
    app.stop().await;
}

#[tokio::test]
async fn extreme_times_are_accepted() {
    let app = TestApp::start().await;
    for (from, expected) in [
        (0, json!(DAY)),
        (MIDNIGHT - 1, json!(MIDNIGHT)),
        (MIDNIGHT, json!(MIDNIGHT + DAY)),
        (YEAR_2200 - DAY - 1, json!(YEAR_2200 - DAY)),
        (YEAR_2200 - DAY, json!(null)),
        (YEAR_2200, json!(null)),
        (i64::MAX as u64, json!(null)),
    ] {
        let answer = app.next_occurrence(&json!({ "calendar": "daily", "from": from })).await;
        assert_eq!(answer, (200, json!({ "next_occurrence": expected })), "{from}");
    }
    app.stop().await;
}

#[tokio::test]
async fn all_invalid_fields_are_reported_together() {
    let app = TestApp::start().await;
    let calendars = "must be one of minutely, hourly, daily, weekly, monthly, quarterly, semiannually, yearly, or of \
                     the form [weekdays ]year-month-day hour:minute:second[ timezone]";
    let times = "must be an integer from 0 to 9223372036854775807";
    for (body, expected) in [
        (json!({}), json!([["/calendar", "is required"], ["/from", "is required"]])),
        (
            json!({ "calendar": "fortnightly", "from": "0" }),
            json!([["/calendar", calendars], ["/from", "must be an integer, is a string"]]),
        ),
        (
            json!({ "calendar": 7, "from": -1 }),
            json!([["/calendar", "must be a string, is a number"], ["/from", times]]),
        ),
        (json!({ "calendar": "Monthly", "from": 1.5 }), json!([["/calendar", calendars], ["/from", times]])),
        (json!({ "calendar": "", "from": i64::MAX as u64 + 1 }), json!([["/calendar", calendars], ["/from", times]])),
        (json!({ "calendar": "*-*-01 00:00:00 Europe/Atlantis", "from": 0 }), json!([["/calendar", calendars]])),
        (json!({ "calendar": "*".repeat(100_000), "from": 0 }), json!([["/calendar", calendars]])),
        (
            json!({ "calendar": null, "from": null }),
            json!([["/calendar", "must be a string, is null"], ["/from", "must be an integer, is null"],]),
        ),
    ] {
        let (status, answer) = app.next_occurrence(&body).await;
        assert_eq!((status, answer["code"].as_str()), (422, Some("invalid_request")), "{body:.80}");
        let errors = answer["errors"].as_array().unwrap();
        let told: Vec<_> = errors.iter().map(|error| json!([error["pointer"], error["detail"]])).collect();
        assert_eq!(Value::from(told), expected);
    }
    app.stop().await;
}

#[tokio::test]
async fn repeated_request_replays_the_first_response() {
    let app = TestApp::start().await;
    let body = json!({ "calendar": "weekly", "from": FROM });
    for replayed in [false, true] {
        let call = app.post("/calendar/next-occurrence").header("idempotency-key", "one").json(&body);
        let response = call.send().await.unwrap();
        assert_eq!(response.headers().contains_key("idempotency-replayed"), replayed);
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["next_occurrence"], MIDNIGHT + 2 * DAY);
    }
    let other = json!({ "calendar": "daily", "from": FROM });
    let response =
        app.post("/calendar/next-occurrence").header("idempotency-key", "one").json(&other).send().await.unwrap();
    assert_eq!(response.status(), 409);
    app.stop().await;
}

#[tokio::test]
async fn token_is_required() {
    let app = TestApp::start().await;
    let url = app.url("/calendar/next-occurrence");
    let response =
        reqwest::Client::new().post(url).json(&json!({ "calendar": "daily", "from": 0 })).send().await.unwrap();
    assert_eq!(response.status(), 401);
    app.stop().await;
}
