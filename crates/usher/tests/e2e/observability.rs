//! Metrics, health and status of the service.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde::Deserialize;
use serde_json::{Value, json};
use usher_sandbox::lightning::{LightningNetwork, NwcService};
use usher_sandbox::relay::EmbeddedRelay;
use usher_sandbox::wallet::{Identity, Policy, Wallet, WalletOptions};

use crate::harness::{Api, CallError, LONG, TestUsher, User, introduce, python};

/// `GET /metrics`, parsed by the client library of Prometheus.
struct Metrics {
    families: Vec<Family>,
    text: String,
}

#[derive(Deserialize)]
struct Family {
    name: String,
    r#type: String,
    help: String,
    samples: Vec<Sample>,
}

#[derive(Deserialize)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

impl Sample {
    /// Whether it is the one that is written `name{label="value",…}`.
    fn is(&self, written: &str) -> bool {
        let labels: Vec<_> = self.labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
        let (name, asked) = written.strip_suffix('}').and_then(|text| text.split_once('{')).unwrap_or((written, ""));
        let mut asked: Vec<_> = asked.split(',').filter(|label| !label.is_empty()).collect();
        asked.sort_unstable();
        self.name == name && labels == asked
    }
}

impl Metrics {
    async fn read(api: &Api) -> Self {
        let text = api.get("/metrics").await.expect("metrics").as_str().expect("text").to_owned();
        let families = serde_json::from_value(python("independent_metrics.py", &text)).expect("families");
        Self { families, text }
    }

    fn of(&self, sample: &str) -> f64 {
        let mut samples = self.families.iter().flat_map(|family| &family.samples);
        let found = samples.find(|each| each.is(sample));
        found.unwrap_or_else(|| panic!("no {sample} in\n{}", self.text)).value
    }

    /// Names, types and labels are by the conventions of Prometheus, each is explained here and listed for operators, and
    /// no label can have a value that somebody else chooses.
    fn are_well_made(&self) {
        const LABELS: &[&str] = &[
            "authenticated",
            "call",
            "commit",
            "kind",
            "le",
            "match",
            "method",
            "origin",
            "outcome",
            "reason",
            "result",
            "route",
            "state",
            "status",
            "table",
            "type",
        ];
        let listed = include_str!("../../../../docs/monitoring.md");
        let names: BTreeSet<_> = self.families.iter().map(|family| &family.name).collect();
        assert_eq!(names.len(), self.families.len(), "each name once");
        for Family { name, r#type, help, samples } in &self.families {
            // The library has the name of a counter without its ending.
            let whole = if r#type == "counter" { format!("{name}_total") } else { name.clone() };
            assert!(listed.contains(&format!("`{whole}`")), "docs/monitoring.md does not list {whole}");
            // Those of any process have the names that Prometheus' own libraries give them.
            let prefix = ["usher_", "process_"].iter().any(|prefix| name.starts_with(prefix));
            assert!(prefix && !name.ends_with("_total"), "{name}");
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
            assert!(["_ms", "_millis", "_count", "_sum"].iter().all(|unit| !name.ends_with(unit)), "{name}");
            assert!(["counter", "gauge", "histogram"].contains(&r#type.as_str()), "{name} is {type}");
            assert!(help.ends_with('.') && help.len() > 10 && !samples.is_empty(), "{name}: {help}");
            for sample in samples {
                let known = |label: &String| label == "version" || LABELS.contains(&label.as_str());
                assert!(sample.labels.keys().all(known), "{name}: {:?}", sample.labels);
                assert!(sample.labels.values().all(|value| value.len() <= 40), "{name}: {:?}", sample.labels);
                // The metrics on which alarms are built: an outcome is a status, a type is that of an event.
                for label in ["call", "kind", "match", "origin", "reason", "result", "state"] {
                    let said = |value: &String| listed.contains(&format!("`{value}`"));
                    assert!(
                        sample.labels.get(label).is_none_or(said),
                        "docs/monitoring.md: {name}, {:?}",
                        sample.labels
                    );
                }
                assert!(*r#type == "gauge" || sample.value >= 0.0, "{name}");
            }
        }
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
    let network = LightningNetwork::new();
    let nwc = NwcService::start(&network.open_account("shop", 1_000_000), &[relay.url()]).await;
    nwc.ready(LONG).await.expect("the wallet listens");
    let usher = TestUsher::builder()
        .relays(&[relay.url()])
        .set("WALLET__LN_BACKEND", "nwc")
        .set("WALLET__NETWORK", "regtest")
        .set("WALLET__NWC__URL", nwc.url())
        .start()
        .await;
    let api = usher.api();
    let ready = wait_until_ready(&api, true).await;
    assert_eq!(ready["relays"], json!({ "ready": true, "connected": 1, "total": 1 }));
    assert_eq!((&ready["store"]["ready"], &ready["wallet"]["backend"]), (&json!(true), &json!("nwc")));

    let handshake = api.handshake(json!({})).await;
    assert_eq!(Metrics::read(&api).await.of(r#"usher_operations_open{kind="key_handshake"}"#), 1.0);
    let identity = Identity::generate();
    let payment_source = network.open_account("user", 1_000_000);
    let wallet =
        Wallet::start(WalletOptions::new(identity).policy(Policy::silent()).paying_from(&payment_source)).await;
    introduce(&api, &wallet, &handshake, User::Stubborn).await;
    let stream = api.authenticate(&wallet.main_key(), &[]).await;
    let request = wallet.next_request(LONG).await.expect("a request");
    wallet.approve(&request).unwrap();
    api.outcome(&stream).await;
    let body = json!({ "main_key": wallet.main_key().to_hex(), "subkeys": [], "description": "what-s3cret", "amount": 1000,
        "currency": "millisats" });
    let payment = api.post("/payments/single", &body).await.unwrap()["stream_id"].as_str().unwrap().to_owned();
    let request = wallet.next_request(LONG).await.expect("a request");
    wallet.fulfil(&request).await.expect("paid");
    api.finished(&payment).await;

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
        (r#"usher_operations_open{kind="single_payment"}"#, 0.0),
        (r#"usher_operations_finished_total{kind="single_payment",outcome="paid"}"#, 1.0),
        ("usher_lightning_connected", 1.0),
        (r#"usher_lightning_calls_total{call="make_invoice",result="answered"}"#, 1.0),
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

    metrics.are_well_made();
    let main_key = wallet.main_key().to_hex();
    let us = usher.public_key().to_hex();
    for kept_out in
        [&main_key, &us, &stream, &payment, &handshake.stream, &handshake.url.token, &api.token, relay.url(), "s3cret"]
    {
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
