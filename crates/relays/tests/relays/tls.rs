//! `wss://`, and faulty servers behind it.

use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use usher_protocol::Keys;
use usher_testing::{TcpServer, self_signed, trusting};

use crate::fixture::{Service, Wallet, relay, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_of_nobody_or_of_another_name_is_refused() {
    for (name, is_trusted) in [("localhost", true), ("localhost", false), ("relay.example", true)] {
        let relay = relay().await;
        let (acceptor, certificate) = self_signed(name);
        let target = relay.port();
        let server = TcpServer::start(move |stream| {
            let acceptor = acceptor.clone();
            async move {
                let Ok(mut inside) = acceptor.accept(stream).await else { return };
                let mut outside = TcpStream::connect((Ipv4Addr::LOCALHOST, target)).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut inside, &mut outside).await;
            }
        })
        .await;
        let url = format!("wss://localhost:{}", server.port());
        // Otherwise with the public certificate authorities, as in production.
        let tls = is_trusted.then(|| trusting(certificate));
        let mut service = Service::start_with(&[&url], |options| options.tls = tls).await;
        if name == "localhost" && is_trusted {
            service.subscribed_at(&url).await;
            let wallet = Wallet::connect(relay.url()).await;
            service.ask(&wallet.key(), "sealed");
            assert_eq!(service.next_answer().await, "sealed");
        } else {
            service.until("refused", &url, "certificate").await;
            assert_eq!(relay.metrics().handshakes, 0);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_tls_record_per_byte_ends_the_connection() {
    let (acceptor, certificate) = self_signed("localhost");
    let server = TcpServer::start(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(inside) = acceptor.accept(stream).await else { return };
            let Ok(socket) = tokio_tungstenite::accept_async(inside).await else { return };
            let mut stream = socket.into_inner();
            // A message of 400 KB that arrives byte by byte.
            let _ = stream.write_all(&[0x81, 127, 0, 0, 0, 0, 0, 6, 0x1a, 0x80]).await;
            while stream.write_all(b" ").await.is_ok() && stream.flush().await.is_ok() {}
        }
    })
    .await;
    let url = format!("wss://localhost:{}", server.port());
    let service = Service::start_with(&[], |options| options.tls = Some(trusting(certificate))).await;
    service.ask_at(&Keys::generate().public_key(), "x", &[&url]);
    service.until("left", &url, "bytes without a message").await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_handshakes_are_ended() {
    const SWITCHING: &str = "HTTP/1.1 101 Switching Protocols\r\n";
    let (fast, slow) = (Duration::ZERO, Duration::from_millis(20));
    for (name, head, first, again, pause) in [
        ("headers", SWITCHING, "", "a: b\r\n", fast),
        ("a long header", SWITCHING, "a: ", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", fast),
        ("a slow header", SWITCHING, "a: ", "a", slow),
        ("empty lines", "", "", "\r\n", fast),
        ("informational answers", "", "", "HTTP/1.1 100 Continue\r\n\r\n", fast),
        ("redirects", "", "", "HTTP/1.1 301 Moved\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", fast),
        ("a body", "HTTP/1.1 200 OK\r\n", "Transfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n", fast),
    ] {
        // It responds to each connection with these bytes, repeating the last part, with a pause before each.
        let server = TcpServer::start(move |mut stream| async move {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all([head, first].concat().as_bytes()).await;
            while stream.write_all(again.as_bytes()).await.is_ok() {
                tokio::time::sleep(pause).await;
            }
        })
        .await;
        let url = format!("ws://{}", server.address());
        let handshake = Duration::from_secs(2);
        let service = Service::start_with(&[&url], |options| options.connection.handshake = handshake).await;
        until(name, async || service.pool.metrics().disconnects.get() >= 2).await;
        service.until(name, &url, "handshake").await;
        assert_eq!(service.pool.metrics().connects.get(), 0, "{name}");
        service.stop().await;
    }
}
