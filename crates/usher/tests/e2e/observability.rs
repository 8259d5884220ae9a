//! Metrics of the service, as others read them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;
use usher_sandbox::lightning::{LightningNetwork, NwcService};
use usher_sandbox::relay::EmbeddedRelay;
use usher_sandbox::wallet::{Identity, Policy, Wallet, WalletOptions};

use crate::harness::{Api, LONG, TestUsher, User, introduce};

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
    labels: BTreeMap<String, String>,
}

impl Metrics {
    async fn read(api: &Api) -> Self {
        let text = api.get("/metrics").await.expect("metrics").as_str().expect("text").to_owned();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/independent_metrics.py");
        let families = serde_json::from_value(usher_testing::run_python(script, &text)).expect("families");
        Self { families, text }
    }

    /// Names and types are by the conventions of Prometheus, and each is explained here and listed for operators.
    fn are_well_made(&self) {
        let listed = include_str!("../../../../docs/monitoring.md");
        for Family { name, r#type, help, samples } in &self.families {
            // The library has the name of a counter without its ending.
            let whole = if r#type == "counter" { format!("{name}_total") } else { name.clone() };
            assert!(listed.contains(&format!("`{whole}`")), "docs/monitoring.md does not list {whole}");
            assert!(["usher_", "process_"].iter().any(|prefix| name.starts_with(prefix)), "{name}");
            assert!(["counter", "gauge", "histogram"].contains(&r#type.as_str()), "{name} is {type}");
            assert!(help.ends_with('.') && !samples.is_empty(), "{name}: {help}");
            // The metrics on which alarms are built: an outcome is a status, a type is that of an event.
            for label in ["call", "kind", "match", "origin", "reason", "result", "state"] {
                for value in samples.iter().filter_map(|sample| sample.labels.get(label)) {
                    assert!(listed.contains(&format!("`{value}`")), "docs/monitoring.md: {name}, {value}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_is_seen_in_the_metrics_and_nobody_in_it() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let network = LightningNetwork::new();
    let nwc = NwcService::start(&network.open_account("shop", 1_000_000), &[relay.url()]).await;
    nwc.ready(LONG).await.expect("the wallet listens");
    let usher = TestUsher::builder().relays(&[relay.url()]).nwc(nwc.url()).start().await;
    let api = usher.api();
    let handshake = api.handshake(json!({})).await;
    assert_eq!(api.metric(r#"usher_operations_open{kind="key_handshake"}"#).await, 1);
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
    let payment = api.start("/payments/single", &body).await;
    let request = wallet.next_request(LONG).await.expect("a request");
    wallet.fulfil(&request).await.expect("paid");
    api.finished(&payment).await;

    let metrics = Metrics::read(&api).await;
    for (sample, expected) in [
        (r#"usher_operations_open{kind="key_handshake"}"#, 0),
        (r#"usher_operations_started_total{kind="authentication"}"#, 1),
        (r#"usher_operations_finished_total{kind="authentication",outcome="approved"}"#, 1),
        (r#"usher_operations_finished_total{kind="authentication",outcome="declined"}"#, 0),
        (r#"usher_events_total{type="KeyHandshake"}"#, 1),
        (r#"usher_operations_finished_total{kind="single_payment",outcome="paid"}"#, 1),
        ("usher_lightning_connected", 1),
        (r#"usher_lightning_calls_total{call="make_invoice",result="answered"}"#, 1),
        (r#"usher_relays{origin="service",state="connected"}"#, 1),
        (r#"usher_webhook_deliveries{status="pending"}"#, 0),
        ("usher_store_commit_failures_total", 0),
    ] {
        assert_eq!(api.metric(sample).await, expected, "{sample}");
    }
    for at_least_one in [
        "usher_messages_sent_total",
        "usher_relay_received_total",
        r#"usher_wallet_messages_total{match="operation"}"#,
        "usher_store_commit_duration_seconds_count",
        r#"usher_http_request_duration_seconds_count{method="POST",route="/key-handshake",status="2xx"}"#,
    ] {
        assert!(api.metric(at_least_one).await >= 1, "{at_least_one}");
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
