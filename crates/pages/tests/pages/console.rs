//! The page of the console, its login, and invitations.

use std::time::Duration;

use axum::body::Body;
use http::{HeaderMap, Request};
use serde_json::{Value, json};
use usher_engine::access::Role;
use usher_engine::{BrowserLogin, ClientNetwork, PageRequestSource, ShownStream, StreamId};

use crate::fixture::{Pages, URL, from, keys, network};
use crate::login::{get, post, proof, prove, sign};

/// The origin of the fixture's URL.
const ORIGIN: &str = "https://shop.example";

/// What a browser says of a form of the service's own pages.
const OWN: [(&str, &str); 3] = [("sec-fetch-site", "same-origin"), ("sec-fetch-dest", "document"), ("origin", ORIGIN)];

fn form(path: &str, cookie: Option<&str>, headers: &[(&str, &str)], body: &str) -> Request<Body> {
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

fn location(headers: &HeaderMap) -> String {
    headers["location"].to_str().unwrap().to_owned()
}

/// As a proxy that serves the pages below a path passes it on.
fn inner(address: &str) -> String {
    address.strip_prefix(URL).or_else(|| address.strip_prefix("/usher")).unwrap().to_owned()
}

fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let cookies = headers.get_all("set-cookie").iter().map(|cookie| cookie.to_str().unwrap());
    let cookie = cookies.map(|cookie| cookie.split(';').next().unwrap()).find(|cookie| cookie.starts_with(name));
    cookie.map(str::to_owned)
}

/// Actor, action, outcome and details of each entry of the audit log.
async fn audited(pages: &Pages) -> Vec<(String, String, String, Value)> {
    let entries = pages.engine.audit().entries(0, 1_000).await.unwrap();
    let entry = |entry: usher_engine::ports::AuditEntry| {
        let record = entry.record;
        assert_eq!((record.address.as_str(), record.request_id.as_str()), ("192.0.2.7", "request-1"));
        (record.actor, record.action, record.outcome, serde_json::from_str(&record.details).unwrap())
    };
    entries.into_iter().map(entry).collect()
}

/// A request from a network that may use the console.
async fn open(pages: &Pages, path: &str, session: Option<&str>) -> (u16, HeaderMap, String) {
    pages.send(with_source(get(path, session))).await
}

/// Begins a login by the form of a page of the console, and completes it with this key: the login's cookie and its page.
async fn complete_login(pages: &Pages, page: &str, session: Option<&str>, key: u8) -> (String, String) {
    let (_, _, html) = open(pages, page, session).await;
    let fields = html.split("<input type=\"hidden\" ").skip(1).map(|field| {
        let part = |name: &str| field.split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap();
        format!("{}={}", part("name"), part("value").replace('%', "%25").replace("&#38;", "%26"))
    });
    let fields = fields.collect::<Vec<_>>().join("&");
    let (status, headers, html) = pages.send(form("/console/login", session, &OWN, &fields)).await;
    assert_eq!(status, 303, "{page}: {html}");
    let login = cookie(&headers, "__Host-usher_login_").unwrap();
    let at = inner(&location(&headers));
    let html = pages.send(get(&at, Some(&login))).await.2;
    assert!(html.contains("Log in to Console"), "{html}");
    assert_eq!(prove(pages, &at, &login, sign(&keys(key), &proof(&html))).await, 204);
    (login, at)
}

/// Logs in with this key by a form of a page of the console; the response of the return.
async fn log_in(pages: &Pages, page: &str, session: Option<&str>, key: u8) -> (u16, HeaderMap, String) {
    let (login, _) = complete_login(pages, page, session, key).await;
    let cookies = session.map_or_else(|| login.clone(), |session| format!("{session}; {login}"));
    open(pages, "/console/return", Some(&cookies)).await
}

/// The cookie of a new session of this key.
pub(crate) async fn log_in_as(pages: &Pages, key: u8) -> String {
    session(&log_in(pages, "/console", None, key).await.1).unwrap()
}

