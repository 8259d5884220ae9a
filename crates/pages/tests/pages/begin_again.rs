//! Browsers whose login at a reusable login is over, or another's: they can begin again. And those that other sites send there.

use std::time::Duration;

use axum::body::Body;
use http::{HeaderMap, Request};
use usher_engine::{LoginRequest, LoginStarted, Requester};

use crate::fixture::Pages;
use crate::login::{get, post, proof, sign, user};
use crate::reusable_login::{Visitor, page, path};

/// The origin of the fixture's URL.
const ORIGIN: &str = "https://shop.example";

/// How the page leads to that of the reusable login.
fn link(poster: &LoginStarted, text: &str) -> String {
    format!("href=\"/usher{}\">{text}</a>", path(poster))
}

fn form(path: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let request = Request::post(path).header("content-type", "application/x-www-form-urlencoded");
    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).body(Body::empty()).unwrap()
}

fn set_cookies(headers: &HeaderMap) -> Vec<String> {
    headers.get_all("set-cookie").iter().map(|cookie| cookie.to_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn every_end_leads_to_a_new_login() {
    let pages = Pages::start(None).await;
    let poster = pages.poster("door", None).await;
    let visit = || Visitor::at(&pages, &poster);
    let (approved, declined, expired) = (visit().await, visit().await, visit().await);
    let html = approved.open(&pages).await.1;
    assert!(!html.contains(&path(&poster)), "not while it is open: {html}");
    let signed = sign(&user(), &proof(&html));
    assert_eq!(approved.prove(&pages, &approved.cookie, signed).await, 204);
    let decline = post(&format!("{}/decline", declined.page), Some(&declined.cookie), String::new());
    let (status, _, html) = pages.send(decline).await;
    assert!(status == 200 && html.contains("data-state=\"declined\""), "{html}");
    assert!(html.contains("You did not log in") && html.contains(&link(&poster, "Start again")), "{html}");
    let again = pages.send(get(&format!("{}/decline", declined.page), Some(&declined.cookie))).await;
    assert_eq!((again.0, page(&again.1)), (303, declined.page.clone()));
    pages.clock.turn(Duration::from_secs(601));
    while expired.open(&pages).await.0 == 200 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // A login without a key is not kept after its end.
    for (visitor, expected, text) in
        [(&approved, 200, "New login"), (&declined, 410, "Start again"), (&expired, 410, "Start again")]
    {
        let (status, html) = visitor.open(&pages).await;
        assert!(status == expected && html.contains(&link(&poster, text)), "{html}");
        // The next person at the same device.
        let (status, headers, _) = pages.send(get(&path(&poster), Some(&visitor.cookie))).await;
        assert_eq!(status, 303);
        let next = Visitor::led_by(&headers);
        assert!(next.page != visitor.page && next.open(&pages).await.1.contains("data-state=\"waiting\""));
    }

    // Where nobody can log in any more, the page leads nowhere.
    pages.engine.handshakes().close(&Requester::Service, poster.stream_id).await.unwrap();
    for (visitor, expected) in [(&approved, 200), (&declined, 410), (&expired, 410)] {
        let (status, html) = visitor.open(&pages).await;
        assert!(status == expected && !html.contains(&path(&poster)), "{html}");
    }
}

#[tokio::test]
async fn page_of_another_browser_leads_to_a_login_of_its_own() {
    let pages = Pages::start(None).await;
    let poster = pages.poster("door", None).await;
    let owner = Visitor::at(&pages, &poster).await;
    let (status, headers, html) = pages.get(&owner.page).await;
    assert!(status == 403 && set_cookies(&headers).is_empty());
    assert!(html.contains("or start again here") && html.contains(&link(&poster, "Start again")), "{html}");
    let (status, _, html) = pages.send(post(&format!("{}/decline", owner.page), None, String::new())).await;
    assert!(status == 403 && html.contains(&link(&poster, "Start again")), "{html}");

    // An ordinary login has no other page.
    let single = pages.engine.logins().start(&Requester::Service, LoginRequest::default(), None).await.unwrap();
    assert_eq!(pages.get(&path(&single)).await.0, 200);
    let (status, _, html) = pages.get(&path(&single)).await;
    assert!(status == 403 && !html.contains("href=\"/usher/login"), "{html}");
}

/// Its row is gone: nothing of it is stored, and its browser knows where it began.
#[tokio::test]
async fn login_of_which_nothing_is_left_leads_to_a_new_one() {
    let pages = Pages::start(None).await;
    let poster = pages.poster("door", None).await;
    let visitor = Visitor::at(&pages, &poster).await;
    let decline = post(&format!("{}/decline", visitor.page), Some(&visitor.cookie), String::new());
    pages.send(decline).await;
    let (status, html) = visitor.open(&pages).await;
    assert!(status == 410 && html.contains("The login has expired"), "{html}");
    assert!(html.contains(&link(&poster, "Start again")), "{html}");
    let form = post(&format!("{}/decline", visitor.page), Some(&visitor.cookie), String::new());
    assert_eq!(pages.send(form).await.0, 410);

    // Without the cookie, there is no page, and a forged cookie redirects nowhere else.
    assert_eq!(pages.get(&visitor.page).await.0, 404);
    let (name, value) = visitor.cookie.split_once('=').unwrap();
    let secret = value.rsplit('.').next().unwrap();
    let wrong = [
        value.replace(secret, "x"),
        value.replace(secret, ""),
        value.replace(secret, "//evil.example"),
        value.replace(&poster.stream_id.to_string(), "x"),
        format!("x.{}.{secret}", visitor.page.split('/').nth(2).unwrap()),
        "...".to_owned(),
        String::new(),
    ];
    for value in wrong {
        let (status, _, html) = pages.send(get(&visitor.page, Some(&format!("{name}={value}")))).await;
        assert!(status == 404 && !html.contains("href=\"/usher/login"), "{value}: {html}");
    }
    pages.engine.handshakes().close(&Requester::Service, poster.stream_id).await.unwrap();
    let (status, html) = visitor.open(&pages).await;
    assert!(status == 410 && html.contains("The login is over"), "{html}");
}

/// Other sites can have a browser send a form here, without its cookies: it is led to the page, and has no login by it.
#[tokio::test]
async fn forms_of_other_sites_begin_and_claim_nothing() {
    let pages = Pages::start(None).await;
    let poster = pages.poster("door", None).await;
    let single = pages.engine.logins().start(&Requester::Service, LoginRequest::default(), None).await.unwrap();
    let before = pages.engine.open_streams();
    let foreign: [&[(&str, &str)]; 8] = [
        &[("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "document"), ("origin", "https://evil.example")],
        &[("sec-fetch-site", "same-site"), ("sec-fetch-dest", "document"), ("origin", "https://users.shop.example")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-origin"), ("sec-fetch-dest", "iframe"), ("origin", ORIGIN)],
        &[("sec-fetch-site", "same-origin"), ("sec-fetch-dest", "empty"), ("origin", ORIGIN)],
        &[("origin", "https://evil.example")],
        &[("origin", "http://shop.example")],
        &[("origin", "null")],
    ];
    for headers in foreign {
        for login in [&poster, &single] {
            let (status, answer, _) = pages.send(form(&path(login), headers)).await;
            assert!(status == 303 && set_cookies(&answer).is_empty(), "{headers:?}");
            assert_eq!(page(&answer), path(login), "{headers:?}");
        }
        assert_eq!(pages.engine.open_streams(), before, "nothing has begun: {headers:?}");
    }
    let of_page = [("sec-fetch-site", "same-origin"), ("sec-fetch-dest", "document"), ("origin", "null")];
    let own: [&[(&str, &str)]; 3] = [&of_page, &[("origin", ORIGIN)], &[]];
    for headers in own {
        let (_, answer, _) = pages.send(form(&path(&poster), headers)).await;
        assert_eq!(Visitor::led_by(&answer).open(&pages).await.0, 200, "{headers:?}");
    }
    let (status, answer, _) = pages.send(form(&path(&single), own[0])).await;
    assert!(status == 303 && set_cookies(&answer).len() == 1, "nobody had claimed it");

    // The page with the button lets its own form say where it comes from.
    let unknown = Request::get(path(&poster)).body(Body::empty()).unwrap();
    assert_eq!(pages.send(unknown).await.1["referrer-policy"], "same-origin");
}
