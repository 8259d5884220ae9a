//! The page of a reusable login: each browser gets a login of its own.

use std::time::Duration;

use axum::body::Body;
use http::{HeaderMap, Request, StatusCode};
use serde_json::{Value, json};
use usher_engine::{LoginRequest, LoginStarted};
use usher_protocol::{Keys, SecretKey};

use crate::fixture::{Pages, URL};
use crate::login::{self, get, post, proof, sign, user};

async fn poster(pages: &Pages, static_token: &str) -> LoginStarted {
    let request = LoginRequest { return_url: None, static_token: Some(static_token.to_owned()) };
    pages.engine.logins().start(request, None).await.unwrap()
}

pub(crate) fn path(login: &LoginStarted) -> String {
    login.page_url.strip_prefix(URL).unwrap().to_owned()
}

/// A browser with its own login: the path of its page, and its cookie.
pub(crate) struct Visitor {
    pub(crate) page: String,
    pub(crate) cookie: String,
}

impl Visitor {
    pub(crate) async fn at(pages: &Pages, poster: &LoginStarted) -> Self {
        let (status, headers, _) = pages.get(&path(poster)).await;
        assert_eq!(status, StatusCode::SEE_OTHER);
        Self::led_by(&headers)
    }

    pub(crate) fn led_by(headers: &HeaderMap) -> Self {
        let cookie = headers["set-cookie"].to_str().unwrap();
        assert!(cookie.ends_with("; Path=/; Max-Age=4200; HttpOnly; SameSite=Lax; Secure"), "{cookie}");
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Self { page: page(headers), cookie }
    }

    pub(crate) async fn open(&self, pages: &Pages) -> (StatusCode, String) {
        let (status, _, html) = pages.send(get(&self.page, Some(&self.cookie))).await;
        (status, html)
    }

    pub(crate) async fn prove(&self, pages: &Pages, cookie: &str, signed: String) -> StatusCode {
        login::prove(pages, &self.page, cookie, signed).await
    }
}

/// Where the browser is led.
pub(crate) fn page(headers: &HeaderMap) -> String {
    headers["location"].to_str().unwrap().strip_prefix("/usher").unwrap().to_owned()
}

async fn events(pages: &Pages, poster: &LoginStarted) -> Vec<Value> {
    let events = pages.engine.events().read(poster.stream_id, 0, 100).await.unwrap().events;
    events.iter().map(|event| serde_json::from_str(&event.data).unwrap()).collect()
}

#[tokio::test]
async fn each_browser_logs_in_on_a_page_of_its_own() {
    let pages = Pages::start(Some("Bar 7")).await;
    let poster = poster(&pages, "door").await;
    let visitors = [Visitor::at(&pages, &poster).await, Visitor::at(&pages, &poster).await];
    assert_ne!(visitors[0].page, visitors[1].page);
    assert!(events(&pages, &poster).await.is_empty(), "nobody has named a key");
    let users = [user(), Keys::new(SecretKey::from_slice(&[8; 32]).unwrap())];
    for (visitor, keys) in visitors.iter().zip(&users) {
        let (status, html) = visitor.open(&pages).await;
        assert!(status == 200 && html.contains("Log in to Bar 7"), "{html}");
        assert!(!html.contains("door"), "{html}");
        let signed = sign(keys, &proof(&html));
        assert_eq!(visitor.prove(&pages, &visitor.cookie, signed).await, StatusCode::NO_CONTENT);
        let html = visitor.open(&pages).await.1;
        assert!(html.contains("You are logged in"), "{html}");
    }
    let told = |keys: &Keys| {
        let main_key = keys.public_key().to_hex();
        [
            json!({ "main_key": main_key, "preferred_relays": [] }),
            json!({ "status": "approved", "main_key": main_key, "method": "extension" }),
        ]
    };
    assert_eq!(events(&pages, &poster).await, [told(&users[0]), told(&users[1])].concat());
    for visitor in &visitors {
        let login = visitor.page.split('/').nth(2).unwrap().parse().unwrap();
        let own = pages.engine.events().read(login, 0, 10).await.unwrap();
        assert!(own.done && own.events.is_empty(), "all events are on the stream of the poster");
    }
}

