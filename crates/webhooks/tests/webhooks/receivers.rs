//! Good and bad receivers: every post ends in time and reports its result.

use std::time::Duration;

use crate::common::{LONG, NOW, Server, accepts, empty, event, no_answer, post, read_request, receiver, stream_id};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use url::Url;
use usher_engine::ports::{Posted, WebhookSender as _};

/// A deadline for receivers that never answer.
const SHORT: Duration = Duration::from_secs(2);

#[tokio::test]
async fn request_matches_the_documentation() {
    let (server, mut received) = Server::answering(empty("200 OK", "set-cookie: a=b\r\n")).await;
    let mut url = server.url.clone();
    url.set_username("hook user").unwrap();
    url.set_password(Some("pässword")).unwrap();
    url.set_query(Some("token=t"));
    let receiver = crate::common::signing_receiver(&url, LONG, &["s"]);
    for now in [NOW, NOW.plus(Duration::from_millis(61_999))] {
        assert_eq!(receiver.post(stream_id(), &event(2), now).await, Posted::Accepted { http_status: 200 });
    }

    let (first, second) = (received.recv().await.unwrap(), received.recv().await.unwrap());
    assert_eq!(first.line, "POST /hook?token=t HTTP/1.1");
    assert_eq!(
        String::from_utf8(first.body.clone()).unwrap(),
        concat!(
            r#"{"stream_id":"018bcfe5-6800-7bab-abab-abababababab","index":2,"type":"StatusUpdate","timestamp":1700000000,"#,
            r#""data":{"status": "paid", "reason": "żółw 🐢 \"quoted\"", "preimage": "00"}}"#
        )
    );
    assert_eq!(first.body, second.body);
    let mut names: Vec<_> = first.headers.keys().map(String::as_str).collect();
    names.sort_unstable();
    let expected = "accept authorization content-length content-type host user-agent webhook-id webhook-signature \
                    webhook-timestamp x-service-event-id x-service-signature";
    assert_eq!(names.join(" "), expected);
    assert_eq!(first.headers["content-type"], "application/json");
    assert_eq!(first.headers["authorization"], "Basic aG9vayB1c2VyOnDDpHNzd29yZA==");
    assert_eq!(first.headers["user-agent"], concat!("Usher/", env!("CARGO_PKG_VERSION")));
    let id = "018bcfe5-6800-7bab-abab-abababababab:2";
    assert_eq!((first.headers["webhook-id"].as_str(), first.headers["x-service-event-id"].as_str()), (id, id));
    assert_eq!(first.headers["webhook-timestamp"], "784111777");
    assert_eq!(second.headers["webhook-timestamp"], "784111838");
    assert_eq!(first.headers["x-service-signature"], second.headers["x-service-signature"]);
    assert_ne!(first.headers["webhook-signature"], second.headers["webhook-signature"]);
}

#[tokio::test]
async fn status_2xx_means_accepted_and_any_other_refused() {
    let wait = |secs| Some(Duration::from_secs(secs));
    for (answer, headers, status, reason, retry_after) in [
        ("500 Oh no", "", 500, "500 Internal Server Error", None),
        ("429 Slow", "Retry-After: 120\r\n", 429, "429 Too Many Requests", wait(120)),
        ("503 Later", "Retry-After: Sun, 06 Nov 1994 08:50:37 GMT\r\n", 503, "503 Service Unavailable", wait(60)),
        ("503 Later", "Retry-After: soon\r\n", 503, "503 Service Unavailable", None),
        ("401 No", "Retry-After: 1\r\n", 401, "401 Unauthorized", wait(1)),
        ("304 Same", "", 304, "304 Not Modified (redirects are not followed)", None),
        ("101 Switching", "upgrade: x\r\n", 101, "101 Switching Protocols", None),
        ("799 What", "", 799, "799", None),
        ("200 OK", "", 200, "", None),
        ("206 Whatever", "Retry-After: 1\r\n", 206, "", None),
        ("299 Whatever", "", 299, "", None),
    ] {
        let (server, _received) = Server::answering(empty(answer, headers)).await;
        let said = format!("the receiver answered {reason}");
        let refused = Posted::Refused { http_status: Some(status), reason: said, retry_after };
        let expected = if reason.is_empty() { Posted::Accepted { http_status: status } } else { refused };
        assert_eq!(post(&server.url, LONG).await, expected, "{answer}");
    }
}