fn session(headers: &HeaderMap) -> Option<String> {
    cookie(headers, "__Host-usher_operator=")
}

#[tokio::test]
async fn operator_logs_in_and_returns_to_the_address() {
    let pages = Pages::start(Some("Bar <Seven>")).await;
    let page = "/console/payments/1?q=coffee&x=%2f";
    let (status, headers, html) = open(&pages, page, None).await;
    assert!(status == 200 && html.contains("data-state=\"logged-out\"") && !html.contains("app-"), "{html}");
    assert!(!headers["content-security-policy"].to_str().unwrap().contains("script-src"));
    let (status, headers, _) = log_in(&pages, page, None, 23).await;
    assert_eq!((status, location(&headers)), (303, format!("/usher{page}")));
    let own = session(&headers).unwrap();

    let (status, headers, html) = open(&pages, page, Some(&own)).await;
    assert_eq!(status, 200);
    assert!(html.contains("<title>Bar &#60;Seven&#62;</title>") && html.contains("data-base=\"/usher\""), "{html}");
    let policy = headers["content-security-policy"].to_str().unwrap();
    for part in
        ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"]
    {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe") && headers["x-frame-options"] == "DENY");
    assert!(!html.contains("<style") && !html.contains(" style=") && !html.contains(" on"), "nothing inline: {html}");
    for extension in ["js", "css"] {
        let name = html.split("/usher").find(|part| part.contains(&format!(".{extension}\""))).unwrap();
        let name = name.split('"').next().unwrap();
        let (status, headers, _) = open(&pages, name, None).await;
        assert_eq!((status, headers["cache-control"].to_str().unwrap().contains("immutable")), (200, true), "{name}");
        assert_eq!(open(&pages, &name.replace("app-", "app-0"), None).await.0, 404);
    }
    // In a frame, or fetched by a page of another site.
    for destination in ["iframe", "object", "empty"] {
        let mut request = with_source(get("/console", Some(&own)));
        request.headers_mut().insert("sec-fetch-dest", destination.parse().unwrap());
        assert_eq!(pages.send(request).await.0, 503, "{destination}");
    }
    let names: Vec<_> = audited(&pages).await.into_iter().map(|(actor, action, ..)| (actor, action)).collect();
    assert_eq!(names, [("operator:Anna".to_owned(), "logInToConsole".to_owned())]);

    let (status, headers, html) = log_in(&pages, "/console", None, 40).await;
    assert_eq!((status, session(&headers)), (403, None));
    assert!(html.contains("This key has no access to the console"), "{html}");
    assert_eq!(audited(&pages).await[1].2, "not_an_operator");
}

#[tokio::test]
async fn step_up_begins_another_session_in_place_of_the_first() {
    let pages = Pages::start(None).await;
    let first = log_in_as(&pages, 23).await;
    let step_up = "/console/step-up?next=%2Fusher%2Fconsole%2Fwallet";
    let (status, headers, _) = log_in(&pages, step_up, Some(&first), 23).await;
    assert_eq!((status, location(&headers)), (303, "/usher/console/wallet".to_owned()));
    let second = session(&headers).unwrap();
    assert!(open(&pages, "/console", Some(&first)).await.2.contains("logged-out"));
    assert!(open(&pages, "/console", Some(&second)).await.2.contains("app-"));
    let elsewhere = open(&pages, "/console/step-up?next=https%3A%2F%2Fevil.example", Some(&second)).await.2;
    assert!(
        elsewhere.contains("name=\"next\" value=\"/usher/console\"") && !elsewhere.contains("value=\"https"),
        "{elsewhere}"
    );
}

#[tokio::test]
async fn invited_colleague_logs_in_once_with_an_own_key() {
    let pages = Pages::start(None).await;
    let operators = pages.keys.operators();
    let (secret, _) = operators.invite("Ben <b>", Role::Support).await.unwrap();
    let page = format!("/console/invite/{secret}");
    // Whoever only looks, such as a preview of the link, accepts nothing.
    for _ in 0..2 {
        let html = open(&pages, &page, None).await.2;
        assert!(html.contains("Ben &#60;b&#62;, log in to work with") && html.contains("support"), "{html}");
    }
    assert!(operators.invitation(&secret).is_some());
    let (status, headers, html) = log_in(&pages, &page, None, 41).await;
    assert_eq!((status, session(&headers).is_some()), (303, true), "{html}");
    assert_eq!(operators.find(&keys(41).public_key()).unwrap().role, Role::Support);
    for unknown in [&*page, "/console/invite/x"] {
        let (status, _, html) = open(&pages, unknown, None).await;
        assert!(status == 404 && html.contains("This invitation is not valid any more"), "{html}");
    }
    // Two begin, one is first.
    let (secret, _) = operators.invite("Cleo", Role::Viewer).await.unwrap();
    let begun = form("/console/login", None, &OWN, &format!("invitation={secret}"));
    let (_, headers, _) = pages.send(begun).await;
    let (login, at) = (cookie(&headers, "__Host-usher_login_").unwrap(), inner(&location(&headers)));
    let html = pages.send(get(&at, Some(&login))).await.2;
    operators.accept(&secret, keys(42).public_key()).await.unwrap();
    prove(&pages, &at, &login, sign(&keys(43), &proof(&html))).await;
    let (status, headers, _) = open(&pages, "/console/return", Some(&login)).await;
    assert_eq!((status, session(&headers), operators.find(&keys(43).public_key())), (404, None, None));
    let actions = audited(&pages).await.into_iter().map(|(actor, action, ..)| (actor, action));
    let ben = "operator:Ben <b>".to_owned();
    assert_eq!(
        actions.collect::<Vec<_>>(),
        [(ben.clone(), "acceptInvitation".to_owned()), (ben, "logInToConsole".to_owned())]
    );
}

#[tokio::test]
async fn console_is_hidden_from_other_networks() {
    let pages = Pages::start(None).await;
    for path in ["/console", "/console/wallet", "/console/return", "/console/invite/x", "/console/step-up"] {
        assert_eq!(pages.get(path).await.0, 404, "{path}");
        let mut request = get(path, None);
        let source = PageRequestSource { address: "198.51.100.1".to_owned(), request_id: String::new() };
        request.extensions_mut().insert(source);
        assert_eq!(pages.send(request).await.0, 404, "{path}");
    }
}

#[tokio::test]
async fn approver_logs_in_without_a_role() {
    let pages = Pages::start(None).await;
    let (status, headers, _) = log_in(&pages, "/console/approvals", None, 21).await;
    assert_eq!((status, location(&headers).as_str()), (303, "/usher/console/approvals"));
    let own = session(&headers).unwrap();
    let attributes = format!("{own}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure");
    assert!(headers.get_all("set-cookie").iter().any(|cookie| *cookie == attributes), "{headers:?}");
    assert!(open(&pages, "/console/approvals", Some(&own)).await.2.contains("app-"));
    let actor = format!("operator:{}", &keys(21).public_key().to_hex()[..16]);
    assert_eq!(audited(&pages).await, [(actor, "logInToConsole".to_owned(), "ok".to_owned(), json!({}))]);
}

#[tokio::test]
async fn former_addresses_of_approvals_lead_to_the_console() {
    let pages = Pages::start(None).await;
    let payment = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11";
    for (path, expected) in [
        ("/approve", ""),
        ("/approve?after=x", ""),
        ("/approve/login", ""),
        ("/approve//evil.example", ""),
        (&format!("/approve/{payment}"), payment),
        (&format!("/approve/{payment}/approve"), payment),
        (&format!("/approve/{payment}/decline?x=//evil.example"), payment),
    ] {
        let (status, headers, _) = open(&pages, path, None).await;
        let expected = format!("/usher/console/approvals/{expected}");
        assert_eq!((status, location(&headers).as_str()), (303, expected.trim_end_matches('/')), "{path}");
    }
    assert_eq!(pages.send(form(&format!("/approve/{payment}/approve"), None, &OWN, "")).await.0, 405);
}

/// The app gets no event of an operator's login, and the login leaves no rows.
#[tokio::test]
async fn login_is_no_login_of_the_app() {
    let pages = Pages::start(None).await;
    let streams = pages.engine.open_streams();
    let (login, page) = complete_login(&pages, "/console", None, 23).await;
    let id: StreamId = page.split('/').nth(2).unwrap().parse().unwrap();
    let events = pages.engine.events().read(ShownStream::to_service(id), 0, 10).await;
    assert!(events.is_err() || events.unwrap().events.is_empty());
    // A click in another tab before the end.
    let first = open(&pages, "/console/return", Some(&login)).await;
    assert!(session(&first.1).is_some());
    assert_eq!(pages.send(get(&page, Some(&login))).await.0, 404);
    assert_eq!(pages.engine.open_streams(), streams);
    // It counts once.
    let again = open(&pages, "/console/return", Some(&login)).await;
    assert_eq!((again.0, session(&again.1)), (303, None));
}

#[tokio::test]
async fn other_keys_see_their_key_alone() {
    let pages = Pages::start(None).await;
    for n in 0..12 {
        let (status, headers, html) = log_in(&pages, "/console", None, 30 + n).await;
        assert_eq!((status, session(&headers)), (403, None));
        let npub = usher_protocol::keys::npub(&keys(30 + n).public_key());
        assert!(html.contains("This key has no access to the console") && html.contains(&npub), "{html}");
    }
    // Anybody can do that: not every time is recorded, and no key is.
    let refused = ("-".to_owned(), "logInToConsole".to_owned(), "not_an_operator".to_owned(), json!({}));
    assert_eq!(audited(&pages).await, vec![refused; 10]);
}

/// A login that another site makes an operator's browser begin.
#[tokio::test]
async fn forms_of_others_begin_no_login() {
    let pages = Pages::start(None).await;
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
        let (status, answer, html) = pages.send(form("/console/login", None, headers, "")).await;
        assert_eq!((status, answer.get("set-cookie")), (403, None), "{headers:?}");
        assert!(html.contains("Nothing was done") && html.contains("href=\"https://shop.example/usher/console\""));
    }
}

