//! What the service says of itself to those who watch it.

use std::collections::HashMap;
use std::time::Instant;

use serde_json::{Value, json};
use usher_sandbox::relay::EmbeddedRelay;
use usher_sandbox::wallet::Policy;

use crate::harness::{Api, CallError, LONG, TestUsher, User, introduce, wallet_for};

/// Every sample of `GET /metrics`, read as Prometheus would.
struct Metrics {
    kinds: HashMap<String, String>,
    samples: HashMap<String, f64>,
    text: String,
}

impl Metrics {
    async fn read(api: &Api) -> Self {
        let text = api.get("/metrics").await.expect("metrics").as_str().expect("text").to_owned();
        let kind = |line: &str| {
            let (name, kind) = line.strip_prefix("# TYPE ")?.split_once(' ')?;
            Some((name.to_owned(), kind.to_owned()))
        };
        let sample = |line: &str| {
            let (name, value) = line.rsplit_once(' ').expect("a name and a value");
            (name.to_owned(), value.parse().expect("a number"))
        };
        let samples = text.lines().filter(|line| !line.starts_with('#')).map(sample).collect();
        Self { kinds: text.lines().filter_map(kind).collect(), samples, text }
    }

    fn of(&self, sample: &str) -> f64 {
        *self.samples.get(sample).unwrap_or_else(|| panic!("no {sample} in\n{}", self.text))
    }
}

/// Waits until the service is ready, or is not.
async fn wait_until_ready(api: &Api, ready: bool) -> Value {
    let deadline = Instant::now() + LONG;
    loop {
        let answer = match api.get("/health/ready").await {
            Ok(answer) => answer,
            Err(CallError::Status(503, answer)) => answer,
            Err(error) => panic!("{error:?}"),
        };
        if answer["ready"] == ready {
            return answer;
        }
        assert!(Instant::now() < deadline, "{answer}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_is_seen_in_the_metrics_and_nobody_in_it() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let usher = TestUsher::builder().relays(&[relay.url()]).start().await;
    let api = usher.api();
    let ready = wait_until_ready(&api, true).await;
    assert_eq!(ready["relays"], json!({ "ready": true, "connected": 1, "total": 1 }));
    assert_eq!((&ready["store"]["ready"], &ready["wallet"]["backend"]), (&json!(true), &json!("none")));

    let handshake = api.handshake(json!({})).await;
    assert_eq!(Metrics::read(&api).await.of(r#"usher_operations_open{kind="key_handshake"}"#), 1.0);
    let wallet = wallet_for(Policy::silent()).await;
    introduce(&api, &wallet, &handshake, User::Stubborn).await;
    let stream = api.authenticate(&wallet.main_key(), &[]).await;
    let request = wallet.next_request(LONG).await.expect("a request");
    wallet.approve(&request).unwrap();
    api.outcome(&stream).await;

    let metrics = Metrics::read(&api).await;
    for (sample, expected) in [
        (r#"usher_operations_open{kind="key_handshake"}"#, 0.0),
        (r#"usher_operations_open{kind="authentication"}"#, 0.0),
        (r#"usher_operations_started_total{kind="key_handshake"}"#, 1.0),
        (r#"usher_operations_started_total{kind="authentication"}"#, 1.0),
        (r#"usher_operations_finished_total{kind="key_handshake",outcome="completed"}"#, 1.0),
        (r#"usher_operations_finished_total{kind="authentication",outcome="approved"}"#, 1.0),
        (r#"usher_operations_finished_total{kind="authentication",outcome="declined"}"#, 0.0),
        (r#"usher_events_total{type="KeyHandshake"}"#, 1.0),
        (r#"usher_events_total{type="StatusUpdate"}"#, 1.0),
        (r#"usher_relays{origin="service",state="connected"}"#, 1.0),
        (r#"usher_webhook_deliveries{status="pending"}"#, 0.0),
        ("usher_store_commit_failures_total", 0.0),
    ] {
        assert_eq!(metrics.of(sample), expected, "{sample}");
    }
    for at_least_one in [
        "usher_messages_sent_total",
        "usher_relay_received_total",
        "usher_relay_delivered_total",
        "usher_relay_sent_total",
        "usher_relay_connects_total",
        r#"usher_wallet_messages_total{match="operation"}"#,
        "usher_store_commit_duration_seconds_count",
        "usher_store_commit_batch_size_count",
        r#"usher_http_request_duration_seconds_count{method="POST",route="/key-handshake",status="2xx"}"#,
    ] {
        assert!(metrics.of(at_least_one) >= 1.0, "{at_least_one}");
    }

    let listed = include_str!("../../../../docs/operations.md");
    for (name, kind) in &metrics.kinds {
        assert!(listed.contains(&format!("`{name}`")), "docs/operations.md does not list {name}");
        assert!(name.starts_with("usher_"), "{name}");
        assert_eq!(name.ends_with("_total"), kind == "counter", "{name} is a {kind}");
    }
    let main_key = wallet.main_key().to_hex();
    for kept_out in [&main_key, &stream, &handshake.stream, &handshake.url.token, &api.token, relay.url()] {
        assert!(!metrics.text.contains(kept_out), "{kept_out}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_relay_it_is_alive_and_not_ready() {
    let nowhere = "ws://127.0.0.1:9".to_owned();
    let usher = TestUsher::builder().relays(&[&nowhere]).start().await;
    let api = usher.api();
    let answer = wait_until_ready(&api, false).await;
    assert_eq!(answer["code"], "no_relay_connected");
    assert_eq!(answer["relays"], json!({ "ready": false, "connected": 0, "total": 1 }));
    assert_eq!(answer["store"]["ready"], true);
    assert!(api.is_up().await);
}
