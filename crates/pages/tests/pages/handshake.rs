//! The page of a key handshake.

use std::time::Duration;

use usher_engine::{KeyHandshakeRequest, Requester};

use crate::fixture::{Pages, URL};

#[tokio::test]
async fn page_shows_the_url_until_it_expires_and_then_leads_back() {
    let pages = Pages::start(Some("Bar 7")).await;
    let request = KeyHandshakeRequest {
        return_url: Some("https://app.example/done".to_owned()),
        ..KeyHandshakeRequest::default()
    };
    let started = pages.engine.handshakes().start(&Requester::Service, request, None).await.unwrap();
    let path = started.page_url.strip_prefix(URL).unwrap();
    let (status, headers, html) = pages.get(path).await;
    assert_eq!(status, 200);
    assert!(html.contains("Bar 7 asks for your public key.") && html.contains("data-state=\"waiting\""), "{html}");
    assert!(html.contains(&started.url.replace('&', "&#38;")) && html.contains("class=\"qr\""), "{html}");
    assert!(!html.contains("app.example") && !headers.contains_key("set-cookie"), "{html}");
    pages.clock.turn(Duration::from_secs(601));
    pages.event(started.stream_id).await;
    let html = pages.get(path).await.2;
    let target = format!("https://app.example/done?stream_id={}", started.stream_id);
    assert!(html.contains("data-state=\"over\"") && html.contains(&target), "{html}");
    assert!(!html.contains(&started.url.replace('&', "&#38;")), "{html}");
}

#[tokio::test]
async fn page_of_a_poster_has_no_end_and_a_secret() {
    let pages = Pages::start(None).await;
    let poster = || KeyHandshakeRequest { static_token: Some("table/7".to_owned()), ..KeyHandshakeRequest::default() };
    let started = pages.engine.handshakes().start(&Requester::Service, poster(), None).await.unwrap();
    let again = pages.engine.handshakes().start(&Requester::Service, poster(), None).await.unwrap();
    assert_eq!(started.page_url, again.page_url);
    let returning = KeyHandshakeRequest { return_url: Some("https://app.example/done".to_owned()), ..poster() };
    assert!(pages.engine.handshakes().start(&Requester::Service, returning, None).await.is_err());
    let path = started.page_url.strip_prefix(URL).unwrap();
    let html = pages.get(path).await.2;
    assert!(html.contains("data-state=\"waiting\"") && !html.contains("minutes left"), "{html}");
    assert_eq!(pages.get(&path.replace("/handshake/", "/pay/")).await.0, 404);
    pages.engine.handshakes().close(&Requester::Service, started.stream_id).await.unwrap();
    assert!(pages.get(path).await.2.contains("data-state=\"over\""));
}
