//! Connections: reused, shared and bounded; proxies are not used.

use std::time::Duration;

use crate::common::{LONG, NOW, Server, accepts, empty, event, post, read_request, receiver, stream_id};
use tokio::io::AsyncWriteExt as _;
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
    accepts(&server.url, 10, 200).await;
    assert!(server.connections() <= 5, "{}", server.connections());
}

#[tokio::test]
async fn connection_is_not_reused_after_a_large_response() {
    let page = "x".repeat(1024 * 1024);
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: 1048576\r\n\r\n{page}");
    let (server, _received) = Server::answering(answer).await;
    accepts(&server.url, 5, 200).await;
    assert_eq!(server.connections(), 5);
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
