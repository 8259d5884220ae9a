//! The page of a login on which the user names a remote signer.

use std::time::Duration;

use axum::body::Body;
use http::{Request, StatusCode};
use usher_engine::{ClientNetwork, LoginStarted};

use crate::fixture::{Pages, PagesOf};
use crate::login::{self, get, path, start};

const FORM: &str = "application/x-www-form-urlencoded";
/// Nobody listens there.
const RELAY: &str = "ws://127.0.0.1:9/";
const BUNKER: &str = "address=bunker%3A%2F%2F79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798%3Frelay%3Dws%3A%2F%2F127.0.0.1%3A9";

/// A login whose page is open, and the cookie of its browser.
async fn open(pages: &Pages) -> (LoginStarted, String) {
    let login = start(pages, None).await;
    let cookie = login::open(pages, &login).await.0;
    (login, cookie)
}

fn post(path: &str, cookie: Option<&str>, content_type: &str, body: &str) -> Request<Body> {
    let request = Request::post(format!("{path}/signer")).header("content-type", content_type);
    let request = cookie.into_iter().fold(request, |request, cookie| request.header("cookie", cookie));
    request.body(body.to_owned().into()).unwrap()
}

#[tokio::test]
async fn user_names_a_signer_and_the_page_says_how_far_it_is() {
    let pages = Pages::start_as(PagesOf { relays: &[RELAY], ..PagesOf::default() }).await;
    let (login, cookie) = open(&pages).await;
    let (path, cookie) = (path(&login), Some(cookie.as_str()));
    let (_, _, html) = pages.send(get(&path, cookie)).await;
    assert!(html.contains("data-state=\"waiting\""), "{html}");
    let (status, headers, html) = pages.send(get(&format!("{path}/signer"), cookie)).await;
    assert_eq!(status, 200);
    assert!(!html.contains("http-equiv"), "{html}");
    assert!(headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none';"));

    let (status, headers, _) = pages.send(post(&path, cookie, FORM, "")).await;
    assert_eq!(
        (status, headers["location"].to_str().unwrap()),
        (StatusCode::SEE_OTHER, format!("/usher{path}#code").as_str())
    );
    let (_, _, html) = pages.send(get(&path, cookie)).await;
    assert!(html.contains("data-state=\"waiting-signer-starting\""), "{html}");
    let places = ["id=\"with-signer\"", "id=\"other-ways\"", "class=\"qr\""].map(|part| html.find(part));
    assert!(places.is_sorted() && places[0].is_some() && places[2].is_some(), "what was chosen comes first: {html}");
    assert!(!html.contains("nostrconnect://"), "no relay delivers yet");
}

#[tokio::test]
async fn only_the_browser_of_the_login_names_a_signer_and_not_without_end() {
    let pages = Pages::start_as(PagesOf { relays: &[RELAY], ..PagesOf::default() }).await;
    let (login, own) = open(&pages).await;
    let (_, other) = open(&pages).await;
    let (path, own) = (path(&login), Some(own.as_str()));
    for cookie in [None, Some(other.as_str())] {
        assert_eq!(pages.send(post(&path, cookie, FORM, BUNKER)).await.0, StatusCode::FORBIDDEN);
        assert_eq!(pages.send(get(&format!("{path}/signer"), cookie)).await.0, StatusCode::SEE_OTHER);
    }
    assert_eq!(pages.send(post(&path, own, "text/plain", BUNKER)).await.0, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    for (wrong, typed) in [
        ("address=", ""),
        ("address=nonsense", "nonsense"),
        ("address=bunker%3A%2F%2Fx", "bunker://x"),
        ("address=%22%3E%3Cb%3E", "&#34;&#62;&#60;b&#62;"),
    ] {
        let (status, _, html) = pages.send(post(&path, own, FORM, wrong)).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{wrong}");
        assert!(html.contains(&format!("name=\"address\" value=\"{typed}\" aria-invalid")), "{html}");
        assert!(html.contains(&format!("action=\"/usher{path}/signer\"")), "{html}");
    }
    let no_relay = BUNKER.replace("ws%3A", "https%3A");
    assert_eq!(pages.send(post(&path, own, FORM, &no_relay)).await.0, StatusCode::UNPROCESSABLE_ENTITY);
    for attempt in 0..12 {
        let (status, _, html) = pages.send(post(&path, own, FORM, BUNKER)).await;
        if attempt < 10 {
            assert_eq!(status, StatusCode::SEE_OTHER);
        } else {
            assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
            assert!(html.contains("Too many remote signers"), "{html}");
        }
    }
    pages
        .engine
        .logins()
        .decline(login.stream_id, path.rsplit('/').next().unwrap(), own.and_then(|c| c.split('=').nth(1)))
        .await
        .unwrap();
    assert_eq!(pages.send(post(&path, own, FORM, BUNKER)).await.0, StatusCode::SEE_OTHER, "the page shows the outcome");
    assert_eq!(pages.send(get(&format!("{path}/signer"), own)).await.0, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn flood_of_one_address_ends_no_signer_of_another() {
    let pages = Pages::start_as(PagesOf { relays: &[RELAY], ..PagesOf::default() }).await;
    let ask = async |from: u8| {
        let (login, cookie) = open(&pages).await;
        let mut request = post(&path(&login), Some(&cookie), FORM, BUNKER);
        request.extensions_mut().insert(ClientNetwork::Network([10, 0, 0, from].into()));
        assert_eq!(pages.send(request).await.0, StatusCode::SEE_OTHER);
        (login, cookie)
    };
    let state = async |(login, cookie): &(LoginStarted, String)| {
        let (_, _, html) = pages.send(get(&path(login), Some(cookie))).await;
        html.split("data-state=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    };
    let honest = ask(1).await;
    let mut flood = Vec::new();
    // An address has 16 places for signers whose addresses were pasted.
    for _ in 0..60 {
        flood.push(ask(2).await);
    }
    for displaced in [0, 40] {
        while state(&flood[displaced]).await != "waiting-signer-failed" {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    assert_ne!(state(&honest).await, "waiting-signer-failed");
    assert_ne!(state(&flood[59]).await, "waiting-signer-failed");
}

#[tokio::test]
async fn service_without_relays_says_that_no_signer_can_open_its_address() {
    let pages = Pages::start(None).await;
    let (login, cookie) = open(&pages).await;
    let (status, _, html) = pages.send(post(&path(&login), Some(&cookie), FORM, "")).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(html.contains("Remote signers cannot be reached"), "{html}");
}
