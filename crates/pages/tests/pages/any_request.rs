//! Whatever a browser sends, the pages have a response to it, and it is no failure of theirs.

use axum::body::Body;
use http::{Method, Request};
use http_body_util::BodyExt as _;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use usher_engine::{KeyHandshakeRequest, LoginRequest, Requester};
use usher_page_layout::{Site, SiteOptions};
use usher_pages::not_available;

use crate::console::{log_in_as, with_source};
use crate::fixture::{Pages, URL};

/// Parts of paths that lead somewhere, and parts that lead nowhere.
fn segment(known: Vec<String>) -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(known),
        1 => "[ -~]{0,40}".prop_map(|text| text.replace(['/', '?', '#', ' ', '<', '>', '"', '{', '}', '|', '\\', '^', '`'], "%")),
        1 => "(%[0-9A-F]{2}){1,8}",
    ]
}

#[tokio::test]
async fn page_that_reloads_by_itself_stays_at_its_host() {
    let site = Site::new(SiteOptions { url: URL.to_owned(), ..SiteOptions::default() });
    let (head, ()) = Request::get("//evil.example/login?x=y").body(()).unwrap().into_parts();
    let page = not_available(&site, &head).into_body().collect().await.unwrap().to_bytes();
    let page = String::from_utf8_lossy(&page);
    assert!(page.contains("/evil.example/login?x=y") && !page.contains("//evil.example"), "{page}");
}

#[tokio::test]
async fn no_request_is_a_failure() {
    let pages = Pages::start(None).await;
    let operator = log_in_as(&pages, 23).await;
    let login = pages.engine.logins().start(&Requester::Service, LoginRequest::default(), None).await.unwrap();
    let poster = pages.poster("door", None).await;
    let handshake =
        pages.engine.handshakes().start(&Requester::Service, KeyHandshakeRequest::default(), None).await.unwrap();
    let session = pages.open().await;
    let actions = "events extension signer decline passkey options wrapped-key signed?event={} start pay assets page.js \
                   return?state=a.b return login console approve step-up?next=x invite .. ";
    let mut known: Vec<String> = actions.split(' ').map(str::to_owned).collect();
    let mut whole: Vec<Vec<String>> = Vec::new();
    for url in [&login.page_url, &poster.page_url, &handshake.page_url, &session.session_url] {
        whole.push(url.strip_prefix(URL).unwrap().split('/').skip(1).map(str::to_owned).collect());
        known.extend(whole.last().unwrap().clone());
    }
    whole.push(vec!["console".to_owned()]);
    let path = prop_oneof![
        prop::collection::vec(segment(known.clone()), 1..6),
        (prop::sample::select(whole), prop::option::of(segment(known))).prop_map(|(mut path, action)| {
            path.extend(action);
            path
        }),
    ];
    let method = prop::sample::select(vec![Method::GET, Method::POST, Method::HEAD, Method::PUT, Method::OPTIONS]);
    let names = "cookie content-type accept-language sec-purpose sec-fetch-dest sec-fetch-site origin accept";
    let header = prop::sample::select(names.split(' ').collect::<Vec<_>>());
    let values = "application/json document cross-site same-origin https://shop.example null de;q=9,*,;;= \
                  application/x-www-form-urlencoded";
    let of_login = format!("__Host-usher_login_{}=x", login.stream_id);
    let of_poster = format!("{of_login}.{}.x", poster.stream_id);
    let values = values.split(' ').map(str::to_owned).chain([operator, of_login, of_poster]).collect::<Vec<_>>();
    let value = prop_oneof![1 => "[ -~]{0,60}", 11 => prop::sample::select(values)];
    let body = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        Just(br#"{"kind":27235}"#.to_vec()),
        Just(b"address=bunker://x".to_vec()),
        Just(b"token=x".to_vec())
    ];
    let request = (method, path, prop::collection::vec((header, value), 0..4), body);

    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..2_000 {
        let (method, path, headers, body) = request.new_tree(&mut runner).unwrap().current();
        let target = format!("/{}", path.join("/"));
        let request = Request::builder().method(&method).uri(&target);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, value.as_str()));
        // Malformed requests do not reach the pages.
        let Ok(request) = request.body(Body::from(body)) else { continue };
        let (head, _) = pages.open_body(with_source(request)).await.into_parts();
        let status = head.status;
        assert!(!status.is_server_error() || status == 503, "{method} {target} {headers:?}: {status}");
        let location = head.headers.get("location").map(|location| location.to_str().unwrap());
        assert!(location.is_none_or(|location| location.starts_with("/usher")), "{method} {target}: {location:?}");
    }
    // Nobody has become anybody by all this.
    let told = pages.told(login.stream_id).await;
    assert!(told.iter().all(|data| !data.to_string().contains("approved")));
}
