//! `wss://`, and faulty servers behind it.

use std::net::Ipv4Addr;
use std::sync::Arc;

use rustls::ClientConfig;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_test_tools::{TcpServer, self_signed, trusting};

use crate::fixture::{Service, Wallet, eventually};

/// The URL of a relay behind TLS for `name`, and the configuration of a client that trusts its certificate.
async fn behind_tls(relay: &QuirkyRelay, name: &str) -> (TcpServer, String, Arc<ClientConfig>) {
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
    (server, url, trusting(certificate))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn login_over_tls() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let (_tls, url, trusting) = behind_tls(&relay, "localhost").await;
    let mut service = Service::start_with(&[&url], |options| options.tls = Some(trusting));
    let wallet = Wallet::connect(&[relay.url()]).await;
    service.subscribed_at(&url).await;
    service.ask(&wallet.key(), "sealed");
    assert_eq!(service.next_answer().await, "sealed");
    wallet.stop().await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_of_nobody_or_of_another_name_is_refused() {
    for (name, is_trusted) in [("localhost", false), ("relay.example", true)] {
        let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
        let (_tls, url, trusting) = behind_tls(&relay, name).await;
        // Otherwise with the public certificate authorities, as in production.
        let service = Service::start_with(&[&url], |options| options.tls = is_trusted.then_some(trusting));
        eventually("refused", || format!("{:?}", service.status_of(&url).state).contains("certificate")).await;
        assert_eq!(relay.metrics().handshakes, 0);
        service.stop().await;
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
    let service = Service::start_with(&[], |options| {
        options.tls = Some(trusting(certificate));
        options.allow_private = true;
    });
    let mut message = service.message(&usher_protocol::Keys::generate().public_key(), "x");
    message.relays = vec![url.clone()];
    usher_engine::ports::Messenger::send(&*service.pool, &message);
    eventually("left", || format!("{:?}", service.status_of(&url).state).contains("bytes without a message")).await;
    service.stop().await;
}

/// A server that responds to each connection with these bytes, repeating the last part, with a pause before each.
async fn answering(first: &'static str, again: &'static str, pause: std::time::Duration) -> TcpServer {
    TcpServer::start(move |mut stream| async move {
        let _ = stream.read(&mut [0; 4096]).await;
        let _ = stream.write_all(first.as_bytes()).await;
        while stream.write_all(again.as_bytes()).await.is_ok() {
            tokio::time::sleep(pause).await;
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_handshakes_are_ended() {
    let (fast, slow) = (std::time::Duration::ZERO, std::time::Duration::from_millis(20));
    for (name, first, again, pause) in [
        ("headers", "HTTP/1.1 101 Switching Protocols\r\n", "a: b\r\n", fast),
        (
            "a long header",
            "HTTP/1.1 101 Switching Protocols\r\na: ",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            fast,
        ),
        ("a slow header", "HTTP/1.1 101 Switching Protocols\r\na: ", "a", slow),
        ("empty lines", "", "\r\n", fast),
        ("informational answers", "", "HTTP/1.1 100 Continue\r\n\r\n", fast),
        ("redirects", "", "HTTP/1.1 301 Moved\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", fast),
        ("a body", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n", fast),
    ] {
        let server = answering(first, again, pause).await;
        let url = format!("ws://{}", server.address());
        let service = Service::start_with(&[&url], |options| {
            options.connection.handshake = std::time::Duration::from_secs(2);
        });
        eventually(name, || service.pool.metrics().disconnects >= 2).await;
        assert!(
            format!("{:?}", service.status_of(&url).state).contains("handshake"),
            "{name}: {:?}",
            service.status_of(&url)
        );
        assert_eq!(service.pool.metrics().connects, 0, "{name}");
        service.stop().await;
    }
}
