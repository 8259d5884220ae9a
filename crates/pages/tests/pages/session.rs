//! The page of an age verification session.

use std::time::Duration;

use axum::body::Body;
use http::Request;
use usher_engine::operations::AgeDecision;
use usher_engine::{Requester, VerificationSessionRequest};

use crate::fixture::{Pages, URL, path};
use crate::login::{self, get, post};

#[tokio::test]
async fn the_page_has_its_headers_and_loads_nothing_from_elsewhere() {
    let pages = Pages::start(Some("Bar <b>7</b>")).await;
    let session = pages.open().await;
    let (status, headers, html) = pages.get(&path(&session)).await;
    assert_eq!(status, 200);
    let waiting = pages.engine.verification().waiting(&Requester::Service, None, 1).await.unwrap().0;
    let number = format!(r#"<p class="amount">{}</p>"#, waiting[0].number.unwrap());
    for text in [
        &number,
        "Bar &#60;b&#62;7&#60;/b&#62; asks for a proof that you are at least 18 years old.",
        r#"<noscript><meta http-equiv="refresh" content="5;url=/usher/verify/"#,
    ] {
        assert!(html.contains(text), "{text}\n{html}");
    }
    let policy = headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(headers["referrer-policy"], "no-referrer");
    assert_eq!(headers["cache-control"], "no-store");
    assert!(!headers.contains_key("set-cookie"));
    let (_, headers, content) = pages.get("/pages/assets/page.js").await;
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert!(!content.contains("http"), "nothing from elsewhere");
}

#[tokio::test]
async fn the_page_shows_the_outcome_and_stops_reloading() {
    let pages = Pages::start(None).await;
    let rejected = AgeDecision::Rejected { reason: Some("a private remark".to_owned()) };
    for (decision, word, text) in [
        (Some(rejected), "rejected", "You did not pass the check"),
        (Some(AgeDecision::Approved), "not-issued", "Your proof could not be issued"),
        (None, "expired", "The time is over"),
    ] {
        let session = pages.open().await;
        assert_eq!(pages.state(&path(&session)).await, "open");
        if let Some(decision) = decision {
            pages.engine.verification().decide(&Requester::Service, session.session_id, &decision, None).await.unwrap();
        } else {
            pages.clock.turn(Duration::from_secs(901));
            pages.event(session.session_id).await;
        }
        assert_eq!(pages.state(&path(&session)).await, word);
        let html = pages.get(&path(&session)).await.2;
        assert!(html.contains(text) && html.contains(&format!(r#"data-state="{word}""#)), "{html}");
        assert!(!html.contains("refresh") && !html.contains("<script"), "{html}");
        assert!(!html.contains("minutes left") && !html.contains("a private remark"), "{html}");
    }
}

#[tokio::test]
async fn another_path_is_a_page_in_the_language_of_the_browser() {
    let pages = Pages::start(None).await;
    let request = Request::get("/pages/none").header("accept-language", "es").body(Body::empty()).unwrap();
    let (status, headers, html) = pages.send(request).await;
    assert_eq!(status, 404);
    assert!(html.contains("Esta página no existe") && html.contains("href=\"?language=de\""), "{html}");
    assert!(headers.contains_key("content-security-policy"));
    // The language that is chosen on a page is remembered.
    let session = path(&pages.open().await);
    let (_, headers, html) = pages.get(&format!("{session}?language=de")).await;
    let cookie = headers["set-cookie"].to_str().unwrap().split(';').next().unwrap();
    assert!(cookie == "__Host-usher_language=de" && html.contains("<html lang=\"de\">"), "{html}");
    assert!(pages.send(get(&session, Some(cookie))).await.2.contains("<html lang=\"de\">"));
}

#[tokio::test]
async fn only_the_whole_address_shows_a_page() {
    let pages = Pages::start(None).await;
    let inner = |url: String| url.strip_prefix(URL).unwrap().to_owned();
    let handshakes = pages.engine.handshakes();
    let handshake =
        async || inner(handshakes.start(&Requester::Service, Default::default(), None).await.unwrap().page_url);
    let login = async || inner(login::start(&pages, None).await.page_url);
    let session = async || path(&pages.open().await);
    let (sessions, logins) = ([session().await, session().await], [login().await, login().await]);
    let pairs = [sessions, logins, [handshake().await, handshake().await]];
    for (number, [right, other]) in pairs.iter().enumerate() {
        let (prefix, secret) = right.rsplit_once('/').unwrap();
        let kind = right.split('/').nth(1).unwrap();
        let of_another_kind = pairs[(number + 1) % 3][0].split('/').nth(2).unwrap();
        for wrong in [
            format!("{prefix}/{}", other.rsplit_once('/').unwrap().1),
            right[..right.len() - 1].to_owned(),
            format!("{right}x"),
            format!("{prefix}/{}", secret.to_uppercase()),
            format!("/{kind}/subscriptions/{secret}"),
            format!("/{kind}/nothing/{secret}"),
            format!("/{kind}/{of_another_kind}/{secret}"),
            format!("/{kind}/%FF/{secret}"),
        ] {
            let forms = ["start", "extension", "decline"]
                .map(|action| post(&format!("{wrong}/{action}"), None, "{}".to_owned()));
            for request in [get(&wrong, None), get(&format!("{wrong}/events"), None)].into_iter().chain(forms) {
                let (uri, is_form) = (request.uri().to_string(), request.method() == http::Method::POST);
                let (status, headers, html) = pages.send(request).await;
                assert!(matches!(status, 204 | 400 | 404), "{uri}: {status}");
                assert!(is_form || status == 400 || headers.contains_key("content-security-policy"), "{uri}");
                assert!(!headers.contains_key("set-cookie") && !html.contains("data-state"), "{uri}: {html}");
            }
        }
        assert_eq!(pages.get(right).await.0, 200, "{right}");
    }
}

#[tokio::test]
async fn page_leads_back_to_the_app_at_the_end() {
    let pages = Pages::start(Some("Bar 7")).await;
    let open = |return_url: &str| {
        let request = VerificationSessionRequest { return_url: Some(return_url.to_owned()) };
        pages.engine.verification().start(&Requester::Service, request, None)
    };
    assert!(open("https://elsewhere.example/done").await.is_err());
    let session = open("https://app.example/done?a=b").await.unwrap();
    let html = pages.get(&path(&session)).await.2;
    assert!(!html.contains("app.example"), "the way back is for the end: {html}");
    let rejected = AgeDecision::Rejected { reason: Some("a private remark".to_owned()) };
    pages.engine.verification().decide(&Requester::Service, session.session_id, &rejected, None).await.unwrap();
    let html = pages.get(&path(&session)).await.2;
    let target = format!("href=\"https://app.example/done?a=b&#38;stream_id={}\"", session.session_id);
    assert!(html.contains(&target) && !html.contains("http-equiv"), "the user reads why, and goes on: {html}");
    assert!(!html.contains("<script") && !html.contains("a private remark"), "{html}");
}
