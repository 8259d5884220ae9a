//! The page of a login.

use std::time::Duration;

use axum::body::Body;
use http::{HeaderMap, HeaderValue, Request};
use http_body_util::BodyExt as _;
use nostr::{EventBuilder, JsonUtil as _, Kind, Tag, Timestamp};
use serde_json::{Value, json};
use usher_engine::operations::LoginMethod;
use usher_engine::{Event, LoginRequest, LoginStarted, Requester, ShownStream};
use usher_protocol::Keys;

use crate::fixture::{NOW, Pages, PagesOf, URL, keys};

pub(crate) const RETURN_URL: &str = "https://app.example/done?from=usher";

pub(crate) fn user() -> Keys {
    keys(7)
}

pub(crate) async fn start(pages: &Pages, return_url: Option<&str>) -> LoginStarted {
    let request = LoginRequest { return_url: return_url.map(str::to_owned), static_token: None };
    pages.engine.logins().start(&Requester::Service, request, None).await.unwrap()
}

pub(crate) fn path(login: &LoginStarted) -> String {
    login.page_url.strip_prefix(URL).unwrap().to_owned()
}

pub(crate) fn get(path: &str, cookie: Option<&str>) -> Request<Body> {
    let request = Request::get(path).header("sec-fetch-dest", "document");
    cookie.into_iter().fold(request, |request, cookie| request.header("cookie", cookie)).body(Body::empty()).unwrap()
}

pub(crate) fn post(path: &str, cookie: Option<&str>, body: String) -> Request<Body> {
    let request = Request::post(path).header("content-type", "application/json");
    cookie.into_iter().fold(request, |request, cookie| request.header("cookie", cookie)).body(body.into()).unwrap()
}

/// Opens the page as its first browser; returns the browser's cookie and the event to sign.
pub(crate) async fn open(pages: &Pages, login: &LoginStarted) -> (String, Value) {
    let (status, headers, html) = pages.get(&path(login)).await;
    assert_eq!(status, 200, "{html}");
    let cookie = set_cookie(&headers);
    (cookie, proof(&html))
}

pub(crate) fn proof(html: &str) -> Value {
    let proof = html.split("data-proof=\"").nth(1).unwrap().split('"').next().unwrap();
    serde_json::from_str(&proof.replace("&#34;", "\"")).unwrap()
}

/// As another implementation signs it.
pub(crate) fn sign(keys: &Keys, proof: &Value) -> String {
    let tags: Vec<Vec<String>> = serde_json::from_value(proof["tags"].clone()).unwrap();
    let kind = Kind::from(u16::try_from(proof["kind"].as_u64().unwrap()).unwrap());
    let event = EventBuilder::new(kind, proof["content"].as_str().unwrap());
    let event = event.tags(tags.iter().map(|tag| Tag::parse(tag).unwrap()));
    let event = event.custom_created_at(Timestamp::from(proof["created_at"].as_u64().unwrap()));
    event.sign_with_keys(keys).unwrap().as_json()
}

/// The user's browser extension signs on this page; the status.
pub(crate) async fn prove(pages: &Pages, page: &str, cookie: &str, signed: String) -> u16 {
    pages.send(post(&format!("{page}/extension"), Some(cookie), signed)).await.0
}

pub(crate) fn set_cookie(headers: &HeaderMap) -> String {
    headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned()
}

