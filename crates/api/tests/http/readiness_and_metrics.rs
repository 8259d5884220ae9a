//! Readiness and metrics.

use serde_json::{Value, json};
use usher_api::{Family, Measure, MintReadiness, RelaysReadiness, Sample};

use crate::app::{TOKEN, TestApp};
use crate::sockets::client::Client;

impl TestApp {
    async fn metrics(&self) -> String {
        let response = self.get("/metrics").send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
        response.text().await.unwrap()
    }

    /// The status and the body of `GET /health/ready`.
    async fn ready(&self) -> (u16, String) {
        let response = self.get("/health/ready").send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }
}

fn sample(metrics: &str, name: &str) -> Option<f64> {
    metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

#[tokio::test]
async fn settings_have_values_and_sources() {
    let setting = json!({ "key": "webhook.secret", "value": "set", "source": "environment" });
    assert_eq!(TestApp::start().await.read("/settings").await, json!({ "settings": [setting] }));
}

#[tokio::test]
async fn ready_only_while_all_parts_are() {
    let app = TestApp::start().await;
    let (status, body) = app.ready().await;
    assert_eq!(status, 200);
    insta::assert_snapshot!(body, @r#"{"ready":true,"instance":"active","relays":{"ready":true,"connected":2,"total":3},"store":{"ready":true,"damaged_rows":0,"damaged":[]},"wallet":{"ready":true,"backend":"none","warnings":[]},"tickets":{"ready":true,"mints":[]},"rates":{"ready":true,"currencies":[]},"last_backup_at":1732137600}"#);

    app.parts_say.0.lock().0.relays = RelaysReadiness { connected: 0, total: 3 };
    let (status, body) = app.ready().await;
    assert_eq!(status, 503);
    insta::assert_snapshot!(body, @r#"{"type":"urn:usher:error:no_relay_connected","title":"No relay is connected","status":503,"detail":"none of the service's relays is connected; GET /relays tells why","code":"no_relay_connected","request_id":"test","instance":"active","last_backup_at":1732137600,"rates":{"currencies":[],"ready":true},"ready":false,"relays":{"connected":0,"ready":false,"total":3},"store":{"damaged":[],"damaged_rows":0,"ready":true},"tickets":{"mints":[],"ready":true},"wallet":{"backend":"none","ready":true,"warnings":[]}}"#);

    app.parts_say.0.lock().0.store = false;
    let body = app.refused("GET", "/health/ready", Value::Null, (503, "storage_unavailable")).await;
    assert_eq!((&body["store"]["ready"], &body["relays"]["ready"]), (&json!(false), &json!(false)));
    assert_eq!(app.http.get(app.url("/health")).send().await.unwrap().status(), 200, "alive all the same");
    assert_eq!(app.http.get(app.url("/health/ready")).send().await.unwrap().status(), 401);
}

#[tokio::test]
async fn a_mint_that_is_away_is_shown_and_leaves_the_service_ready() {
    let app = TestApp::start().await;
    let mint = |name: &str, responds, unfinished_jobs| MintReadiness {
        mint_url: format!("https://{name}.example"),
        unfinished_jobs,
        responds,
    };
    let many = (0..200).map(|number| mint(&format!("m{number}"), Some(true), 0));
    let mints = many.chain([mint("new", None, 1), mint("away", Some(false), 2)]).collect();
    app.parts_say.0.lock().0.mints = mints;
    let body = app.read("/health/ready").await;
    assert_eq!((&body["ready"], &body["tickets"]["ready"]), (&json!(true), &json!(false)));
    let listed = body["tickets"]["mints"].as_array().unwrap();
    let away = json!({ "mint_url": "https://away.example", "responds": false, "unfinished_jobs": 2 });
    assert_eq!((listed.len(), &listed[0]), (100, &away));
}

#[tokio::test]
async fn metrics_are_in_prometheus_format() {
    let app = TestApp::start().await;
    let odd = Sample { labels: vec![("reason", "a \"quoted\"\\\nline".to_owned())], measure: Measure::Counter(3) };
    app.parts_say.0.lock().1 = vec![
        Family { name: "usher_refused_total", help: "Refused.", samples: vec![odd] },
        Family::single("usher_open", "Open.", Measure::Gauge(2.0)),
        Family::single(
            "usher_commit_seconds",
            "Commits.",
            Measure::Histogram { buckets: vec![(0.001, 2), (0.5, 5)], count: 6, sum: 1.25 },
        ),
        Family { name: "usher_nothing_total", help: "Nothing yet.", samples: Vec::new() },
    ];
    let metrics = app.metrics().await;
    let told: Vec<_> =
        metrics.lines().filter(|line| !line.contains("_http_") && !line.contains("build_info")).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    # HELP usher_commit_seconds Commits.
    # TYPE usher_commit_seconds histogram
    usher_commit_seconds_bucket{le="0.001"} 2
    usher_commit_seconds_bucket{le="0.5"} 5
    usher_commit_seconds_bucket{le="+Inf"} 6
    usher_commit_seconds_sum 1.25
    usher_commit_seconds_count 6
    # HELP usher_open Open.
    # TYPE usher_open gauge
    usher_open 2
    # HELP usher_refused_total Refused.
    # TYPE usher_refused_total counter
    usher_refused_total{reason="a \"quoted\"\\\nline"} 3
    "#);
    assert_eq!(sample(&metrics, r#"usher_build_info{version="1.2.3",commit="abcdef0"}"#), Some(1.0));
}

#[tokio::test]
async fn request_metrics_have_no_client_supplied_labels() {
    let app = TestApp::start().await;
    let unknown = "/events/01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11?after=7";
    for _ in 0..3 {
        app.get(unknown).send().await.unwrap();
    }
    app.get("/p-s3cret").send().await.unwrap();
    app.http.get(app.url("/s-s3cret")).send().await.unwrap();
    app.http.request("S3CRET".parse().unwrap(), app.url("/version")).send().await.unwrap();
    let (stream, _) = app.handshake(json!({ "static_token": "b-s3cret" })).await;
    app.get(&format!("/events/{stream}?wait=1")).send().await.unwrap();

    let metrics = app.metrics().await;
    let count = |labels: &str| sample(&metrics, &format!("usher_http_request_duration_seconds_count{{{labels}}}"));
    assert_eq!(count(r#"method="GET",route="/events/{stream_id}",status="4xx""#), Some(3.0));
    assert_eq!(count(r#"method="GET",route="/events/{stream_id}?wait",status="2xx""#), Some(1.0));
    assert_eq!(count(r#"method="GET",route="-",status="4xx""#), Some(2.0));
    assert_eq!(count(r#"method="other",route="/version",status="4xx""#), Some(1.0));
    assert_eq!(count(r#"method="POST",route="/key-handshake",status="2xx""#), Some(1.0));
    assert_eq!(count(r#"method="GET",route="/metrics",status="2xx""#), None, "it is not answered yet");
    for kept_out in ["s3cret", "S3CRET", "01934b1c", &stream, TOKEN] {
        assert!(!metrics.contains(kept_out), "{kept_out}");
    }
}

#[tokio::test]
async fn waiting_clients_are_counted_while_they_wait() {
    let app = TestApp::start().await;
    let are = async |counts: [u8; 4]| {
        for (gauge, count) in
            ["long_polls", "event_streams", "websockets", "websocket_subscriptions"].iter().zip(counts)
        {
            app.metric(&format!("usher_http_{gauge} {count}\n")).await;
        }
    };
    are([0; 4]).await;
    let (stream, _) = app.handshake(json!({})).await;
    let path = format!("/events/{stream}");
    let feed = app.sse(&path).send().await.unwrap();
    let poll = tokio::spawn(app.get(&format!("{path}?wait=60")).send());
    let mut one = Client::open(&app).await;
    let other = Client::open(&app).await;
    for stream in [stream.as_str(), "subscriptions"] {
        one.done("subscribe", json!({ "stream_id": stream })).await;
    }
    are([1, 1, 2, 2]).await;
    one.done("unsubscribe", json!({ "stream_id": stream })).await;
    drop((feed, other));
    are([1, 0, 1, 1]).await;
    poll.abort();
    drop(one);
    are([0; 4]).await;
}
