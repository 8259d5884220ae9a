//! Receivers that send interim responses (`100`, `103`) without end.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::{LONG, NOW, Server, event, read_request, receiver, stream_id};
use tokio::io::AsyncWriteExt as _;
use tokio::task::JoinSet;
use usher_engine::ports::{Posted, WebhookSender as _};

/// A receiver that sends `part` until nobody reads any more.
async fn endless(part: &'static str) -> Server {
    Server::start(move |mut stream| async move {
        read_request(&mut stream).await;
        let parts = part.repeat(64 * 1024 / part.len());
        while stream.write_all(parts.as_bytes()).await.is_ok() {}
    })
    .await
}

#[tokio::test]
async fn endless_interim_responses_end_the_attempt() {
    const SHORT: Duration = Duration::from_secs(2);
    for (part, timeout, outcome) in [
        ("HTTP/1.1 100 Continue\r\n\r\n", SHORT, "no answer within 2s"),
        ("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n", SHORT, "no answer within 2s"),
        ("\r\n", LONG, "the answer's headers are too large"),
    ] {
        let server = endless(part).await;
        let receiver = Arc::new(receiver(&server.url, timeout));
        let mut posts = JoinSet::new();
        for index in 0..8 {
            let receiver = Arc::clone(&receiver);
            posts.spawn(async move { receiver.post(stream_id(), &event(index), NOW).await });
        }
        for posted in posts.join_all().await {
            let Posted::Refused { http_status: None, reason, .. } = posted else { panic!("{part:?}: {posted:?}") };
            assert_eq!(reason, outcome, "{part:?}");
        }
    }
}

#[tokio::test]
async fn some_interim_responses_are_skipped_on_every_request() {
    let server = Server::start(|mut stream| async move {
        loop {
            read_request(&mut stream).await;
            let interim = "HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n".repeat(100);
            let answer = format!("HTTP/1.1 100 Continue\r\n\r\n{interim}HTTP/1.1 204 No Content\r\n\r\n");
            if stream.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
    })
    .await;
    let receiver = receiver(&server.url, LONG);
    for index in 0..5 {
        assert_eq!(receiver.post(stream_id(), &event(index), NOW).await, Posted::Accepted { http_status: 204 });
    }
    assert_eq!(server.connections(), 1, "each response is counted by itself");
}
