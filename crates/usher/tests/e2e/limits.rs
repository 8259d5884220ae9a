//! The settings `limits.*` reach the parts that enforce them, which `crates/api/tests/http` and the engine test.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::{CallError, LONG, TestUsher};

fn limited(values: &[(&str, u64)]) -> crate::harness::Builder {
    values.iter().fold(TestUsher::builder().relays(&["ws://127.0.0.1:9"]), |builder, (key, value)| {
        builder.set(&format!("LIMITS__{key}"), value)
    })
}

fn code(refused: Result<Value, CallError>) -> (u16, String) {
    match refused {
        Err(CallError::Status(status, problem)) => (status, problem["code"].as_str().unwrap().to_owned()),
        other => panic!("{other:?}"),
    }
}

/// A connection to the service that is kept alive.
async fn connect(usher: &TestUsher) -> TcpStream {
    TcpStream::connect(usher.api().base.trim_start_matches("http://")).await.unwrap()
}

/// Sends a request over a connection; the start of the response's status line, `None` when there is no response.
async fn request(connection: &mut TcpStream, head: &str) -> Option<String> {
    let sent = connection.write_all(format!("GET {head}\r\n\r\n").as_bytes()).await;
    let mut line = [0; 12];
    // A connection that is refused may be cut off while the request is sent.
    let read = tokio::time::timeout(LONG, connection.read_exact(&mut line)).await.expect("in time");
    (sent.is_ok() && read.is_ok()).then(|| String::from_utf8_lossy(&line).into_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operations_readers_and_rates() {
    let few = [("MAX_OPEN_STREAMS", 3), ("MAX_LONG_POLLS", 1), ("MAX_EVENT_STREAMS", 2), ("MAX_WEBSOCKETS", 4)];
    let usher = limited(&few).start().await;
    let api = usher.api();
    let mut streams = Vec::new();
    for _ in 0..3 {
        streams.push(api.handshake(json!({})).await.stream);
    }
    let overloaded = (503, "overloaded".to_owned());
    assert_eq!(code(api.post("/key-handshake", &json!({})).await), overloaded);

    let polling = {
        let (api, path) = (api.clone(), format!("/events/{}?wait=60", streams[0]));
        tokio::spawn(async move { api.get(&path).await })
    };
    api.long_polls(1).await;
    assert_eq!(code(api.get(&format!("/events/{}?wait=1", streams[0])).await), overloaded);
    polling.abort();

    let _feeds = [api.sse(&streams[0], None).await.unwrap(), api.sse(&streams[1], None).await.unwrap()];
    assert_eq!(api.sse(&streams[2], None).await.err(), Some(503));

    let upgrade = format!(
        "/ws HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
        api.token
    );
    let mut sockets = Vec::new();
    for expected in ["HTTP/1.1 101", "HTTP/1.1 101", "HTTP/1.1 101", "HTTP/1.1 101", "HTTP/1.1 503"] {
        let mut socket = connect(&usher).await;
        assert_eq!(request(&mut socket, &upgrade).await.as_deref(), Some(expected));
        sockets.push(socket);
    }

    let usher = limited(&[("REQUESTS_PER_SECOND", 1)]).start().await;
    let slow = usher.api();
    // Two within one second are too many; on a slow machine there may be none.
    let refused = async {
        loop {
            if let Err(refused) = slow.get("/version").await {
                return code(Err(refused));
            }
        }
    };
    assert_eq!(tokio::time::timeout(LONG, refused).await.expect("a limit"), (429, "rate_limited".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections() {
    let usher = limited(&[("MAX_CONNECTIONS", 4)]).start().await;
    let with_token = format!("/version HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}", usher.api().token);
    let mut kept = Vec::new();
    // The client of the harness keeps some of them.
    loop {
        let mut connection = connect(&usher).await;
        match request(&mut connection, &with_token).await.as_deref() {
            Some("HTTP/1.1 200") => kept.push(connection),
            // Refused, with or without a response.
            refused => break assert!(matches!(refused, None | Some("HTTP/1.1 503")), "{refused:?}"),
        }
        assert!(kept.len() <= 4, "there is no limit");
    }
    assert!(!kept.is_empty());

    let without = "/health HTTP/1.1\r\nhost: x";
    let usher = limited(&[("MAX_UNAUTHENTICATED_CONNECTIONS", 2)]).start().await;
    let mut all = Vec::new();
    for _ in 0..5 {
        let mut connection = connect(&usher).await;
        assert_eq!(request(&mut connection, without).await.as_deref(), Some("HTTP/1.1 200"));
        all.push(connection);
    }
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(LONG, all[0].read_to_end(&mut rest)).await;
    assert!(ended.is_ok(), "the oldest gave way");

    // Behind a proxy on this machine everybody has the loopback address, which has no limit of its own.
    let usher = limited(&[("MAX_UNAUTHENTICATED_PER_ADDRESS", 1)]).start().await;
    let mut all = [connect(&usher).await, connect(&usher).await, connect(&usher).await];
    for connection in &mut all {
        assert_eq!(request(connection, without).await.as_deref(), Some("HTTP/1.1 200"));
    }
}
