//! The page of a reusable login: each browser gets a login of its own.

use std::time::Duration;

use axum::body::Body;
use http::{HeaderMap, Request};
use http_body_util::BodyExt as _;
use serde_json::json;
use usher_engine::{ClientNetwork, LoginStarted, ShownStream};
use usher_testing::ports::{COMMITS, in_time};

use crate::fixture::{self, Pages, URL, keys, network};
use crate::login::{self, get, post, proof, sign, user};

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
        assert_eq!(status, 303);
        Self::led_by(&headers)
    }

    pub(crate) fn led_by(headers: &HeaderMap) -> Self {
        let cookie = headers["set-cookie"].to_str().unwrap();
        let (cookie, attributes) = cookie.split_once("; ").unwrap();
        assert_eq!(attributes, "Path=/; Max-Age=4200; HttpOnly; SameSite=Lax; Secure");
        Self { page: page(headers), cookie: cookie.to_owned() }
    }

    pub(crate) async fn open(&self, pages: &Pages) -> (u16, String) {
        let (status, _, html) = pages.send(get(&self.page, Some(&self.cookie))).await;
        (status, html)
    }

    pub(crate) async fn prove(&self, pages: &Pages, cookie: &str, signed: String) -> u16 {
        login::prove(pages, &self.page, cookie, signed).await
    }
}

/// Where the browser is led.
pub(crate) fn page(headers: &HeaderMap) -> String {
    headers["location"].to_str().unwrap().strip_prefix("/usher").unwrap().to_owned()
}

#[tokio::test]
async fn each_browser_logs_in_on_a_page_of_its_own() {
    let pages = Pages::start(Some("Bar 7")).await;
    let poster = pages.poster("door", None).await;
    let visitors = [Visitor::at(&pages, &poster).await, Visitor::at(&pages, &poster).await];
    assert_ne!(visitors[0].page, visitors[1].page);
    assert!(pages.told(poster.stream_id).await.is_empty(), "nobody has named a key");
    let mut expected = Vec::new();
    for (visitor, keys) in visitors.iter().zip([keys(7), keys(8)]) {
        let (status, html) = visitor.open(&pages).await;
        assert!(status == 200 && html.contains("Log in to Bar 7") && !html.contains("door"), "{html}");
        assert_eq!(visitor.prove(&pages, &visitor.cookie, sign(&keys, &proof(&html))).await, 204);
        assert!(visitor.open(&pages).await.1.contains("You are logged in"));
        let main_key = keys.public_key().to_hex();
        expected.push(json!({ "main_key": main_key, "preferred_relays": [] }));
        expected.push(json!({ "status": "approved", "main_key": main_key, "method": "extension" }));
    }
    assert_eq!(pages.told(poster.stream_id).await, expected);
    for visitor in &visitors {
        let login = visitor.page.split('/').nth(2).unwrap().parse().unwrap();
        let own = pages.engine.events().read(ShownStream::to_service(login), 0, 10).await.unwrap();
        assert!(own.done && own.events.is_empty(), "all events are on the stream of the poster");
    }
}

