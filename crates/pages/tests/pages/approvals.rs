//! The page on which operators approve payments.

use std::time::Duration;

use axum::body::Body;
use http::{HeaderMap, Request};
use serde_json::{Value, json};
use usher_engine::access::{NewKeyRequest, Scope};
use usher_engine::{
    BrowserLogin, ClientNetwork, PageRequestSource, PayInvoiceRequest, Requester, ShownStream, StreamId, WaitingPayment,
};
use usher_protocol::Keys;
use usher_protocol::bolt11::Invoice;
use usher_testing::ports::{hashed_invoice, invoice, preimage};

use crate::fixture::{NOW, Pages, URL, from, keys, network};
use crate::login::{get, post, proof, prove, sign};

/// The origin of the fixture's URL.
pub(crate) const ORIGIN: &str = "https://shop.example";

/// What a browser says of a form of the service's own pages.
pub(crate) const OWN: [(&str, &str); 3] =
    [("sec-fetch-site", "same-origin"), ("sec-fetch-dest", "document"), ("origin", ORIGIN)];

async fn start() -> Pages {
    Pages::start_approving(&[keys(21).public_key(), keys(22).public_key()]).await
}

/// Somebody asks for the payment of the `n`th invoice.
pub(crate) async fn ask(pages: &Pages, n: usize, amount: u64) -> StreamId {
    ask_for(pages, &Requester::Service, invoice(78, n, amount, NOW.secs(), 6 * 3600)).await
}

pub(crate) async fn ask_for(pages: &Pages, requester: &Requester, invoice: Invoice) -> StreamId {
    let request = PayInvoiceRequest {
        main_key: None,
        subkeys: Vec::new(),
        invoice,
        amount: None,
        currency: None,
        description: None,
        reference: None,
        expires_at: None,
    };
    pages.engine.payments().pay(requester, request, None).await.unwrap()
}

pub(crate) async fn waiting(pages: &Pages) -> Vec<WaitingPayment> {
    pages.engine.payments().waiting_for_approval(&Requester::Service, None, 100).await.unwrap().0
}

pub(crate) fn form(path: &str, cookie: Option<&str>, headers: &[(&str, &str)], body: &str) -> Request<Body> {
    let request = Request::post(path).header("content-type", "application/x-www-form-urlencoded");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let request = cookie.into_iter().fold(request, |request, cookie| request.header("cookie", cookie));
    with_source(request.body(Body::from(body.to_owned())).unwrap())
}

pub(crate) fn with_source(mut request: Request<Body>) -> Request<Body> {
    let source = PageRequestSource { address: "192.0.2.7".to_owned(), request_id: "request-1".to_owned() };
    request.extensions_mut().insert(source);
    request
}

pub(crate) fn location(headers: &HeaderMap) -> String {
    headers["location"].to_str().unwrap().to_owned()
}

/// As a proxy that serves the pages below a path passes it on.
pub(crate) fn inner(address: &str) -> String {
    address.strip_prefix(URL).or_else(|| address.strip_prefix("/usher")).unwrap().to_owned()
}

pub(crate) fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let cookies = headers.get_all("set-cookie").iter().map(|cookie| cookie.to_str().unwrap());
    let cookie = cookies.map(|cookie| cookie.split(';').next().unwrap()).find(|cookie| cookie.starts_with(name));
    cookie.map(str::to_owned)
}

/// Begins a login on the page and completes it with this key; returns the browser's cookie and the login's page.
async fn complete_login(pages: &Pages, keys: &Keys) -> (String, String) {
    let (status, headers, _) = pages.send(form("/approve/login", None, &OWN, "")).await;
    assert_eq!(status, 303);
    let (cookie, page) = (cookie(&headers, "__Host-usher_login_").unwrap(), inner(&location(&headers)));
    let html = pages.send(get(&page, Some(&cookie))).await.2;
    assert!(html.contains("Log in to Payment approvals"), "{html}");
    assert_eq!(prove(pages, &page, &cookie, sign(keys, &proof(&html))).await, 204);
    (cookie, page)
}

/// Logs in; returns the cookie of the session.
pub(crate) async fn log_in(pages: &Pages, keys: &Keys) -> String {
    let (login, page) = complete_login(pages, keys).await;
    let html = pages.send(get(&page, Some(&login))).await.2;
    assert!(html.contains(&format!("{URL}/approve/return")), "the page leads on: {html}");
    let (status, headers, html) = pages.send(get("/approve/return", Some(&login))).await;
    assert_eq!((status, location(&headers).as_str()), (303, "/usher/approve"), "{html}");
    cookie(&headers, "__Host-usher_operator=").unwrap()
}

