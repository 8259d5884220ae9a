//! Receivers that send endlessly cost no memory. A separate test program, because it measures the memory of the process.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "webhooks/common/mod.rs"]
mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::{LONG, NOW, Server, event, read_request, receiver, stream_id};
use tokio::io::AsyncWriteExt as _;
use tokio::task::JoinSet;
use usher_engine::ports::WebhookSender as _;

const POSTS: u64 = 100;

/// The most memory this program has had resident, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn endless_responses_are_not_buffered() {
    for (head, part) in [
        ("HTTP/1.1 200 OK\r\n\r\n", "x"),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "8\r\n12345678\r\n"),
        ("HTTP/1.1 500 No\r\ncontent-length: 99999999999\r\n\r\n", "x"),
        ("HTTP/1.1 200 OK\r\n", "x"),
        ("HTTP/1.1 200 OK\r\n", "a: b\r\n"),
    ] {
        let part: Arc<str> = part.repeat(64 * 1024 / part.len()).into();
        let sent = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&sent);
        let server = Server::start(move |mut stream| {
            let (part, sent) = (Arc::clone(&part), Arc::clone(&counter));
            async move {
                read_request(&mut stream).await;
                let _ = stream.write_all(head.as_bytes()).await;
                while let Ok(written @ 1..) = stream.write(part.as_bytes()).await {
                    sent.fetch_add(written as u64, Ordering::Relaxed);
                }
            }
        })
        .await;
        let before = peak();
        let receiver = Arc::new(receiver(&server.url, LONG));
        let mut posts = JoinSet::new();
        for index in 0..POSTS {
            let receiver = Arc::clone(&receiver);
            posts.spawn(async move { receiver.post(stream_id(), &event(index), NOW).await });
        }
        posts.join_all().await;

        // 100 connections at once, each with at most the 400 KiB the HTTP client gives a head.
        // The kernel counts in batches, so that its peak may even shrink a little.
        let grown = peak().saturating_sub(before);
        assert!(grown < 100 << 20, "{head:?}: {grown} bytes more");
        // What is sent and not read waits in the kernel's buffers, a few MiB per connection.
        let sent = sent.load(Ordering::Relaxed);
        assert!(sent < POSTS * (24 << 20), "{head:?}: {sent} bytes taken");
    }
}
