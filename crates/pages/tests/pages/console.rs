//! The page of the console, its login, and invitations.

use http::HeaderMap;
use usher_engine::PageRequestSource;
use usher_engine::access::{Role, operator_id};
use usher_testing::ports::invoice;

use crate::approvals::{OWN, audited, confirmation, cookie, form, inner, location, waiting, with_source};
use crate::fixture::{NOW, Pages, keys};
use crate::login::{get, proof, prove, sign};

/// A request from a network that may use the console.
async fn open(pages: &Pages, path: &str, session: Option<&str>) -> (u16, HeaderMap, String) {
    pages.send(with_source(get(path, session))).await
}

/// Logs in with this key by a form of a page of the console; the response of the return.
async fn log_in(pages: &Pages, page: &str, session: Option<&str>, key: u8) -> (u16, HeaderMap, String) {
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
    let cookies = session.map_or_else(|| login.clone(), |session| format!("{session}; {login}"));
    open(pages, "/console/return", Some(&cookies)).await
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
    let first = session(&log_in(&pages, "/console", None, 23).await.1).unwrap();
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

/// An administrator who may also approve approves nothing that they have asked for, on no page.
#[tokio::test]
async fn operator_approves_no_own_request() {
    let pages = Pages::start_approving(&[keys(23).public_key()]).await;
    let own = session(&log_in(&pages, "/console", None, 23).await.1).unwrap();
    let origin = operator_id(&keys(23).public_key()).origin();
    let requester = usher_testing::ports::api_key(origin.0, |_| {});
    let stream = crate::approvals::ask_for(&pages, &requester, invoice(78, 0, 5_000, NOW.secs(), 6 * 3600)).await;
    let body = confirmation(&pages, &own, stream, "approve").await;
    let (status, _, html) = pages.send(form(&format!("/approve/{stream}/approve"), Some(&own), &OWN, &body)).await;
    assert!(status == 403 && html.contains("Somebody else has to approve it"), "{html}");
    assert_eq!(waiting(&pages).await.len(), 1);
}