/// A login that was begun for something else, is another browser's, or long over.
#[tokio::test]
async fn other_logins_begin_no_session() {
    let pages = Pages::start(None).await;
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
    prove(&pages, &page, &cookie_of_shop, sign(&keys(23), &proof(&html))).await;
    let (login, _) = complete_login(&pages, "/console", None, 23).await;
    let (id, _) = login.split_once('=').unwrap();
    let in_a_frame = Request::get("/console/return").header("sec-fetch-dest", "iframe").header("cookie", &login);
    assert_eq!(pages.send(with_source(in_a_frame.body(Body::empty()).unwrap())).await.0, 503);
    for cookies in [cookie_of_shop.clone(), format!("{id}=x"), format!("{id}={}", begun.browser)] {
        let (status, headers, _) = open(&pages, "/console/return", Some(&cookies)).await;
        assert_eq!((status, session(&headers)), (303, None), "{cookies}");
    }
    assert_eq!(pages.send(get(&page, Some(&cookie_of_shop))).await.0, 200, "it is there for the shop");
    pages.clock.turn(Duration::from_secs(300));
    let late = open(&pages, "/console/return", Some(&login)).await;
    assert_eq!((late.0, session(&late.1)), (303, None));
    // With a session there is nothing to log in to: the browser has come from another site without its cookie.
    let own = log_in_as(&pages, 23).await;
    let (status, headers, _) = pages.send(form("/console/login", Some(&own), &OWN, "")).await;
    assert_eq!((status, location(&headers).as_str()), (303, "/usher/console"));
}

/// Anybody can begin logins and complete them: only a number of them is kept.
#[tokio::test]
async fn logins_of_strangers_are_bounded() {
    let pages = Pages::start(None).await;
    let mut begun = Vec::new();
    let begin = || form("/console/login", None, &OWN, "");
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