/// Neither a page that is opened nor a proof is interrupted.
#[tokio::test]
async fn browser_that_disconnects_leaves_nothing_half_done() {
    let pages = Pages::start(None).await;
    let poster = pages.poster("door", None).await;
    let visitor = Visitor::at(&pages, &poster).await;
    let signed = sign(&user(), &proof(&visitor.open(&pages).await.1));
    pages.faults.hold_results(COMMITS);
    let entry = path(&poster);
    tokio::select! {
        _ = pages.get(&entry) => panic!("the page waits"),
        _ = visitor.prove(&pages, &visitor.cookie, signed) => panic!("the proof waits"),
        () = pages.faults.held(2) => {}
    }
    pages.faults.work();
    pages.event(poster.stream_id).await;
    // The reserved stream, the poster and the login of the page that was opened; the other is over.
    in_time("both are known", async {
        while pages.engine.open_streams() != 3 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(pages.told(poster.stream_id).await.len(), 2);
}

#[tokio::test]
async fn neither_page_nor_signature_of_another_login_is_of_use() {
    let pages = Pages::start(None).await;
    let (poster, other) = (pages.poster("door", None).await, pages.poster("table", None).await);
    let (victim, attacker) = (Visitor::at(&pages, &poster).await, Visitor::at(&pages, &poster).await);
    // The attacker's page in the victim's browser, and the other way round.
    for (visitor, cookie) in [(&attacker, Some(&victim.cookie)), (&victim, Some(&attacker.cookie)), (&victim, None)] {
        let (status, headers, html) = pages.send(get(&visitor.page, cookie.map(String::as_str))).await;
        assert!(status == 403 && headers.get("set-cookie").is_none(), "{html}");
    }
    let signed = sign(&user(), &proof(&victim.open(&pages).await.1));
    let elsewhere = Visitor::at(&pages, &other).await;
    assert_eq!(attacker.prove(&pages, &attacker.cookie, signed.clone()).await, 422);
    assert_eq!(elsewhere.prove(&pages, &elsewhere.cookie, signed.clone()).await, 422);
    assert_eq!(victim.prove(&pages, &attacker.cookie, signed.clone()).await, 403);
    // The page of the reusable login itself is no login.
    let entry = Visitor { page: path(&poster), cookie: victim.cookie.clone() };
    assert_eq!(entry.prove(&pages, &entry.cookie, signed.clone()).await, 404);
    for action in ["decline", "signer"] {
        let mut request = post(&format!("{}/{action}", entry.page), Some(&entry.cookie), String::new());
        request.headers_mut().insert("content-type", "application/x-www-form-urlencoded".parse().unwrap());
        assert_eq!(pages.send(request).await.0, 404, "{action}");
    }
    assert_eq!(pages.send(get(&format!("{}/events", entry.page), None)).await.0, 204);
    assert!(pages.told(poster.stream_id).await.is_empty() && pages.told(other.stream_id).await.is_empty());
    assert_eq!(victim.prove(&pages, &victim.cookie, signed.clone()).await, 204);
    assert_eq!(victim.prove(&pages, &victim.cookie, signed).await, 409, "once");
    assert_eq!(pages.told(poster.stream_id).await.len(), 2);
}

#[tokio::test]
async fn only_a_user_who_opens_it_begins_a_login() {
    let pages = Pages::start(None).await;
    let poster = pages.poster("door", None).await;
    let before = pages.engine.open_streams();
    let unlike = |name: &str, value: &str| Request::get(path(&poster)).header(name, value).body(Body::empty()).unwrap();
    // All glances: `browser.rs`.
    let (status, headers, _) = pages.send(unlike("sec-fetch-dest", "iframe")).await;
    assert!(status == 503 && headers.get("set-cookie").is_none());
    let (status, headers, html) = pages.send(unlike("user-agent", "link preview")).await;
    assert!(status == 200 && headers.get("set-cookie").is_none());
    assert!(html.contains(&format!("<form method=\"post\" action=\"/usher{}\">", path(&poster))), "{html}");
    assert_eq!(pages.engine.open_streams(), before, "nothing has begun");
    let entered = Request::post(path(&poster)).body(Body::empty()).unwrap();
    let (status, headers, _) = pages.send(entered).await;
    assert_eq!(status, 303);
    assert_eq!(Visitor::led_by(&headers).open(&pages).await.0, 200);

    let wrong = format!("/login/{}/{}", poster.stream_id, "x".repeat(32));
    for request in [get(&wrong, None), post(&wrong, None, String::new())] {
        let (status, headers, _) = pages.send(request).await;
        assert!(status == 404 && headers.get("set-cookie").is_none());
    }
}

/// How much room there is: `login/unused_logins` in `usher-engine`.
#[tokio::test]
async fn address_that_has_its_part_of_the_room_is_asked_to_wait() {
    let pages = Pages::start(None).await;
    let poster = pages.poster("door", None).await;
    let come = |from| pages.send(fixture::from(from, get(&path(&poster), None)));
    let mut own = Vec::new();
    for _ in 0..3 {
        own.push(Visitor::led_by(&come(network(1)).await.1));
    }
    let (status, headers, html) = come(network(1)).await;
    assert!(status == 429 && headers.get("set-cookie").is_none(), "{html}");
    // The page tries again by itself, and without JavaScript.
    let again = format!("<meta http-equiv=\"refresh\" content=\"30;url=/usher{}\">", path(&poster));
    assert!(headers["retry-after"] == "30" && html.contains(&again), "{html}");
    // Who has a page there already is led to it.
    assert_eq!(pages.send(get(&path(&poster), Some(&own[0].cookie))).await.0, 303);

    // One page waits over a connection, one loads itself every now and then, and one was closed: the last makes room.
    let mut waits = pages.open_body(get(&format!("{}/events", own[0].page), Some(&own[0].cookie))).await.into_body();
    waits.frame().await.unwrap().unwrap();
    for _ in 0..18 {
        pages.clock.turn(Duration::from_secs(5));
        assert_eq!(own[1].open(&pages).await.0, 200);
    }
    own.push(Visitor::led_by(&come(network(1)).await.1));
    for (n, expected) in [(0, 200), (1, 200), (2, 410), (3, 200)] {
        assert_eq!(own[n].open(&pages).await.0, expected, "{n}");
    }
    let refused = loop {
        let (status, headers, _) = come(ClientNetwork::Loopback).await;
        if status != 303 {
            break (status, headers);
        }
    };
    assert!(refused.0 == 503 && refused.1["retry-after"] == "30", "the room is full: {refused:?}");
    assert_eq!(come(network(20)).await.0, 303, "who has fewer gets in");
}