#[tokio::test]
async fn neither_page_nor_signature_of_another_login_is_of_use() {
    let pages = Pages::start(None).await;
    let (poster, other) = (poster(&pages, "door").await, poster(&pages, "table").await);
    let (victim, attacker) = (Visitor::at(&pages, &poster).await, Visitor::at(&pages, &poster).await);
    // The attacker's page in the victim's browser, and the other way round.
    for (visitor, cookie) in [(&attacker, Some(&victim.cookie)), (&victim, Some(&attacker.cookie)), (&victim, None)] {
        let (status, headers, html) = pages.send(get(&visitor.page, cookie.map(String::as_str))).await;
        assert!(status == 403 && headers.get("set-cookie").is_none(), "{html}");
    }
    let signed = sign(&user(), &proof(&victim.open(&pages).await.1));
    let elsewhere = Visitor::at(&pages, &other).await;
    assert_eq!(attacker.prove(&pages, &attacker.cookie, signed.clone()).await, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(elsewhere.prove(&pages, &elsewhere.cookie, signed.clone()).await, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(victim.prove(&pages, &attacker.cookie, signed.clone()).await, StatusCode::FORBIDDEN);
    // The page of the reusable login itself is no login.
    let entry = Visitor { page: path(&poster), cookie: victim.cookie.clone() };
    assert_eq!(entry.prove(&pages, &entry.cookie, signed.clone()).await, StatusCode::NOT_FOUND);
    for action in ["decline", "signer"] {
        let mut request = post(&format!("{}/{action}", entry.page), Some(&entry.cookie), String::new());
        request.headers_mut().insert("content-type", "application/x-www-form-urlencoded".parse().unwrap());
        assert_eq!(pages.send(request).await.0, StatusCode::NOT_FOUND, "{action}");
    }
    assert_eq!(pages.send(get(&format!("{}/events", entry.page), None)).await.0, StatusCode::NO_CONTENT);
    assert!(events(&pages, &poster).await.is_empty() && events(&pages, &other).await.is_empty());
    assert_eq!(victim.prove(&pages, &victim.cookie, signed.clone()).await, StatusCode::NO_CONTENT);
    assert_eq!(victim.prove(&pages, &victim.cookie, signed).await, StatusCode::CONFLICT, "once");
    assert_eq!(events(&pages, &poster).await.len(), 2);
}

#[tokio::test]
async fn only_a_user_who_opens_it_begins_a_login() {
    let pages = Pages::start(None).await;
    let poster = poster(&pages, "door").await;
    let before = pages.engine.open_streams();
    let unlike = |name: &str, value: &str| Request::get(path(&poster)).header(name, value).body(Body::empty()).unwrap();
    // All glances: `browser.rs`.
    let (status, headers, _) = pages.send(unlike("sec-fetch-dest", "iframe")).await;
    assert!(status == StatusCode::SERVICE_UNAVAILABLE && headers.get("set-cookie").is_none());
    let (status, headers, html) = pages.send(unlike("user-agent", "link preview")).await;
    assert!(status == 200 && headers.get("set-cookie").is_none());
    assert!(html.contains(&format!("<form method=\"post\" action=\"/usher{}\">", path(&poster))), "{html}");
    assert_eq!(pages.engine.open_streams(), before, "nothing has begun");
    let entered = Request::post(path(&poster)).body(Body::empty()).unwrap();
    let (status, headers, _) = pages.send(entered).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    assert_eq!(Visitor::led_by(&headers).open(&pages).await.0, StatusCode::OK);

    let wrong = format!("/login/{}/{}", poster.stream_id, "x".repeat(32));
    for request in [get(&wrong, None), post(&wrong, None, String::new())] {
        let (status, headers, _) = pages.send(request).await;
        assert!(status == StatusCode::NOT_FOUND && headers.get("set-cookie").is_none());
    }
}

#[tokio::test]
async fn browser_that_opens_it_again_is_led_to_the_same_page() {
    let pages = Pages::start(None).await;
    let poster = poster(&pages, "door").await;
    let visitor = Visitor::at(&pages, &poster).await;
    let (status, headers, _) = pages.send(get(&path(&poster), Some(&visitor.cookie))).await;
    assert!(status == StatusCode::SEE_OTHER && headers.get("set-cookie").is_none());
    assert_eq!(page(&headers), visitor.page);
    // When its login is over, it gets another.
    let decline = post(&format!("{}/decline", visitor.page), Some(&visitor.cookie), String::new());
    assert_eq!(pages.send(decline).await.0, StatusCode::OK);
    let (_, headers, _) = pages.send(get(&path(&poster), Some(&visitor.cookie))).await;
    assert_ne!(Visitor::led_by(&headers).page, visitor.page);
    assert!(events(&pages, &poster).await.is_empty());
}

#[tokio::test]
async fn closed_login_has_no_page_any_more() {
    let pages = Pages::start(None).await;
    let poster = poster(&pages, "door").await;
    let visitor = Visitor::at(&pages, &poster).await;
    let signed = sign(&user(), &proof(&visitor.open(&pages).await.1));
    pages.engine.handshakes().close(poster.stream_id).await.unwrap();
    for request in [get(&path(&poster), None), post(&path(&poster), None, String::new())] {
        let (status, headers, html) = pages.send(request).await;
        assert!(status == StatusCode::GONE && headers.get("set-cookie").is_none(), "{html}");
    }
    let html = loop {
        match visitor.open(&pages).await {
            (StatusCode::OK, html) => assert!(html.contains("The login has expired"), "{html}"),
            (StatusCode::GONE, html) => break html,
            other => panic!("{other:?}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert!(html.contains("The login is over"), "{html}");
    assert_eq!(visitor.prove(&pages, &visitor.cookie, signed).await, StatusCode::NOT_FOUND);
    let page = pages.engine.events().read(poster.stream_id, 0, 10).await.unwrap();
    assert!(page.done && page.events.is_empty());
}

#[tokio::test]
async fn key_that_logs_in_all_the_time_is_asked_to_wait() {
    let pages = Pages::start(None).await;
    let poster = poster(&pages, "door").await;
    let attempt = async |keys: &Keys| {
        let visitor = Visitor::at(&pages, &poster).await;
        let html = visitor.open(&pages).await.1;
        let request = post(&format!("{}/extension", visitor.page), Some(&visitor.cookie), sign(keys, &proof(&html)));
        pages.send(request).await
    };
    for _ in 0..3 {
        assert_eq!(attempt(&user()).await.0, StatusCode::NO_CONTENT);
    }
    let (status, headers, said) = attempt(&user()).await;
    assert_eq!((status, headers["retry-after"].to_str().unwrap()), (StatusCode::TOO_MANY_REQUESTS, "60"));
    assert!(said.contains("Please try again in a minute"), "{said}");
    assert_eq!(events(&pages, &poster).await.len(), 6);
    let other = Keys::new(SecretKey::from_slice(&[8; 32]).unwrap());
    assert_eq!(attempt(&other).await.0, StatusCode::NO_CONTENT);
}
