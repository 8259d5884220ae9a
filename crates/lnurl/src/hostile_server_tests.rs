//! LNURL servers that send invalid, endless or no responses.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use usher_engine::ports::{PayeeError, Payees as _};
use usher_testing::TcpServer;

use super::*;

/// A server whose response to each path is given by `script`.
async fn server(script: impl Fn(&str, u16) -> String + Send + Sync + 'static) -> TcpServer {
    let script = Arc::new(script);
    TcpServer::start(move |stream| {
        let script = Arc::clone(&script);
        async move { respond(stream, &*script).await }
    })
    .await
}

async fn respond(mut stream: TcpStream, script: &(dyn Fn(&str, u16) -> String + Send + Sync)) {
    let mut head = Vec::new();
    let mut byte = [0; 1];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte).await {
            Ok(1) => head.extend_from_slice(&byte),
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default();
    let port = stream.local_addr().unwrap().port();
    let _ = stream.write_all(script(path, port).as_bytes()).await;
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn offer(callback: &str) -> String {
    ok(&format!(
        "{{\"tag\":\"payRequest\",\"callback\":\"{callback}\",\"minSendable\":1000,\"maxSendable\":5000,\"metadata\":\"[]\"}}"
    ))
}

fn payees(allow_private: bool) -> LnurlPayees {
    LnurlPayees::new(PayeeOptions { tls: usher_http_client::tls_config(Vec::new()).unwrap(), allow_private })
}

async fn ask(server: &TcpServer, amount: u64) -> Result<String, PayeeError> {
    payees(true).invoice(&format!("bob@127.0.0.1:{}", server.port()), amount).await
}

#[tokio::test]
async fn an_address_gives_an_invoice_for_the_amount() {
    let server = server(|path, port| match path {
        "/.well-known/lnurlp/bob" => offer(&format!("http://127.0.0.1:{port}/pay?for=bob")),
        "/pay?for=bob&amount=1000" | "/pay?for=bob&amount=5000" => ok("{\"pr\":\"lnbcrt…\",\"routes\":[]}"),
        other => panic!("{other}"),
    })
    .await;
    for amount in [1_000, 5_000] {
        assert_eq!(ask(&server, amount).await.as_deref(), Ok("lnbcrt…"));
    }
    for amount in [0, 999, 5_001, u64::MAX] {
        assert_eq!(ask(&server, amount).await, Err(PayeeError::Amount), "{amount}");
    }
}

fn redirect(location: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

#[tokio::test]
async fn three_redirects_of_each_request_are_followed() {
    let script = |path: &str, port| match path {
        "/.well-known/lnurlp/bob" => redirect("/1"),
        "/1" => redirect("2"),
        "/2" => redirect(&format!("http://127.0.0.1:{port}/wallet/offer")),
        "/wallet/offer" => offer("pay?for=bob"),
        "/wallet/pay?for=bob&amount=1000" => redirect("/made"),
        "/made" => ok("{\"pr\":\"lnbcrt…\"}"),
        // A redirect loop, and a location that is not HTTP.
        "/.well-known/lnurlp/eve" => redirect("/.well-known/lnurlp/eve"),
        "/.well-known/lnurlp/mallory" => redirect("file:///etc/passwd"),
        other => panic!("{other}"),
    };
    let server = server(script).await;
    assert_eq!(ask(&server, 1_000).await.as_deref(), Ok("lnbcrt…"));
    assert_eq!(server.connections(), 6);
    for name in ["eve", "mallory"] {
        let asked = payees(true).invoice(&format!("{name}@127.0.0.1:{}", server.port()), 1_000).await;
        assert_eq!(asked, Err(PayeeError::Unavailable), "{name}");
    }
    assert_eq!(server.connections(), 6 + 4 + 1);
    let lnurl = usher_protocol::lnurl::encode(&format!("http://127.0.0.1:{}/2", server.port()));
    assert_eq!(payees(true).invoice(&lnurl, 1_000).await.as_deref(), Ok("lnbcrt…"));
    assert_eq!(payees(false).invoice(&lnurl, 1_000).await, Err(PayeeError::Unavailable));
}

#[tokio::test]
async fn refusals_are_not_reported_as_unavailable() {
    for refusal in [
        ok("{\"status\":\"ERROR\",\"reason\":\"no such user\"}"),
        "HTTP/1.1 400 Bad Request\r\ncontent-length: 18\r\n\r\n{\"status\":\"error\"}".to_owned(),
        "HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nnone".to_owned(),
    ] {
        let server = server(move |_, _| refusal.clone()).await;
        assert_eq!(ask(&server, 2_000).await, Err(PayeeError::Refused));
    }
}

#[tokio::test]
async fn invalid_responses_are_reported_as_unavailable() {
    let huge = "x".repeat(MAX_BODY + 1);
    let wrong: Vec<String> = vec![
        ok("[]"),
        ok("not JSON"),
        ok(&huge),
        ok("{\"tag\":\"withdrawRequest\",\"callback\":\"http://127.0.0.1:1/\",\"minSendable\":1,\"maxSendable\":9999}"),
        ok("{\"tag\":\"payRequest\",\"callback\":\"http://127.0.0.1:1/\",\"minSendable\":-1,\"maxSendable\":1e40}"),
        offer("file:///etc/passwd"),
        offer("http://"),
        offer("http://127.0.0.1:1/nobody-listens"),
        "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{".to_owned(),
        String::new(),
    ];
    for response in wrong {
        let sent = response.clone();
        let server = server(move |_, _| sent.clone()).await;
        assert_eq!(
            ask(&server, 2_000).await,
            Err(PayeeError::Unavailable),
            "{}",
            response.get(..80).unwrap_or(&response)
        );
    }
}

#[tokio::test]
async fn private_and_invalid_addresses_are_refused() {
    let server = server(|_, port| offer(&format!("http://127.0.0.1:{port}/"))).await;
    let address = format!("bob@127.0.0.1:{}", server.port());
    assert_eq!(payees(false).invoice(&address, 2_000).await, Err(PayeeError::Unavailable));
    assert_eq!(server.connections(), 0);
    assert_eq!(payees(true).invoice("bob", 2_000).await, Err(PayeeError::NoAddress));
}

#[tokio::test(start_paused = true)]
async fn a_stalling_server_takes_bounded_time() {
    let server = TcpServer::start(|stream| async move {
        let _open = stream;
        std::future::pending::<()>().await;
    })
    .await;
    let begun = tokio::time::Instant::now();
    assert_eq!(ask(&server, 2_000).await, Err(PayeeError::Unavailable));
    assert!(begun.elapsed() <= WITHIN + Duration::from_secs(1));
}
