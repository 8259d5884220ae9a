//! The breakable proxy.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};
use usher_faults::proxy::BreakableProxy;

use crate::raw_client::{LONG, QUIET};

/// A server that sends back what it gets.
async fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut source, mut sink) = stream.split();
                let _ = tokio::io::copy(&mut source, &mut sink).await;
            });
        }
    });
    address
}

async fn echoes(stream: &mut TcpStream, text: &[u8]) -> bool {
    let mut back = vec![0; text.len()];
    stream.write_all(text).await.is_ok()
        && matches!(timeout(LONG, stream.read_exact(&mut back)).await, Ok(Ok(_)))
        && back == text
}

async fn ended(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    timeout(LONG, stream.read_to_end(&mut rest)).await.is_ok() && rest.is_empty()
}

async fn silent(stream: &mut TcpStream) -> bool {
    timeout(QUIET, stream.read_u8()).await.is_err()
}

#[tokio::test]
async fn proxy_forwards_both_directions_and_half_closes() {
    let proxy = BreakableProxy::start(echo().await).await.unwrap();
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    let large: Vec<u8> = (0..1_000_000_u32).map(|n| n as u8).collect();
    let (mut source, mut sink) = stream.split();
    let send = async {
        sink.write_all(&large).await.unwrap();
        sink.shutdown().await.unwrap();
    };
    let mut back = Vec::new();
    let (_, read) = tokio::join!(send, timeout(LONG, source.read_to_end(&mut back)));
    read.unwrap().unwrap();
    assert!(back == large);
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test]
async fn cut_closes_old_and_new_connections_until_restored() {
    let proxy = BreakableProxy::start(echo().await).await.unwrap();
    let mut old = TcpStream::connect(proxy.address()).await.unwrap();
    assert!(echoes(&mut old, b"hello").await);
    proxy.cut();
    assert!(ended(&mut old).await);
    let mut new = TcpStream::connect(proxy.address()).await.unwrap();
    assert!(ended(&mut new).await);
    proxy.restore();
    let mut again = TcpStream::connect(proxy.address()).await.unwrap();
    assert!(echoes(&mut again, b"hello").await);
}

#[tokio::test]
async fn swallow_keeps_connections_open_and_silent_until_restored() {
    let proxy = BreakableProxy::start(echo().await).await.unwrap();
    let mut spoken = TcpStream::connect(proxy.address()).await.unwrap();
    let mut quiet = TcpStream::connect(proxy.address()).await.unwrap();
    assert!(echoes(&mut spoken, b"hello").await);
    assert!(echoes(&mut quiet, b"hello").await);
    proxy.swallow();
    let mut new = TcpStream::connect(proxy.address()).await.unwrap();
    spoken.write_all(b"lost").await.unwrap();
    new.write_all(b"lost").await.unwrap();
    assert!(silent(&mut spoken).await && silent(&mut new).await);
    proxy.restore();
    // A connection that lost bytes cannot continue; one that lost none can.
    assert!(ended(&mut spoken).await);
    assert!(timeout(LONG, new.read_u8()).await.unwrap().is_err());
    assert!(echoes(&mut quiet, b"still here").await);
}

#[tokio::test]
async fn delay_applies_in_both_directions() {
    let proxy = BreakableProxy::start(echo().await).await.unwrap();
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    assert!(echoes(&mut stream, b"hello").await);
    let delay = Duration::from_millis(100);
    proxy.delay(delay);
    let start = Instant::now();
    assert!(echoes(&mut stream, b"hello").await);
    assert!(start.elapsed() >= delay * 2);
}

#[tokio::test]
async fn unreachable_target_closes_the_connection() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let proxy = BreakableProxy::start(free.to_string()).await.unwrap();
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    assert!(ended(&mut stream).await);
}