/// The code in the address to which the page leads.
pub(crate) fn code(html: &str) -> String {
    html.split("code=").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

pub(crate) async fn events(pages: &Pages, login: &LoginStarted) -> Vec<Event> {
    pages.engine.events().read(ShownStream::to_service(login.stream_id), 0, 10).await.unwrap().events
}

#[tokio::test]
async fn user_logs_in_with_an_extension_and_returns_to_the_app() {
    let pages = Pages::start(Some("Bar <b>7</b>")).await;
    let login = start(&pages, Some(RETURN_URL)).await;
    let (status, headers, html) = pages.get(&path(&login)).await;
    assert_eq!(status, 200);
    assert!(html.contains("Log in to Bar &#60;b&#62;7&#60;/b&#62;"), "{html}");
    assert!(html.contains("<svg class=\"qr\" role=\"img\"") && html.contains("You have 10 minutes left."), "{html}");
    assert!(html.contains(&login.url.replace('&', "&#38;")), "{html}");
    assert!(!html.contains("app.example"), "the way back is for the end");
    assert!(headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none';"));
    let set_cookie = headers["set-cookie"].to_str().unwrap();
    let (cookie, attributes) = set_cookie.split_once("; ").unwrap();
    assert_eq!(attributes, "Path=/; Max-Age=4200; HttpOnly; SameSite=Lax; Secure");
    assert!(cookie.starts_with(&format!("__Host-usher_login_{}=", login.stream_id)), "no other host sets it: {cookie}");

    let unsigned = proof(&html);
    let expected = [json!(["u", format!("{URL}/login/{}", login.stream_id)]), json!(["method", "POST"])];
    assert_eq!(unsigned["tags"].as_array().unwrap()[..2], expected);
    assert_eq!((&unsigned["kind"], &unsigned["created_at"]), (&json!(27235), &json!(NOW.secs())));
    assert!(!unsigned.to_string().contains(path(&login).rsplit('/').next().unwrap()), "the secret is not signed");
    let address = format!("{}/extension", path(&login));
    let (status, _, said) = pages.send(post(&address, Some(cookie), sign(&user(), &unsigned))).await;
    assert_eq!((status, said.as_str()), (204, ""));
    let expected = [
        json!({ "main_key": user().public_key().to_hex(), "preferred_relays": [] }),
        json!({ "status": "user_approved", "method": "extension" }),
    ];
    assert_eq!(pages.told(login.stream_id).await, expected);

    let (status, headers, html) = pages.send(get(&path(&login), Some(cookie))).await;
    assert_eq!(status, 200);
    let code = code(&html);
    let target = format!("https://app.example/done?from=usher&#38;stream_id={}&#38;code={code}", login.stream_id);
    assert!(html.contains("You have confirmed your key.") && html.contains(&format!("href=\"{target}\"")), "{html}");
    assert!(html.contains(&format!("<meta http-equiv=\"refresh\" content=\"0;url={target}\">")), "{html}");
    assert!(!html.contains("<script") && !html.contains("data-proof"), "{html}");
    let remembered = "__Host-usher_last_method=extension; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax; Secure";
    assert_eq!(headers["set-cookie"], remembered);
    // The same event again, or another one: this login is over.
    for again in [sign(&user(), &unsigned), sign(&Keys::generate(), &unsigned)] {
        assert_eq!(pages.send(post(&address, Some(cookie), again)).await.0, 409);
    }
    assert_eq!(events(&pages, &login).await.len(), 2);
    pages.stop().await;
}

#[tokio::test]
async fn secret_that_cannot_be_one_is_not_found() {
    let pages = Pages::start(None).await;
    let login = start(&pages, None).await;
    let path = path(&login);
    let (folder, _) = path.rsplit_once('/').unwrap();
    for rest in ["%0A/decline", "%0A/passkey", "%0A/signer", "%C3%A4/decline", "a%2Fb/decline"] {
        assert_eq!(pages.get(&format!("{folder}/{rest}")).await.0, 404, "{rest}");
    }
    pages.stop().await;
}

#[tokio::test]
async fn way_that_the_operator_does_not_offer_is_no_way() {
    let only = |method| Pages::start_as(PagesOf { login_methods: Some(vec![method]), ..PagesOf::default() });
    let pages = only(LoginMethod::Wallet).await;
    let login = start(&pages, None).await;
    let (_, headers, html) = pages.get(&path(&login)).await;
    let cookie = headers["set-cookie"].to_str().unwrap().split(';').next().unwrap();
    assert!(html.contains("id=\"with-wallet\"") && !html.contains("id=\"extension\""), "{html}");
    assert!(!html.contains("/signer\"") && !html.contains("id=\"other-ways\""), "{html}");
    let (status, _, _) = pages.send(post(&format!("{}/extension", path(&login)), Some(cookie), "{}".to_owned())).await;
    assert_eq!(status, 404);
    for (rest, body) in [
        ("/options", json!({ "kind": "get" })),
        ("/wrapped-key", json!({ "id": "AAAA" })),
        ("", json!({ "kind": "get", "passkey": {}, "event": {} })),
    ] {
        let passkey = format!("{}/passkey{rest}", path(&login));
        let (status, _, said) = pages.send(post(&passkey, Some(cookie), body.to_string())).await;
        assert_eq!(status, 404, "{said}");
    }
    let signer = format!("{}/signer", path(&login));
    assert_eq!(pages.send(get(&signer, Some(cookie))).await.0, 303);
    assert!(events(&pages, &login).await.is_empty());

    let pages = only(LoginMethod::Extension).await;
    let login = start(&pages, None).await;
    let (_, _, html) = pages.get(&path(&login)).await;
    assert!(!html.contains("class=\"qr\"") && !html.contains("id=\"with-wallet\""), "{html}");
    assert!(html.contains("This browser has no extension"), "shown where the browser has none: {html}");
}

/// Wallets are reached over relays, and over nothing else.
#[tokio::test]
async fn page_without_a_relay_offers_what_works() {
    let pages = Pages::start_as(PagesOf { is_offline: true, ..PagesOf::default() }).await;
    let login = start(&pages, None).await;
    let (_, headers, html) = pages.get(&path(&login)).await;
    assert!(
        html.contains("data-state=\"waiting-offline\"") && html.contains("Phone wallets cannot be reached"),
        "{html}"
    );
    assert!(!html.contains("id=\"with-wallet\"") && !html.contains("class=\"qr\""), "{html}");
    assert!(html.contains("id=\"with-passkey\"") && html.contains("id=\"extension\""), "{html}");
    let events = get(&format!("{}/events", path(&login)), Some(&set_cookie(&headers)));
    let first = pages.open_body(events).await.into_body().frame().await.unwrap().unwrap();
    assert_eq!(first.into_data().unwrap(), "data: waiting-offline\n\n");
}

#[tokio::test]
async fn own_script_loads_the_page_again_and_others_do_not() {
    let pages = Pages::start(None).await;
    let login = start(&pages, None).await;
    let load = |from: &'static str, cookie: Option<&str>| {
        let mut request = get(&path(&login), cookie);
        request.headers_mut().insert("sec-fetch-dest", HeaderValue::from_static("empty"));
        request.headers_mut().insert("sec-fetch-site", HeaderValue::from_static(from));
        request
    };
    let (_, headers, html) = pages.send(load("same-origin", None)).await;
    assert!(!headers.contains_key("set-cookie") && !html.contains("data-proof"), "a script takes no page: {html}");
    let (cookie, _) = open(&pages, &login).await;
    let (status, _, html) = pages.send(load("same-origin", Some(&cookie))).await;
    assert_eq!(status, 200);
    assert!(html.contains("data-proof") && html.contains(r#"<meta name="generator" content="Usher">"#), "{html}");
    for from in ["same-site", "cross-site", "none"] {
        assert_eq!(pages.send(load(from, Some(&cookie))).await.0, 503);
    }
}

#[tokio::test]
async fn page_belongs_to_the_browser_that_opens_it_first() {
    let pages = Pages::start(None).await;
    let (login, other_login) = (start(&pages, None).await, start(&pages, None).await);
    // `HEAD` requests, prefetches and embedded loads bind no browser.
    let head = Request::head(path(&login)).body(Body::empty()).unwrap();
    let with = |name, value| Request::get(path(&login)).header(name, value).body(Body::empty()).unwrap();
    let prefetch = with("sec-purpose", "prefetch;prerender");
    for glance in [head, prefetch, with("sec-fetch-dest", "iframe"), with("sec-fetch-dest", "image")] {
        let (status, headers, _) = pages.send(glance).await;
        assert!(status == 503 && !headers.contains_key("set-cookie"));
    }
    let (cookie, unsigned) = open(&pages, &login).await;
    let (others, _) = open(&pages, &other_login).await;
    let value = others.split_once('=').unwrap().1;
    let forged = format!("__Host-usher_login_{}={value}", login.stream_id);
    let plain = cookie.replace("__Host-", "");
    let signed = sign(&user(), &unsigned);
    for stranger in [None, Some(others.as_str()), Some(&forged), Some(&plain), Some("__Host-usher_login_="), Some("")] {
        let (status, headers, html) = pages.send(get(&path(&login), stranger)).await;
        assert_eq!(status, 403);
        assert!(html.contains("This login was opened elsewhere") && !headers.contains_key("set-cookie"), "{html}");
        assert!(!html.contains("data-proof") && !html.contains("nostr+walletconnect"), "{html}");
        let events_of = get(&format!("{}/events", path(&login)), stranger);
        assert_eq!(pages.send(events_of).await.0, 204);
        for (action, body) in [("extension", signed.clone()), ("decline", String::new())] {
            let (status, _, said) = pages.send(post(&format!("{}/{action}", path(&login)), stranger, body)).await;
            assert_eq!(status, 403, "{said}");
        }
    }
    assert!(events(&pages, &login).await.is_empty());
    assert_eq!(pages.send(get(&path(&login), Some(&cookie))).await.0, 200);
}

/// A link previewer, or a browser without Fetch Metadata headers.
#[tokio::test]
async fn page_that_may_be_seen_by_nobody_belongs_to_nobody() {
    let pages = Pages::start(None).await;
    let login = start(&pages, None).await;
    let unknown = || Request::get(path(&login)).body(Body::empty()).unwrap();
    for _ in 0..3 {
        let (status, headers, html) = pages.send(unknown()).await;
        assert!(status == 200 && !headers.contains_key("set-cookie"), "{html}");
        assert!(html.contains(&format!("<form method=\"post\" action=\"/usher{}\">", path(&login))), "{html}");
        assert!(!html.contains("data-proof") && !html.contains("nostr+walletconnect"), "{html}");
    }
    let of_nobody = format!("__Host-usher_login_{}=x", login.stream_id);
    let waits = pages.send(get(&format!("{}/events", path(&login)), Some(&of_nobody))).await;
    assert!(waits.0 == 204 && !waits.1.contains_key("set-cookie"));
    // Its user presses the button.
    let (status, headers, _) = pages.send(post(&path(&login), None, String::new())).await;
    assert!(status == 303 && headers["location"] == format!("/usher{}", path(&login)), "{headers:?}");
    let cookie = set_cookie(&headers);
    let request = Request::get(path(&login)).header("cookie", &cookie).body(Body::empty()).unwrap();
    let (status, _, html) = pages.send(request).await;
    assert!(status == 200 && html.contains("data-proof"), "{html}");
    for stranger in [unknown(), post(&path(&login), None, String::new())] {
        assert_eq!(pages.send(stranger).await.0, 403);
    }
}

#[tokio::test]
async fn what_was_signed_for_anything_else_is_refused() {
    let pages = Pages::start(None).await;
    let (login, other) = (start(&pages, None).await, start(&pages, None).await);
    let (cookie, unsigned) = open(&pages, &login).await;
    let (_, of_other) = open(&pages, &other).await;
    let changed = |pointer: &str, value: Value| {
        let mut changed = unsigned.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        sign(&user(), &changed)
    };
    let valid: Value = serde_json::from_str(&sign(&user(), &unsigned)).unwrap();
    let forged = |name: &str, value: Value| {
        let mut forged = valid.clone();
        forged[name] = value;
        forged.to_string()
    };
    let address = format!("{}/extension", path(&login));
    for event in [
        sign(&user(), &of_other),
        changed("/kind", json!(22242)),
        changed("/created_at", json!(NOW.secs() - 61)),
        changed("/created_at", json!(NOW.secs() + 61)),
        changed("/tags/0/1", json!(format!("{URL}/login/{}", other.stream_id))),
        changed("/tags/1/1", json!("GET")),
        changed("/tags/2/1", json!("another")),
        forged("pubkey", json!(Keys::generate().public_key().to_hex())),
        forged("sig", json!("00".repeat(64))),
        String::new(),
        "{}".to_owned(),
    ] {
        let (status, headers, said) = pages.send(post(&address, Some(&cookie), event.clone())).await;
        assert_eq!(status, 422, "{event}: {said}");
        assert!(said.contains("not accepted") && headers.contains_key("content-security-policy"));
    }
    let plain = Request::post(&address).header("cookie", &cookie).header("content-type", "text/plain");
    let plain = plain.body(Body::from(valid.to_string())).unwrap();
    assert_eq!(pages.send(plain).await.0, 415, "no form of another site");
    let large = post(&address, Some(&cookie), "x".repeat(20_000));
    assert_eq!(pages.send(large).await.0, 413);
    assert!(events(&pages, &login).await.is_empty());
    assert_eq!(pages.send(post(&address, Some(&cookie), valid.to_string())).await.0, 204);
}

#[tokio::test]
async fn user_declines_or_does_nothing() {
    let pages = Pages::start(None).await;
    let declined = start(&pages, Some(RETURN_URL)).await;
    let (cookie, unsigned) = open(&pages, &declined).await;
    let decline = post(&format!("{}/decline", path(&declined)), Some(&cookie), String::new());
    let (status, headers, _) = pages.send(decline).await;
    assert!(status == 303 && headers["location"] == format!("/usher{}", path(&declined)), "{headers:?}");
    let html = pages.send(get(&path(&declined), Some(&cookie))).await.2;
    assert!(html.contains("You did not log in") && html.contains("stream_id=") && !html.contains("code="), "{html}");
    let late = post(&format!("{}/extension", path(&declined)), Some(&cookie), sign(&user(), &unsigned));
    assert_eq!(pages.send(late).await.0, 409);

    let forgotten = start(&pages, None).await;
    let (cookie, _) = open(&pages, &forgotten).await;
    pages.clock.turn(Duration::from_secs(601));
    pages.event(forgotten.stream_id).await;
    let html = pages.send(get(&path(&forgotten), Some(&cookie))).await.2;
    assert!(html.contains("The login has expired") && !html.contains("refresh"), "{html}");
}
