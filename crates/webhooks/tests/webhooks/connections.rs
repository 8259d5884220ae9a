//! Connections: reused, shared and bounded; proxies are not used.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::{LONG, NOW, Server, empty, event, post, read_request, receiver, stream_id};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio::time::sleep;
use usher_engine::ports::{Posted, WebhookSender as _};

#[tokio::test]
async fn connection_is_reused() {
    let page = "x".repeat(16 * 1024);
    for answer in [empty("200 OK", ""), format!("HTTP/1.1 500 No\r\ncontent-length: 16384\r\n\r\n{page}").into_bytes()]
    {
        let (server, _received) = Server::answering(answer).await;
        let receiver = receiver(&server.url, LONG);
        for index in 0..20 {
            receiver.post(stream_id(), &event(index), NOW).await;
        }
        // A pause of some seconds between two posts, on a machine with much else to do, may cost a connection.
        assert!(server.connections() <= 5, "{}", server.connections());
    }
    // The body arrives late.
    let server = Server::start(|mut stream| async move {
        while read_request(&mut stream).await.is_some() {
            for part in [&b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"[..], b"o", b"k"] {
                stream.write_all(part).await.unwrap();
                sleep(Duration::from_millis(20)).await;
            }
        }
    })
    .await;
    let receiver = receiver(&server.url, LONG);
    for index in 0..10 {
        assert_eq!(receiver.post(stream_id(), &event(index), NOW).await, Posted::Accepted { http_status: 200 });
    }
    assert!(server.connections() <= 5, "{}", server.connections());
}

#[tokio::test]
async fn connection_is_not_reused_after_a_large_response() {
    let page = "x".repeat(1024 * 1024);
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: 1048576\r\n\r\n{page}");
    let (server, _received) = Server::answering(answer).await;
    let receiver = receiver(&server.url, LONG);
    for index in 0..5 {
        assert_eq!(receiver.post(stream_id(), &event(index), NOW).await, Posted::Accepted { http_status: 200 });
    }
    assert_eq!(server.connections(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundred_posts_run_concurrently() {
    const AT_ONCE: usize = 100;
    // No request is answered before all are there.
    let all_there = Arc::new(Barrier::new(AT_ONCE));
    let server = Server::start(move |mut stream| {
        let all_there = Arc::clone(&all_there);
        async move {
            while read_request(&mut stream).await.is_some() {
                all_there.wait().await;
                if stream.write_all(&empty("200 OK", "")).await.is_err() {
                    return;
                }
            }
        }
    })
    .await;
    let receiver = Arc::new(receiver(&server.url, LONG));
    for round in 0..3 {
        let mut posts = JoinSet::new();
        for index in 0..AT_ONCE as u64 {
            let receiver = Arc::clone(&receiver);
            posts.spawn(async move { receiver.post(stream_id(), &event(index), NOW).await });
        }
        for posted in posts.join_all().await {
            assert_eq!(posted, Posted::Accepted { http_status: 200 }, "round {round}");
        }
    }
}

/// Proxies come by environment variables, and a process can't safely set its own: the test runs itself in another.
#[tokio::test]
async fn proxy_environment_variables_are_ignored() {
    const TARGET: &str = "USHER_TEST_PAST_PROXIES";
    if let Ok(url) = std::env::var(TARGET) {
        let posted = post(&url.parse().unwrap(), LONG).await;
        assert_eq!(posted, Posted::Accepted { http_status: 200 });
        return;
    }
    let (proxy, _received) = Server::answering(empty("502 Bad Gateway", "")).await;
    let (server, _received) = Server::answering(empty("200 OK", "")).await;
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "connections::proxy_environment_variables_are_ignored"]).env(TARGET, server.url.as_str());
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        child.env(name, proxy.url.as_str());
    }
    child.env_remove("NO_PROXY").env_remove("no_proxy");
    let output = tokio::task::spawn_blocking(move || child.output()).await.unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!((proxy.connections(), server.connections()), (0, 1));
}
