//! `limits.*`

use std::num::NonZeroU32;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use usher_api::{Limits, ServeOptions};

use crate::app::TestApp;
use crate::raw_client::{Raw, head};

/// Those that are fixed; the others are `limits.*` in the configuration's reference.
#[test]
fn documented_limits_match_the_code() {
    let document = include_str!("../../../../docs/api.md");
    let (limits, serve) = (Limits::default(), ServeOptions::default());
    let (kib, body) = (|bytes: usize| bytes / 1024, limits.body_timeout.as_secs());
    let duration = limits.request_timeout.as_secs();
    for row in [
        format!("| request head | {} KiB,", kib(serve.header_bytes)),
        format!("| time to the first request of a connection | {} s |", serve.first_request_timeout.as_secs()),
        format!("| time to the next request (idle) | {} s |", serve.idle_timeout.as_secs()),
        format!("| body | {} KiB within {body} s | 413, 408 |", kib(limits.body_bytes)),
        format!("| duration of a request | {duration} s, plus the `wait` of a long poll | 503 |"),
        format!("| response that the client does not read | {} s without progress |", serve.write_timeout.as_secs()),
        format!("| message over `/ws` | {} KiB | closed, 1009 |", kib(limits.body_bytes)),
        format!("connection | {}, 1,000 | 503 |", limits.calls_per_socket),
        "| watched streams of all `/ws` connections | 100,000 | 503 |".to_owned(),
        format!("send `auth` as their first message, within {} s.", limits.socket_auth_timeout.as_secs()),
        format!("was not taken within {} s", limits.socket_send_timeout.as_secs()),
        format!("you did not reply to a ping (sent every {} s", limits.ping_interval.as_secs()),
        format!("A comment after every {} s of silence", limits.keep_alive.as_secs()),
    ] {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(document).contains(&words(&row)), "docs/api.md does not say: {row}");
    }
    assert_eq!((limits.subscriptions_per_socket, limits.max_subscriptions), (1_000, 100_000));
}

#[tokio::test]
async fn requests_per_second_are_limited() {
    let app = TestApp::with(|of| of.limits.requests_per_second = NonZeroU32::new(3)).await;
    let ask = async || app.get("/version").send().await.unwrap();
    // Unauthenticated requests and the health check do not count.
    for _ in 0..10 {
        assert_eq!(app.http.get(app.url("/version")).send().await.unwrap().status(), 401);
        assert_eq!(app.http.get(app.url("/health")).send().await.unwrap().status(), 200);
    }
    for _ in 0..3 {
        assert_eq!(ask().await.status(), 200);
    }
    let refused = ask().await;
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()["retry-after"], "1");
    assert!(refused.text().await.unwrap().contains("\"code\":\"rate_limited\""));
    assert_eq!(app.get("/nothing").send().await.unwrap().status(), 429, "routes that do not exist count too");
    app.clock.turn(Duration::from_secs(1));
    for status in [200, 200, 200, 429] {
        assert_eq!(ask().await.status(), status);
    }
}

#[tokio::test]
async fn open_streams_are_limited() {
    let app = TestApp::with(|of| of.options.max_open_streams = 3).await;
    let refused = loop {
        let response = app.post("/key-handshake").json(&json!({})).send().await.unwrap();
        if response.status() != 200 {
            break response;
        }
    };
    assert_eq!(refused.headers()["retry-after"], "5");
    assert!(refused.status() == 503 && refused.text().await.unwrap().contains("\"code\":\"overloaded\""));
    assert_eq!(app.engine.open_streams(), 3 + 1, "the reserved stream is no operation");
}

#[tokio::test]
async fn slow_or_missing_body_is_408() {
    let app = TestApp::with(|of| of.limits.body_timeout = Duration::from_millis(300)).await;
    let mut raw = Raw::connect(&app).await;
    let head = head("POST", "/key-handshake");
    raw.send(&format!("{head}Content-Type: application/json\r\nContent-Length: 200\r\n\r\n")).await;
    let (mut reader, mut writer) = raw.0.into_split();
    let dripping = tokio::spawn(async move {
        while writer.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let mut answer = [0; 12];
    crate::app::within(reader.read_exact(&mut answer)).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 408");
    dripping.abort();

    let mut missing =
        Raw::sending(&app, &format!("{head}Content-Type: application/json\r\nContent-Length: 20\r\n\r\n{{")).await;
    let answer = missing.answer().await.unwrap();
    assert!(answer.status == 408 && answer.body.contains("\"code\":\"body_timeout\""), "{answer:?}");
    assert!(missing.closed().await.is_empty(), "what would come now is no request");
}
