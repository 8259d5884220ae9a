//! LNURL servers that send invalid, endless or no responses.

use std::time::Duration;

use usher_engine::ports::{PayeeError, Payees as _};
use usher_testing::{Request, WebResponse, WebServer};

use super::*;

fn offer(callback: &str) -> WebResponse {
    WebResponse::json(format_args!(
        "{{\"tag\":\"payRequest\",\"callback\":\"{callback}\",\"minSendable\":1000,\"maxSendable\":5000,\"metadata\":\"[]\"}}"
    ))
}

fn payees(allow_private: bool) -> LnurlPayees {
    LnurlPayees::new(PayeeOptions { tls: usher_http_client::tls_config(Vec::new()).unwrap(), allow_private })
}

async fn ask(server: &WebServer, amount: u64) -> Result<String, PayeeError> {
    payees(true).invoice(&format!("bob@127.0.0.1:{}", server.port()), amount).await
}

#[tokio::test]
async fn an_address_gives_an_invoice_for_the_amount() {
    let server = WebServer::start(|request| match request.path() {
        "/.well-known/lnurlp/bob" => offer(&format!("http://{}/pay?for=bob", request.headers["host"])),
        "/pay?for=bob&amount=1000" | "/pay?for=bob&amount=5000" => {
            WebResponse::json("{\"pr\":\"lnbcrt…\",\"routes\":[]}")
        }
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

#[tokio::test]
async fn three_redirects_of_each_request_are_followed() {
    let redirect = WebResponse::redirect;
    let script = move |request: &Request| match request.path() {
        "/.well-known/lnurlp/bob" => redirect("/1"),
        "/1" => redirect("2"),
        "/2" => redirect(&format!("http://{}/wallet/offer", request.headers["host"])),
        "/wallet/offer" => offer("pay?for=bob"),
        "/wallet/pay?for=bob&amount=1000" => redirect("/made"),
        "/made" => WebResponse::json("{\"pr\":\"lnbcrt…\"}"),
        // A redirect loop, and a location that is not HTTP.
        "/.well-known/lnurlp/eve" => redirect("/.well-known/lnurlp/eve"),
        "/.well-known/lnurlp/mallory" => redirect("file:///etc/passwd"),
        other => panic!("{other}"),
    };
    let server = WebServer::start(script).await;
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
        WebResponse::json("{\"status\":\"ERROR\",\"reason\":\"no such user\"}"),
        WebResponse::new(400, "", "{\"status\":\"error\"}"),
        WebResponse::new(404, "", "none"),
    ] {
        let server = WebServer::saying(refusal).await;
        assert_eq!(ask(&server, 2_000).await, Err(PayeeError::Refused));
    }
}

#[tokio::test]
async fn invalid_responses_are_reported_as_unavailable() {
    let huge = "x".repeat(MAX_BODY + 1);
    for wrong in [
        WebResponse::json("[]"),
        WebResponse::json("not JSON"),
        WebResponse::json(&huge),
        WebResponse::json(
            "{\"tag\":\"withdrawRequest\",\"callback\":\"http://127.0.0.1:1/\",\"minSendable\":1,\"maxSendable\":9999}",
        ),
        WebResponse::json(
            "{\"tag\":\"payRequest\",\"callback\":\"http://127.0.0.1:1/\",\"minSendable\":-1,\"maxSendable\":1e40}",
        ),
        offer("file:///etc/passwd"),
        offer("http://"),
        offer("http://127.0.0.1:1/nobody-listens"),
        WebResponse::redirect("http://127.0.0.1:1/"),
        WebResponse::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{".to_vec()),
        WebResponse::Bytes(Vec::new()),
    ] {
        let server = WebServer::saying(wrong.clone()).await;
        assert_eq!(ask(&server, 2_000).await, Err(PayeeError::Unavailable), "{wrong:.120?}");
    }
}

#[tokio::test]
async fn private_and_invalid_addresses_are_refused() {
    let server = WebServer::saying(offer("http://127.0.0.1:1/")).await;
    let address = format!("bob@127.0.0.1:{}", server.port());
    assert_eq!(payees(false).invoice(&address, 2_000).await, Err(PayeeError::Unavailable));
    assert_eq!(server.connections(), 0);
    assert_eq!(payees(true).invoice("bob", 2_000).await, Err(PayeeError::NoAddress));
}

#[tokio::test(start_paused = true)]
async fn a_stalling_server_takes_bounded_time() {
    let server = WebServer::saying(WebResponse::Hang).await;
    let begun = tokio::time::Instant::now();
    assert_eq!(ask(&server, 2_000).await, Err(PayeeError::Unavailable));
    assert!(begun.elapsed() <= WITHIN + Duration::from_secs(1));
}
