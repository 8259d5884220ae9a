//! The settings `limits.*`: the program enforces each of them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use usher_protocol::Keys;
use usher_sandbox::lightning::{InvoiceTerms, LightningNetwork, NwcService};
use usher_sandbox::relay::EmbeddedRelay;

use crate::harness::{Api, CallError, LONG, TestUsher, now};

/// Relays are of no interest here.
const NOWHERE: &str = "ws://127.0.0.1:9";

async fn limited(key: &str, value: u64) -> TestUsher {
    TestUsher::builder().relays(&[NOWHERE]).set(&format!("LIMITS__{key}"), value).start().await
}

/// A call: status, `Retry-After` and code.
async fn call(api: &Api, method: &str, path: &str) -> (u16, Option<u64>, String) {
    let request = api.http.request(method.parse().unwrap(), format!("{}{path}", api.base)).bearer_auth(&api.token);
    let answer = request.send().await.unwrap();
    let retry_after = answer.headers().get("retry-after").map(|value| value.to_str().unwrap().parse().unwrap());
    let status = answer.status().as_u16();
    let body: Value = answer.json().await.unwrap_or_default();
    (status, retry_after, body["code"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn each_key_is_tested_here() {
    let reference = include_str!("../../../../docs/configuration.toml");
    let section = reference.split("\n[limits]\n").nth(1).expect("the section").split("\n[").next().unwrap();
    let keys: Vec<_> = section.lines().filter_map(|line| line.strip_prefix("# SERVICE__LIMITS__")).collect();
    assert!(keys.len() >= 6, "{keys:?}");
    for key in keys {
        assert!(include_str!("limits.rs").contains(&format!("(\"{key}\", ")), "limits.{key} has no test");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_per_second() {
    let usher = limited("REQUESTS_PER_SECOND", 1).await;
    let api = usher.api();
    // Two within one second is too much; on a machine so slow that there are none, once more.
    let deadline = Instant::now() + LONG;
    let (retry_after, code) = loop {
        let (status, retry_after, code) = call(&api, "GET", "/version").await;
        if status == 429 {
            break (retry_after, code);
        }
        assert_eq!(status, 200);
        assert!(Instant::now() < deadline, "the limit was never met");
    };
    assert_eq!((retry_after, code.as_str()), (Some(1), "rate_limited"));
    assert!(api.is_up().await, "who probes is not counted");
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert_eq!(call(&api, "GET", "/version").await.0, 200, "after Retry-After it is answered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_streams() {
    let usher = limited("MAX_OPEN_STREAMS", 4).await;
    let api = usher.api();
    let mut started = 0;
    let refused = loop {
        match call(&api, "POST", "/key-handshake").await {
            (200, ..) => started += 1,
            refused => break refused,
        }
        assert!(started <= 4, "there is no limit");
    };
    assert_eq!((started, refused), (4, (503, Some(5), "overloaded".to_owned())));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_polls() {
    let usher = limited("MAX_LONG_POLLS", 1).await;
    let api = usher.api();
    let stream = api.handshake(json!({})).await.stream;
    let waiting = {
        let (api, path) = (api.clone(), format!("/events/{stream}?wait=60"));
        // Refused when the one below was quicker; then once more.
        tokio::spawn(async move { while matches!(api.get(&path).await, Err(CallError::Status(503, _)) | Ok(_)) {} })
    };
    let deadline = Instant::now() + LONG;
    let refused = loop {
        match call(&api, "GET", &format!("/events/{stream}?wait=1")).await {
            (200, ..) => assert!(Instant::now() < deadline, "the limit was never met"),
            refused => break refused,
        }
    };
    assert_eq!(refused, (503, Some(5), "overloaded".to_owned()));
    assert_eq!(call(&api, "GET", &format!("/events/{stream}")).await.0, 200, "who does not wait needs no place");
    waiting.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn event_streams() {
    let usher = limited("MAX_EVENT_STREAMS", 1).await;
    let api = usher.api();
    let stream = api.handshake(json!({})).await.stream;
    let first = api.sse(&stream, None).await.expect("an event stream");
    assert_eq!(api.sse(&stream, None).await.err(), Some(503));
    assert!(
        matches!(api.get("/events").await, Err(CallError::Status(503, problem)) if problem["code"] == "overloaded")
    );
    drop(first);
    let deadline = Instant::now() + LONG;
    while api.sse(&stream, None).await.is_err() {
        assert!(Instant::now() < deadline, "the place does not come back");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn websockets() {
    let usher = limited("MAX_WEBSOCKETS", 1).await;
    let api = usher.api();
    let address = api.base.trim_start_matches("http://").to_owned();
    let open = async || {
        let mut connection = TcpStream::connect(&address).await.unwrap();
        let handshake = format!(
            "GET /ws HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            api.token
        );
        connection.write_all(handshake.as_bytes()).await.unwrap();
        let mut head = [0; 12];
        tokio::time::timeout(LONG, connection.read_exact(&mut head)).await.expect("in time").unwrap();
        (String::from_utf8_lossy(&head).into_owned(), connection)
    };
    let (answer, first) = open().await;
    assert_eq!(answer, "HTTP/1.1 101");
    assert_eq!(open().await.0, "HTTP/1.1 503");
    assert_eq!(call(&api, "GET", "/version").await.0, 200, "calls need no such place");
    drop(first);
    let deadline = Instant::now() + LONG;
    while open().await.0 != "HTTP/1.1 101" {
        assert!(Instant::now() < deadline, "the place does not come back");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A connection to the service that is kept alive.
async fn connect(usher: &TestUsher) -> TcpStream {
    TcpStream::connect(usher.api().base.trim_start_matches("http://")).await.unwrap()
}

/// Makes a request over a connection; the start of the response's status line, `None` when there is no response.
async fn request(connection: &mut TcpStream, token: Option<&str>) -> Option<String> {
    let request = match token {
        Some(token) => format!("GET /version HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n"),
        None => "GET /health HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(),
    };
    let sent = connection.write_all(request.as_bytes()).await;
    let mut head = [0; 12];
    // A connection that is refused may be cut off while the request is sent.
    let read = tokio::time::timeout(LONG, connection.read_exact(&mut head)).await.expect("in time");
    if sent.is_err() || read.is_err() {
        return None;
    }
    let mut rest = Vec::new();
    while !rest.ends_with(b"\r\n\r\nOK") && !rest.ends_with(b"}") {
        match tokio::time::timeout(LONG, connection.read_u8()).await.expect("in time") {
            Ok(byte) => rest.push(byte),
            Err(_) => break,
        }
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections() {
    let usher = limited("MAX_CONNECTIONS", 4).await;
    let token = usher.api().token.clone();
    // The client of the harness keeps some of them.
    let mut kept = Vec::new();
    loop {
        let mut connection = connect(&usher).await;
        match request(&mut connection, Some(&token)).await.as_deref() {
            Some("HTTP/1.1 200") => kept.push(connection),
            // Refused, with or without a response.
            refused => break assert!(matches!(refused, None | Some("HTTP/1.1 503")), "{refused:?}"),
        }
        assert!(kept.len() <= 4, "there is no limit");
    }
    assert!(!kept.is_empty());
    let deadline = Instant::now() + LONG;
    drop(kept.pop());
    while request(&mut connect(&usher).await, Some(&token)).await.as_deref() != Some("HTTP/1.1 200") {
        assert!(Instant::now() < deadline, "the place does not come back");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_without_the_token() {
    let usher = limited("MAX_UNAUTHENTICATED_CONNECTIONS", 2).await;
    let token = usher.api().token.clone();
    let mut app = connect(&usher).await;
    assert_eq!(request(&mut app, Some(&token)).await.as_deref(), Some("HTTP/1.1 200"));
    let mut oldest = connect(&usher).await;
    assert_eq!(request(&mut oldest, None).await.as_deref(), Some("HTTP/1.1 200"));
    for _ in 0..2 {
        assert_eq!(request(&mut connect(&usher).await, None).await.as_deref(), Some("HTTP/1.1 200"));
    }
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut connection = connect(&usher).await;
        assert_eq!(request(&mut connection, None).await.as_deref(), Some("HTTP/1.1 200"));
        held.push(connection);
    }
    assert_eq!(request(&mut oldest, None).await, None, "the oldest gave way");
    assert_eq!(
        request(&mut app, None).await.as_deref(),
        Some("HTTP/1.1 200"),
        "a connection that sent the token stays"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_of_an_address() {
    // Behind a proxy on this machine everybody has the loopback address. That others are limited is tested in the API's crate.
    let usher = limited("MAX_UNAUTHENTICATED_PER_ADDRESS", 1).await;
    let mut connections = [connect(&usher).await, connect(&usher).await, connect(&usher).await];
    for round in 0..2 {
        for connection in &mut connections {
            assert_eq!(request(connection, None).await.as_deref(), Some("HTTP/1.1 200"), "round {round}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_largest_payment() {
    const MAX_AMOUNT: u64 = 21_000;
    let (relay, network) = (EmbeddedRelay::start().await.unwrap(), LightningNetwork::new());
    let wallet = NwcService::start(&network.open_account("shop", 1_000_000), &[relay.url()]).await;
    wallet.ready(LONG).await.expect("the wallet listens");
    let (setting, value) = ("MAX_AMOUNT_MILLISATS", MAX_AMOUNT);
    let usher = TestUsher::builder()
        .relays(&[relay.url()])
        .set(&format!("LIMITS__{setting}"), value)
        .set("WALLET__LN_BACKEND", "nwc")
        .set("WALLET__NETWORK", "regtest")
        .set("WALLET__NWC__URL", wallet.url())
        .start()
        .await;
    let api = usher.api();
    let (user, other) = (Keys::generate().public_key().to_hex(), network.open_account("other", 0));
    let invoice = |amount| other.make_invoice(&InvoiceTerms::of(amount)).unwrap().to_string();
    let calls = |amount: u64| {
        let single =
            json!({ "main_key": user, "subkeys": [], "description": "Tea", "amount": amount, "currency": "millisats" });
        let mut recurring = single.clone();
        recurring["recurrence"] = json!({ "calendar": "monthly", "first_payment_due": 1_732_137_600 });
        recurring["expires_at"] = json!(now() + 300);
        let content = json!({ "amount": amount, "currency": "millisats" });
        [
            ("/payments/single", "/amount", single),
            ("/payments/recurring", "/amount", recurring),
            (
                "/invoices/request",
                "/content/amount",
                json!({ "recipient_key": user, "subkeys": [], "content": content }),
            ),
            ("/invoices/pay", "/invoice", json!({ "invoice": invoice(amount) })),
            ("/invoices/pay", "/invoice", json!({ "main_key": user, "subkeys": [], "invoice": invoice(amount) })),
        ]
    };
    for (path, pointer, body) in calls(MAX_AMOUNT + 1) {
        match api.post(path, &body).await {
            Err(CallError::Status(422, problem)) => {
                assert_eq!(problem["errors"].as_array().map(Vec::len), Some(1), "{path}: {problem}");
                let error = &problem["errors"][0];
                assert_eq!(error["pointer"], pointer, "{path}");
                assert!(error["detail"].as_str().unwrap().contains("limits.max_amount_millisats"), "{path}: {error}");
            }
            taken => panic!("{path}: {taken:?}"),
        }
    }
    for (path, _, body) in calls(MAX_AMOUNT) {
        assert!(api.post(path, &body).await.unwrap()["stream_id"].is_string(), "{path}");
    }
}