#[tokio::test]
async fn host_that_cannot_be_reached_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    drop(listener);
    assert_eq!(no_answer(post(&url, LONG).await), "could not connect: connection refused");
    // A label too long for any name server to be asked about.
    let url = Url::parse(&format!("http://{}.invalid/", "a".repeat(70))).unwrap();
    let reason = no_answer(post(&url, LONG).await);
    assert!(reason.starts_with("could not connect: the host name could not be looked up ("), "{reason}");
    assert!(!reason.contains("aaa"), "{reason}");
}

/// Of any kind, fast or slowly: `usher-http-client`.
#[tokio::test]
async fn endless_heads_end_the_attempt() {
    for (start, part, deadline, outcome) in [
        ("HTTP/1.1 200 OK\r\n", "a: b\r\n", LONG, "the answer's headers are too large"),
        ("", "HTTP/1.1 100 Continue\r\n\r\n", SHORT, "no answer within 2s"),
    ] {
        let server = Server::start(move |mut stream| async move {
            read_request(&mut stream).await;
            let _ = stream.write_all(start.as_bytes()).await;
            while stream.write_all(part.repeat(1_000).as_bytes()).await.is_ok() {}
        })
        .await;
        let posted = timeout(LONG, post(&server.url, deadline)).await.unwrap();
        assert_eq!(no_answer(posted), outcome, "{start:?} {part:?}");
    }
}

#[tokio::test]
async fn some_interim_responses_are_skipped_on_every_request() {
    let interim = "HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n".repeat(100);
    let answer = format!("HTTP/1.1 100 Continue\r\n\r\n{interim}HTTP/1.1 204 No Content\r\n\r\n");
    let (server, _received) = Server::answering(answer).await;
    accepts(&server.url, 5, 204).await;
    assert_eq!(server.connections(), 1, "each response is counted by itself");
}

#[tokio::test]
async fn hanging_receiver_times_out_and_its_connection_is_closed() {
    let (ended, mut connection_ended) = mpsc::unbounded_channel();
    let server = Server::start(move |mut stream| {
        let ended = ended.clone();
        async move {
            read_request(&mut stream).await;
            let _ = stream.read(&mut [0; 1]).await;
            let _ = ended.send(());
        }
    })
    .await;
    let receiver = receiver(&server.url, SHORT);
    assert_eq!(no_answer(receiver.post(stream_id(), &event(0), NOW).await), "no answer within 2s");
    timeout(LONG, connection_ended.recv()).await.unwrap().unwrap();
}

#[tokio::test]
async fn responses_that_are_not_http_are_refused() {
    for garbage in [
        &b"SSH-2.0-OpenSSH_9.2\r\n\r\n"[..],
        b"\x15\x03\x01\x00\x02\x02\x46\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
        b"{\"ok\":true}\n\n\n\n\n",
    ] {
        let server = Server::closing_after(garbage).await;
        assert_eq!(no_answer(post(&server.url, LONG).await), "the answer is not HTTP");
    }
}

#[tokio::test]
async fn connection_closed_before_the_response_is_reported() {
    for start in [&b""[..], b"HTTP/1.1 200 OK\r\ncontent-le"] {
        let server = Server::closing_after(start).await;
        assert_eq!(no_answer(post(&server.url, LONG).await), "the receiver closed the connection before it answered");
    }
    let server = Server::start(|mut stream| async move {
        read_request(&mut stream).await;
        stream.set_zero_linger().unwrap();
    })
    .await;
    assert_eq!(no_answer(post(&server.url, LONG).await), "the receiver broke the connection");
}

#[tokio::test]
async fn broken_or_slow_body_does_not_change_the_outcome() {
    let accepted = Posted::Accepted { http_status: 200 };
    for answer in [
        &b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf"[..],
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhal",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzzz\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 5\r\n\r\nplain",
        b"HTTP/1.1 200 OK\r\n\r\nuntil it closes",
    ] {
        let server = Server::closing_after(answer).await;
        assert_eq!(post(&server.url, LONG).await, accepted);
    }
    let slow = Server::start(|mut stream| async move {
        read_request(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        while stream.write_all(b".").await.is_ok() {
            sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    assert_eq!(timeout(LONG, post(&slow.url, 10 * LONG)).await.unwrap(), accepted);
    let server = Server::closing_after(b"HTTP/1.1 500 No\r\ncontent-length: 100\r\n\r\nhalf").await;
    assert!(matches!(post(&server.url, LONG).await, Posted::Refused { http_status: Some(500), .. }));
}