fn token(html: &str) -> String {
    html.split("name=\"token\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

/// The form's body on the page that asks for a confirmation.
pub(crate) async fn confirmation(pages: &Pages, session: &str, id: StreamId, decision: &str) -> String {
    let (status, _, html) = pages.send(get(&format!("/approve/{id}/{decision}"), Some(session))).await;
    assert_eq!(status, 200, "{html}");
    assert!(html.contains(&format!("action=\"/usher/approve/{id}/{decision}\"")), "{html}");
    format!("token={}", token(&html))
}

async fn statuses(pages: &Pages, stream: StreamId) -> Vec<String> {
    pages.told(stream).await.iter().map(|data| data["status"].as_str().unwrap_or_default().to_owned()).collect()
}

async fn until_done(pages: &Pages, stream: StreamId) {
    let (mut after, mut done) = (0, false);
    while !done {
        let page = pages
            .engine
            .events()
            .wait(ShownStream::to_service(stream), after, 100, Duration::from_secs(60))
            .await
            .unwrap();
        (after, done) = (page.next, page.done);
    }
}

/// Actor, action, outcome and details of each entry of the audit log.
pub(crate) async fn audited(pages: &Pages) -> Vec<(String, String, String, Value)> {
    let entries = pages.engine.audit().entries(0, 1_000).await.unwrap();
    let entry = |entry: usher_engine::ports::AuditEntry| {
        let record = entry.record;
        assert_eq!((record.address.as_str(), record.request_id.as_str()), ("192.0.2.7", "request-1"));
        (record.actor, record.action, record.outcome, serde_json::from_str(&record.details).unwrap())
    };
    entries.into_iter().map(entry).collect()
}

#[tokio::test]
async fn operator_sees_what_waits_and_approves_it() {
    let pages = start().await;
    let (name, scopes) = ("payroll <1>".to_owned(), Scope::parse("payments:send").into_iter().collect());
    let request = NewKeyRequest {
        name,
        scopes,
        expires_at: None,
        networks: Vec::new(),
        own_streams_only: false,
        daily_budget_millisats: None,
        requests_per_second: None,
    };
    let key = pages.keys.create(request, None).await.unwrap().key.id;
    let requester = usher_testing::ports::api_key(key.origin().0, |_| {});
    let by_key = ask_for(&pages, &requester, invoice(78, 0, 21_000_500, NOW.secs(), 6 * 3600)).await;
    let hashed = hashed_invoice("Tea", preimage(1), 5_000, NOW.secs(), 6 * 3600);
    let by_token = ask_for(&pages, &Requester::Service, hashed).await;

    let (status, headers, html) = pages.get("/approve").await;
    assert_eq!((status, headers["referrer-policy"].to_str().unwrap()), (200, "same-origin"));
    assert!(html.contains("data-state=\"logged-out\"") && !html.contains(&by_key.to_string()), "{html}");
    let (login, _) = complete_login(&pages, &keys(21)).await;
    let (_, headers, _) = pages.send(get("/approve/return", Some(&login))).await;
    let session = cookie(&headers, "__Host-usher_operator=").unwrap();
    let attributes = format!("{session}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure");
    assert!(headers.get_all("set-cookie").iter().any(|cookie| *cookie == attributes), "{headers:?}");
    let session = &*session;

    let (status, headers, html) = pages.send(get("/approve", Some(session))).await;
    assert_eq!(status, 200);
    assert!(!headers["content-security-policy"].to_str().unwrap().contains("script-src"));
    let first = html.find(&by_key.to_string()).unwrap();
    assert!(first < html.find(&by_token.to_string()).unwrap(), "the oldest first");
    for text in ["21\u{202f}000.5 sats", "at most 210.005 sats", "key “payroll &#60;1&#62;”", "the service’s token"]
    {
        assert!(html.contains(text), "{text}: {html}");
    }

    // Whoever only looks changes nothing, however often.
    for path in [format!("/approve/{by_key}/approve"), format!("/approve/{by_key}/decline"), "/approve".to_owned()] {
        assert_eq!(pages.send(get(&path, Some(session))).await.0, 200);
        let head = Request::head(&path).header("cookie", session).body(Body::empty()).unwrap();
        assert_eq!(pages.send(head).await.0, 503);
    }
    assert_eq!(waiting(&pages).await.len(), 2);
    assert_eq!(pages.wallet.prepared(), 0);

    let body = confirmation(&pages, session, by_key, "approve").await;
    let path = format!("/approve/{by_key}/approve");
    let (status, headers, _) = pages.send(form(&path, Some(session), &OWN, &body)).await;
    assert_eq!((status, location(&headers).as_str()), (303, "/usher/approve"));
    until_done(&pages, by_key).await;
    assert_eq!(statuses(&pages, by_key).await.last().unwrap(), "paid");
    let html = pages.send(get("/approve", Some(session))).await.2;
    assert!(html.contains("Approved: 21\u{202f}000.5 sats") && html.contains(&by_token.to_string()), "{html}");

    let body = confirmation(&pages, session, by_token, "decline").await;
    assert_eq!(pages.send(form(&format!("/approve/{by_token}/decline"), Some(session), &OWN, &body)).await.0, 303);
    assert_eq!(statuses(&pages, by_token).await, ["approval_required", "error"]);
    let html = pages.send(get("/approve", Some(session))).await.2;
    assert!(html.contains("Declined: 5 sats") && html.contains("No payment waits"), "{html}");
    assert_eq!(pages.wallet.sent().len(), 1);

    let name = format!("operator:{}", &keys(21).public_key().to_hex()[..16]);
    let entry = |stream: StreamId, amount: u64, decision: &str| {
        let details = json!({"amount_millisats": amount, "decision": decision, "stream_id": stream.to_string()});
        (name.clone(), "decideApproval".to_owned(), "ok".to_owned(), details)
    };
    assert_eq!(audited(&pages).await, [entry(by_key, 21_000_500, "approve"), entry(by_token, 5_000, "decline")]);
}

/// The app gets no event of an operator's login, and the login leaves no rows.
#[tokio::test]
async fn login_is_no_login_of_the_app() {
    let pages = start().await;
    let open = pages.engine.open_streams();
    let (login, page) = complete_login(&pages, &keys(21)).await;
    let id: StreamId = page.split('/').nth(2).unwrap().parse().unwrap();
    let events = pages.engine.events().read(ShownStream::to_service(id), 0, 10).await;
    assert!(events.is_err() || events.unwrap().events.is_empty());
    // A click in another tab before the end.
    let first = pages.send(get("/approve/return", Some(&login))).await;
    assert!(cookie(&first.1, "__Host-usher_operator=").is_some());
    assert_eq!(pages.send(get(&page, Some(&login))).await.0, 404);
    assert_eq!(pages.engine.open_streams(), open);
    // It counts once.
    let again = pages.send(get("/approve/return", Some(&login))).await;
    assert_eq!((again.0, cookie(&again.1, "__Host-usher_operator=")), (303, None));
}

#[tokio::test]
async fn other_keys_see_nothing() {
    let pages = start().await;
    let stream = ask(&pages, 0, 5_000).await;
    for n in 0..12 {
        let (login, _) = complete_login(&pages, &keys(30 + n)).await;
        let (status, headers, html) = pages.send(with_source(get("/approve/return", Some(&login)))).await;
        assert_eq!((status, cookie(&headers, "__Host-usher_operator=")), (403, None));
        let npub = usher_protocol::keys::npub(&keys(30 + n).public_key());
        assert!(html.contains("This key may not approve payments") && html.contains(&npub), "{html}");
        assert!(!html.contains(&stream.to_string()), "{html}");
    }
    // Anybody can do that: not every time is recorded, and no key is.
    let refused = ("-".to_owned(), "logInToApprove".to_owned(), "not_an_approver".to_owned(), json!({}));
    assert_eq!(audited(&pages).await, vec![refused; 10]);
}

/// Cross-site requests and clickjacking: a decision that another site makes the operator's browser send.
#[tokio::test]
async fn forms_of_others_and_of_earlier_decide_nothing() {
    let pages = start().await;
    let (stream, other) = (ask(&pages, 0, 5_000).await, ask(&pages, 1, 5_000).await);
    let session = log_in(&pages, &keys(21)).await;
    let others = log_in(&pages, &keys(22)).await;
    let (same, second) = (log_in(&pages, &keys(21)).await, confirmation(&pages, &session, other, "approve").await);
    let body = confirmation(&pages, &session, stream, "approve").await;
    let decline = confirmation(&pages, &session, stream, "decline").await;
    let of_list = format!("token={}", token(&pages.send(get("/approve", Some(&session))).await.2));
    let path = format!("/approve/{stream}/approve");

    let foreign: [&[(&str, &str)]; 11] = [
        &[],
        &[("sec-fetch-dest", "document")],
        &[("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "document"), ("origin", "https://evil.example")],
        &[("sec-fetch-site", "same-site"), ("sec-fetch-dest", "document"), ("origin", "https://users.shop.example")],
        &[("sec-fetch-site", "none"), ("sec-fetch-dest", "document")],
        &[("sec-fetch-site", "same-origin"), ("sec-fetch-dest", "iframe"), ("origin", ORIGIN)],
        &[("sec-fetch-site", "same-origin"), ("sec-fetch-dest", "empty"), ("origin", ORIGIN)],
        &[("origin", "null")],
        &[("origin", "http://shop.example")],
        // The same service at another name, or a name that leads here.
        &[("host", "evil.example"), ("sec-fetch-site", "same-origin"), ("origin", "https://evil.example")],
        &[("sec-fetch-site", "same-origin"), ("origin", ORIGIN), ("origin", "https://evil.example")],
    ];
    for headers in foreign {
        let (status, _, html) = pages.send(form(&path, Some(&session), headers, &body)).await;
        assert_eq!(status, 403, "{headers:?}");
        assert!(html.contains("Nothing was done") && html.contains("href=\"https://shop.example/usher/approve\""));
        let begun = pages.send(form("/approve/login", None, headers, "")).await;
        assert_eq!((begun.0, begun.1.get("set-cookie")), (403, None), "{headers:?}");
        let ended = pages.send(form("/approve/logout", Some(&session), headers, &of_list)).await;
        assert_eq!((ended.0, ended.1.get("set-cookie")), (403, None), "{headers:?}");
    }
    let tokens = ["", "token=", "token=x", &second, &decline, &of_list, &body[..body.len() - 1]];
    for body in tokens {
        let (status, _, html) = pages.send(form(&path, Some(&session), &OWN, body)).await;
        assert_eq!(status, 409, "{body}");
        assert!(html.contains("Nothing was decided"), "{html}");
    }
    // Another session of another operator, another one of the same, a cookie of a login, and none.
    let of_login = session.replace("operator=", "operator=x");
    for (cookie, expected) in [(Some(&*others), 409), (Some(&same), 409), (Some(&of_login), 403), (None, 403)] {
        assert_eq!(pages.send(form(&path, cookie, &OWN, &body)).await.0, expected, "{cookie:?}");
    }
    let json = post(&path, Some(&session), body.clone());
    assert_eq!(pages.send(json).await.0, 415);
    assert_eq!(pages.send(get(&format!("{path}?{body}"), Some(&session))).await.0, 200);
    assert_eq!(waiting(&pages).await.len(), 2);
    assert_eq!(audited(&pages).await, []);

    // The browser goes back and sends the form again.
    assert_eq!(pages.send(form(&path, Some(&session), &OWN, &body)).await.0, 303);
    for body in [&body, &decline] {
        let (status, _, html) = pages.send(form(&path, Some(&session), &OWN, body)).await;
        assert_eq!(status, 404);
        assert!(html.contains("does not wait any more"), "{html}");
    }
    for path in ["/approve/x/approve", &format!("/approve/{other}/x"), &format!("/approve/{stream}/approve")] {
        assert_eq!(pages.send(get(path, Some(&session))).await.0, 404);
    }
    until_done(&pages, stream).await;
    assert_eq!((pages.wallet.sent().len(), audited(&pages).await.len()), (1, 1));
}

#[tokio::test]
async fn session_ends() {
    let pages = start().await;
    let stream = ask(&pages, 0, 5_000).await;
    let (session, idle) = (log_in(&pages, &keys(21)).await, log_in(&pages, &keys(21)).await);
    let body = confirmation(&pages, &session, stream, "approve").await;
    let of_idle = confirmation(&pages, &idle, stream, "approve").await;
    let path = format!("/approve/{stream}/approve");
    pages.clock.turn(Duration::from_secs(1_799));
    assert!(pages.send(get("/approve", Some(&session))).await.2.contains("data-state=\"waiting\""));
    // A decision needs a fresh login, which leads back to it.
    for request in [get(&path, Some(&session)), form(&path, Some(&session), &OWN, &body)] {
        let (status, _, html) = pages.send(request).await;
        assert!(status == 200 && html.contains("Please log in again"), "{html}");
        assert!(html.contains(&format!("name=\"next\" value=\"/usher{path}\"")), "{html}");
    }
    pages.clock.turn(Duration::from_secs(1));
    let (status, _, html) = pages.send(form(&path, Some(&idle), &OWN, &of_idle)).await;
    assert_eq!(status, 403);
    assert!(html.contains("You are not logged in any more") && html.contains("Nothing was decided"), "{html}");

    let html = pages.send(get("/approve", Some(&session))).await.2;
    let log_out = format!("token={}", token(&html));
    let wrong = pages.send(form("/approve/logout", Some(&session), &OWN, &body)).await;
    assert_eq!((wrong.0, wrong.1.get("set-cookie")), (303, None));
    let (status, headers, html) = pages.send(form("/approve/logout", Some(&session), &OWN, &log_out)).await;
    assert!(status == 200 && html.contains("You are logged out"), "{html}");
    let removed = headers["set-cookie"].to_str().unwrap();
    assert!(removed.starts_with("__Host-usher_operator=; Path=/; Max-Age=0;"), "{removed}");
    for path in ["/approve", &path] {
        assert!(pages.send(get(path, Some(&session))).await.2.contains("data-state=\"logged-out\""));
    }
    let without_approvers = Pages::start(None).await;
    for request in [get("/approve", None), get("/approve/return", None), form("/approve/login", None, &OWN, "")] {
        assert_eq!(without_approvers.send(request).await.0, 404);
    }
    assert_eq!(pages.send(form(&path, Some(&session), &OWN, &body)).await.0, 403);
    assert_eq!(waiting(&pages).await.len(), 1);
}

/// A login that was begun for something else, is another browser's, or long over.
#[tokio::test]
async fn other_logins_begin_no_session() {
    let pages = start().await;
    let begun = pages.engine.logins().start_in_browser(BrowserLogin {
        client_name: "Corner Shop".to_owned(),
        continue_url: format!("{URL}/oauth/login-return?request=x"),
        network: ClientNetwork::Loopback,
        is_of_operator: false,
    });
    let begun = begun.await.unwrap();
    let cookie_of_shop = format!("__Host-usher_login_{}={}", begun.stream_id, begun.browser);
    let page = inner(&begun.page_url);
    let html = pages.send(get(&page, Some(&cookie_of_shop))).await.2;
    prove(&pages, &page, &cookie_of_shop, sign(&keys(21), &proof(&html))).await;
    let (login, _) = complete_login(&pages, &keys(21)).await;
    let (id, _) = login.split_once('=').unwrap();
    let in_a_frame = Request::get("/approve/return").header("sec-fetch-dest", "iframe").header("cookie", &login);
    assert_eq!(pages.send(in_a_frame.body(Body::empty()).unwrap()).await.0, 503);
    for cookies in [cookie_of_shop.clone(), format!("{id}=x"), format!("{id}={}", begun.browser)] {
        let (status, headers, _) = pages.send(get("/approve/return", Some(&cookies))).await;
        assert_eq!((status, cookie(&headers, "__Host-usher_operator=")), (303, None), "{cookies}");
    }
    assert_eq!(pages.send(get(&page, Some(&cookie_of_shop))).await.0, 200, "it is there for the shop");
    pages.clock.turn(Duration::from_secs(300));
    let late = pages.send(get("/approve/return", Some(&login))).await;
    assert_eq!((late.0, cookie(&late.1, "__Host-usher_operator=")), (303, None));
    // With a session there is nothing to log in to: the browser has come from another site without its cookie.
    let session = log_in(&pages, &keys(21)).await;
    let (status, headers, _) = pages.send(form("/approve/login", Some(&session), &OWN, "")).await;
    assert_eq!((status, location(&headers).as_str()), (303, "/usher/approve"));
}

/// Anybody can begin logins and complete them: only a number of them is kept.
#[tokio::test]
async fn logins_of_strangers_are_bounded() {
    let pages = start().await;
    let mut begun = Vec::new();
    let begin = || form("/approve/login", None, &OWN, "");
    for _ in 0..260 {
        let (status, headers, _) = pages.send(from(network(1), begin())).await;
        assert_eq!(status, 303);
        let (cookie, page) = (cookie(&headers, "__Host-usher_login_").unwrap(), inner(&location(&headers)));
        pages.send(post(&format!("{page}/decline"), Some(&cookie), String::new())).await;
        begun.push((cookie, page));
        pages.clock.turn(Duration::from_millis(200));
    }
    for (nth, (cookie, page)) in begun.iter().enumerate() {
        assert_eq!(pages.send(get(page, Some(cookie))).await.0 == 200, nth >= 10, "{nth}");
    }
    // Too many at once are refused, and those of other addresses are not.
    for _ in 0..60 {
        pages.send(from(network(2), begin())).await;
    }
    for (number, expected) in [(2, 503), (3, 303)] {
        assert_eq!(pages.send(from(network(number), begin())).await.0, expected, "{number}");
    }
}
