//! The page of a login on which the user names a remote signer.

use axum::body::Body;
use http::Request;
use usher_engine::LoginStarted;

use crate::fixture::{Pages, PagesOf};
use crate::login::{self, get, path, start};

const FORM: &str = "application/x-www-form-urlencoded";
/// Nobody listens there.
const RELAY: &str = "ws://127.0.0.1:9/";
const BUNKER: &str = "address=bunker%3A%2F%2F79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798%3Frelay%3Dws%3A%2F%2F127.0.0.1%3A9";

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
    assert!(status == 303 && headers["location"] == format!("/usher{path}#code"), "{headers:?}");
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
        assert_eq!(pages.send(post(&path, cookie, FORM, BUNKER)).await.0, 403);
        assert_eq!(pages.send(get(&format!("{path}/signer"), cookie)).await.0, 303);
    }
    assert_eq!(pages.send(post(&path, own, "text/plain", BUNKER)).await.0, 415);
    for (wrong, typed) in [
        ("address=", ""),
        ("address=nonsense", "nonsense"),
        ("address=bunker%3A%2F%2Fx", "bunker://x"),
        ("address=%22%3E%3Cb%3E", "&#34;&#62;&#60;b&#62;"),
    ] {
        let (status, _, html) = pages.send(post(&path, own, FORM, wrong)).await;
        assert_eq!(status, 422, "{wrong}");
        assert!(html.contains(&format!("name=\"address\" value=\"{typed}\" aria-invalid")), "{html}");
        assert!(html.contains(&format!("action=\"/usher{path}/signer\"")), "{html}");
    }
    let no_relay = BUNKER.replace("ws%3A", "https%3A");
    assert_eq!(pages.send(post(&path, own, FORM, &no_relay)).await.0, 422);
    for attempt in 0..12 {
        let (status, _, html) = pages.send(post(&path, own, FORM, BUNKER)).await;
        assert_eq!(status, if attempt < 10 { 303 } else { 429 });
        assert_eq!(html.contains("Too many remote signers"), attempt >= 10, "{html}");
    }
    pages.send(login::post(&format!("{path}/decline"), own, String::new())).await;
    assert_eq!(pages.send(post(&path, own, FORM, BUNKER)).await.0, 303, "the page shows the outcome");
    assert_eq!(pages.send(get(&format!("{path}/signer"), own)).await.0, 303);
}

#[tokio::test]
async fn service_without_relays_says_that_no_signer_can_open_its_address() {
    let pages = Pages::start(None).await;
    let (login, cookie) = open(&pages).await;
    let (status, _, html) = pages.send(post(&path(&login), Some(&cookie), FORM, "")).await;
    assert_eq!(status, 503);
    assert!(html.contains("Remote signers cannot be reached"), "{html}");
}
