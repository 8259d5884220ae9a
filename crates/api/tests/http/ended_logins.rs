//! Logins that have ended: the list and the sums.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::app::{KNOWN, TestApp, key, pointers, until};

async fn logins(app: &TestApp, query: &str) -> Vec<Value> {
    app.read(&format!("/logins?{query}")).await["logins"].as_array().unwrap().clone()
}

#[tokio::test]
async fn ended_logins_are_listed_summed_up_and_erased() {
    let app = TestApp::start().await;
    let user = key(KNOWN).to_hex();
    let (stream, challenge) = app.authentication(key(KNOWN)).await;
    assert_eq!(app.read("/logins").await, json!({ "logins": [], "next": null }), "it is open");
    app.approve(&challenge, key(KNOWN), Some("a token")).await;
    until(async || !logins(&app, "").await.is_empty()).await;
    let all = logins(&app, "").await;
    let at = all[0]["at"].as_u64().unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    assert!((now - 60..=now).contains(&at), "{all:?}");
    let login = json!({
        "stream_id": stream, "at": at, "status": "approved", "method": "wallet", "app": null, "main_key": user,
        "reason": null,
    });
    assert_eq!(all, [login]);

    for (query, found) in [
        ("status=approved".to_owned(), 1),
        ("status=declined".to_owned(), 0),
        (format!("q={stream}"), 1),
        (format!("q={}", user.to_uppercase()), 1),
        (format!("q={}", key(3).to_hex()), 0),
        (format!("from={at}&to={}", at + 1), 1),
        (format!("from={}", at + 1), 0),
        (format!("to={at}"), 0),
    ] {
        assert_eq!(logins(&app, &query).await.len(), found, "{query}");
    }
    let (status, problem) = app.call("GET", "/logins?q=x&status=paid&from=-1&to=x", Value::Null).await;
    assert_eq!((status, pointers(&problem)), (422, vec!["/from", "/q", "/status", "/to"]));

    let (hour, day) = (at / 3600 * 3600, at / 86_400 * 86_400);
    let sums = |from: u64, to: u64, logins: u64| {
        json!({
            "from": from, "to": to, "paid": 0, "paid_millisats": 0, "refunded_millisats": 0, "sent_millisats": 0,
            "unpaid": 0, "logins": logins, "logins_failed": 0,
        })
    };
    let by_hour = format!("/summary?from={}&to={}", hour - 1, at + 1);
    let by_hour = || app.read(&by_hour);
    let counted = json!({ "summary": [sums(hour - 3600, hour, 0), sums(hour, hour + 3600, 1)] });
    assert_eq!(by_hour().await, counted);
    let by_day = app.read(&format!("/summary?from={at}&to={}&by=day", day + 86_401)).await;
    let days = [sums(day, day + 86_400, 1), sums(day + 86_400, day + 2 * 86_400, 0)];
    assert_eq!(by_day, json!({ "summary": days }));

    let erased = app.done("DELETE", &format!("/users/{user}"), Value::Null).await;
    assert_eq!(erased["erased"]["logins"], 1);
    assert_eq!((logins(&app, "").await, by_hour().await), (Vec::new(), counted), "sums name nobody");
}

/// Without times, they are those before now.
#[tokio::test]
async fn time_of_a_summary_is_bounded() {
    let app = TestApp::start().await;
    let ends = async |query: &str| {
        let summary = app.read(&format!("/summary?{query}")).await["summary"].as_array().unwrap().clone();
        (summary.len(), summary[0]["from"].as_u64().unwrap(), summary.last().unwrap()["to"].as_u64().unwrap())
    };
    assert_eq!(ends("").await, (24, 1_732_053_600, 1_732_140_000));
    assert_eq!(ends("by=day").await.0, 30);
    assert_eq!(ends("from=0&to=2678400").await, (744, 0, 2_678_400));
    assert_eq!(ends("from=0&to=31622400&by=day").await, (366, 0, 31_622_400));
    for (query, wrong) in [
        ("from=0", "/from"),
        ("from=0&to=2678401", "/to"),
        ("from=0&to=31622401&by=day", "/to"),
        ("from=7200&to=7200", "/to"),
        ("from=7200&to=0", "/to"),
        ("from=253402300799", "/from"),
        ("by=week", "/by"),
        ("from=253402300800", "/from"),
    ] {
        let (status, problem) = app.call("GET", &format!("/summary?{query}"), Value::Null).await;
        assert_eq!((status, pointers(&problem)), (422, vec![wrong]), "{query}");
    }
}
