//! Many browsers at one reusable login: a flood takes a part of the room, and ends no page that somebody looks at.

use std::time::Duration;

use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt as _;
use usher_engine::{ClientNetwork as Client, LoginRequest, LoginStarted};

use crate::fixture::Pages;
use crate::login::get;
use crate::reusable_login::{Visitor, path};

/// How many logins one network may hold.
const OF_NETWORK: usize = 3;

async fn poster(pages: &Pages) -> LoginStarted {
    let request = LoginRequest { return_url: None, static_token: Some("door".to_owned()) };
    pages.engine.logins().start(request, None).await.unwrap()
}

fn network(n: u8) -> Client {
    Client::Network([10, 0, 0, n].into())
}

/// Somebody opens the page of the reusable login.
async fn come(pages: &Pages, poster: &LoginStarted, from: Client) -> (StatusCode, HeaderMap, String) {
    let mut request = get(&path(poster), None);
    request.extensions_mut().insert(from);
    pages.send(request).await
}

#[tokio::test]
async fn one_address_has_a_part_of_the_room_and_its_pages_last_while_they_are_seen() {
    let pages = Pages::start(None).await;
    let poster = poster(&pages).await;
    let mut own = Vec::new();
    for _ in 0..OF_NETWORK {
        let (status, headers, _) = come(&pages, &poster, network(1)).await;
        assert_eq!(status, StatusCode::SEE_OTHER);
        own.push(Visitor::led_by(&headers));
    }
    let (status, headers, html) = come(&pages, &poster, network(1)).await;
    assert!(status == StatusCode::TOO_MANY_REQUESTS && headers.get("set-cookie").is_none(), "{html}");
    // The page tries again by itself, and without JavaScript.
    let again = format!("<meta http-equiv=\"refresh\" content=\"30;url=/usher{}\">", path(&poster));
    assert!(headers["retry-after"] == "30" && html.contains(&again), "{html}");
    // Who has a page there already is led to it.
    assert_eq!(pages.send(get(&path(&poster), Some(&own[0].cookie))).await.0, StatusCode::SEE_OTHER);
    for n in 2..10 {
        assert_eq!(come(&pages, &poster, network(n)).await.0, StatusCode::SEE_OTHER);
    }

    // One page waits over a connection, one loads itself every now and then, and one was closed.
    let mut waits = pages.open_body(get(&format!("{}/events", own[0].page), Some(&own[0].cookie))).await.into_body();
    waits.frame().await.unwrap().unwrap();
    for _ in 0..18 {
        pages.clock.turn(Duration::from_secs(5));
        assert_eq!(own[1].open(&pages).await.0, StatusCode::OK);
    }
    let (status, headers, _) = come(&pages, &poster, network(1)).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    own.push(Visitor::led_by(&headers));
    assert_eq!(come(&pages, &poster, network(1)).await.0, StatusCode::TOO_MANY_REQUESTS);
    for (n, expected) in [(0, StatusCode::OK), (1, StatusCode::OK), (2, StatusCode::GONE), (3, StatusCode::OK)] {
        let (status, html) = own[n].open(&pages).await;
        assert_eq!(status, expected, "{n}: {html}");
        let leads_back = html.contains(&format!("href=\"/usher{}\">Start again</a>", path(&poster)));
        assert_eq!(leads_back, n == 2, "{html}");
    }
    // The connection ends, because the phone shows the wallet: the page is still there a minute later.
    drop(waits);
    pages.clock.turn(Duration::from_secs(60));
    assert_eq!(come(&pages, &poster, network(1)).await.0, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(own[0].open(&pages).await.0, StatusCode::OK);

    // The room is full.
    let refused = loop {
        let (status, headers, _) = come(&pages, &poster, Client::Loopback).await;
        if status != StatusCode::SEE_OTHER {
            break (status, headers);
        }
    };
    assert!(refused.0 == StatusCode::SERVICE_UNAVAILABLE && refused.1["retry-after"] == "30", "{refused:?}");
    assert_eq!(come(&pages, &poster, network(20)).await.0, StatusCode::SEE_OTHER, "who has fewer gets in");
    pages.clock.turn(Duration::from_secs(90));
    assert_eq!(come(&pages, &poster, Client::Loopback).await.0, StatusCode::SEE_OTHER);
}
