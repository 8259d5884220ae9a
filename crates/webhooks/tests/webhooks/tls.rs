//! Endpoints with TLS.

use std::time::Duration;

use crate::common::{LONG, NOW, Server, empty, event, no_answer, post, read_request, stream_id};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use url::Url;
use usher_engine::ports::{Posted, WebhookSender as _};
use usher_testing::self_signed;
use usher_webhooks::{HttpWebhookSender, WebhookOptions};

/// An endpoint with a certificate of its own for `name`; the certificate as PEM.
async fn server_named(name: &str) -> (Server, String) {
    let (acceptor, certificate) = self_signed(name);
    let mut server = Server::start(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            read_request(&mut stream).await;
            let _ = stream.write_all(&empty("200 OK", "")).await;
            let _ = stream.shutdown().await;
        }
    })
    .await;
    server.url.set_scheme("https").unwrap();
    let pem = format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(certificate));
    (server, pem)
}

fn trusting(url: &Url, pem: &str) -> HttpWebhookSender {
    let trusted_certificates = Some(pem.as_bytes().to_vec());
    HttpWebhookSender::new(WebhookOptions { timeout: LONG, trusted_certificates, ..WebhookOptions::new(url.clone()) })
        .unwrap()
}

#[tokio::test]
async fn configured_ca_certificate_is_trusted_for_its_name() {
    let (server, pem) = server_named("127.0.0.1").await;
    let posted = trusting(&server.url, &pem).post(stream_id(), &event(0), NOW).await;
    assert_eq!(posted, Posted::Accepted { http_status: 200 });
    let unknown = no_answer(post(&server.url, LONG).await);
    assert_eq!(unknown, "could not connect: TLS: invalid peer certificate: UnknownIssuer");
    let (elsewhere, pem) = server_named("elsewhere.example").await;
    let reason = no_answer(trusting(&elsewhere.url, &pem).post(stream_id(), &event(0), NOW).await);
    let expected = "could not connect: TLS: invalid peer certificate: certificate not valid for name";
    assert!(reason.starts_with(expected), "{reason}");
}

#[tokio::test]
async fn https_to_what_knows_no_tls_is_refused_or_times_out() {
    let server = Server::start(|mut stream| async move {
        let _ = stream.read(&mut [0; 16]).await;
        let _ = stream.write_all(&empty("400 Bad Request", "")).await;
        let _ = stream.shutdown().await;
        while matches!(stream.read(&mut [0; 1024]).await, Ok(1..)) {}
    })
    .await;
    let mut url = server.url.clone();
    url.set_scheme("https").unwrap();
    let reason = no_answer(post(&url, LONG).await);
    assert!(reason.starts_with("could not connect: TLS: "), "{reason}");
    let hanging = Server::start(|stream| async move {
        let _open = stream;
        std::future::pending::<()>().await;
    })
    .await;
    url.set_port(hanging.url.port()).unwrap();
    assert_eq!(no_answer(post(&url, Duration::from_secs(1)).await), "could not connect in time");
}
