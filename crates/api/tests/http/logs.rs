//! What is written to the log, and what is not.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;
use usher_engine::ports::{TicketError, TokenFault};
use usher_testing::ports::{MINT, UNIT, token};

use crate::app::{REQUESTS, TOKEN, TestApp, key};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Log {
    /// Its lines of this crate so far.
    fn lines(&self) -> Vec<Value> {
        let text = String::from_utf8(self.0.lock().clone()).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["target"].as_str().unwrap().starts_with("usher_api")).collect()
    }
}

/// One thread runs everything here, so this thread's subscriber sees everything.
#[tokio::test]
async fn one_log_line_per_request_with_its_id_and_no_secrets() {
    let log = Log::default();
    let subscriber =
        tracing_subscriber::fmt().json().with_max_level(tracing::Level::TRACE).with_writer(log.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    // Beside a second one, threads without a subscriber do not decide for all whether a line is enabled.
    let _second = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::default());
    let app = TestApp::start().await;

    app.read("/events/subscriptions?after=0&token=q-s3cret").await;
    app.done("POST", "/key-handshake", json!({ "static_token": "b-s3cret", "noRequest": true })).await;
    let wrong_token = app.http.get(app.url("/p-s3cret?x=q-s3cret")).bearer_auth("t-s3cret");
    wrong_token.header("x-request-id", "c").send().await.unwrap();
    app.call("POST", "/authenticate-key", json!({ "main_key": key(1).to_hex(), "subkeys": ["nsec1s3cret"] })).await;
    let (good, spent) = (token(MINT, UNIT, 7, "s3cret"), token(MINT, UNIT, 7, "s3cret_spent"));
    app.tickets.refuse(&spent, TokenFault::AlreadySpent);
    app.tickets.fail("https://refuses.example", || TicketError::Refused("minting is disabled".to_owned()));
    app.tickets.fail("https://away.example", || TicketError::Unreachable("connection refused".to_owned()));
    let at = |name: &str| format!("https://{name}.example");
    let mint = |name| json!({ "mint_url": at(name), "unit": "multi", "amount": 1, "static_token": "m-s3cret" });
    for (index, (path, body)) in [
        ("/cashu/mint", mint("mint")),
        ("/cashu/mint", mint("refuses")),
        ("/cashu/withdraw", mint("away")),
        ("/cashu/burn", json!({ "mint_url": MINT, "unit": UNIT, "token": good.0, "static_token": "m-s3cret" })),
        ("/cashu/burn", json!({ "mint_url": MINT, "unit": UNIT, "token": spent.0 })),
        ("/cashu/burn", json!({ "mint_url": MINT, "unit": UNIT, "token": "s3cret" })),
        ("/cashu/burn", json!({ "mint_url": "s3cret", "unit": "not a s3cret", "token": 7 })),
    ]
    .into_iter()
    .enumerate()
    {
        app.post(path).header("idempotency-key", format!("k-s3cret-{index}")).json(&body).send().await.unwrap();
    }
    app.store.fail(REQUESTS, usize::MAX);
    app.call("POST", "/key-handshake", json!({})).await;
    let request = app.http.request("S3CRET".parse().unwrap(), app.url("/version"));
    request.header("x-request-id", "f").send().await.unwrap();
    let forged = "x}:usher_engine::payment: paid{y";
    app.http.get(app.url("/version")).header("x-request-id", forged).send().await.unwrap();
    app.stop().await;

    let lines = log.lines();
    let answered: Vec<_> = lines.iter().filter(|line| line["fields"]["message"] == "answered").collect();
    let told: Vec<_> = answered
        .iter()
        .map(|line| {
            let fields = &line["fields"];
            assert!(fields["latency_ms"].is_f64());
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let id = Some(text(&line["span"]["request_id"])).filter(|id| id.len() < 32).unwrap_or("(made)".to_owned());
            let [method, path, status] = ["method", "path", "status"].map(|name| text(&fields[name]));
            format!("{} {id} {method} {path} {status}", text(&line["level"]))
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    DEBUG test GET /events/{stream_id} 200
    DEBUG test POST /key-handshake 200
    INFO c GET - 401
    INFO test POST /authenticate-key 422
    DEBUG test POST /cashu/mint 200
    INFO test POST /cashu/mint 502
    INFO test POST /cashu/withdraw 502
    DEBUG test POST /cashu/burn 200
    INFO test POST /cashu/burn 409
    INFO test POST /cashu/burn 422
    INFO test POST /cashu/burn 422
    INFO test POST /key-handshake 503
    INFO f other /version 401
    INFO (made) GET /version 401
    ");
    for line in &answered {
        let peer = line["fields"]["peer"].as_str();
        assert_eq!(peer, (line["fields"]["status"] == 401).then_some("127.0.0.1"), "{line}");
    }
    let ignored: Vec<_> = lines
        .iter()
        .filter(|line| line["level"] == "WARN")
        .filter_map(|line| line["fields"]["message"].as_str())
        .collect();
    assert!(ignored.starts_with(&[
        "/events/{stream_id} ignored /token",
        "/key-handshake ignored /noRequest; did you mean `no_request`?"
    ]));
    let wrong_tokens: Vec<_> = lines.iter().filter(|line| line["fields"]["wrong_tokens"] == 1).collect();
    assert_eq!(wrong_tokens.len(), 1, "summed up");
    assert!(lines.iter().all(|line| !line.to_string().contains("paid{")));

    let failures: Vec<_> = lines.iter().filter(|line| line["level"] == "ERROR").collect();
    assert_eq!(failures.len(), 1, "once: {failures:?}");
    assert_eq!(failures[0]["span"]["request_id"], "test");
    assert_eq!(failures[0]["fields"]["code"], "storage_unavailable");

    for line in &lines {
        let line = line.to_string();
        // The store's own words are for the operator's log.
        if !line.contains("the disk is full") {
            assert!(!line.to_lowercase().contains("s3cret") && !line.contains(TOKEN), "{line}");
        }
    }
}
