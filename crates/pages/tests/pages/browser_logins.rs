//! Logins that browsers begin through another protocol: anybody can begin as many as they like.

use std::time::Duration;

use http::StatusCode;
use http_body_util::BodyExt as _;
use usher_engine::{BrowserLogin, BrowserLoginStarted, ClientNetwork, LoginRequest, StartError};

use crate::fixture::{Pages, URL};
use crate::login::{get, post, proof, prove, sign, user};

/// A quarter of `max_open_streams` of the fixture.
const MAX_LOGINS: usize = 25;

async fn begin_as(pages: &Pages, number: usize, network: ClientNetwork) -> Result<BrowserLoginStarted, StartError> {
    let continue_url = format!("{URL}/oauth/login-return?request={number}");
    let login = BrowserLogin { client_name: "Gitea".to_owned(), continue_url, network, is_of_operator: false };
    pages.engine.logins().start_in_browser(login).await
}

async fn begin(pages: &Pages, number: usize) -> BrowserLoginStarted {
    begin_as(pages, number, ClientNetwork::Loopback).await.unwrap()
}

fn path(login: &BrowserLoginStarted) -> String {
    login.page_url.strip_prefix(URL).unwrap().to_owned()
}

fn cookie(login: &BrowserLoginStarted) -> String {
    format!("__Host-usher_login_{}={}", login.stream_id, login.browser)
}

async fn page(pages: &Pages, login: &BrowserLoginStarted) -> (StatusCode, String) {
    let (status, _, html) = pages.send(get(&path(login), Some(&cookie(login)))).await;
    (status, html)
}

/// The user's phone shows the wallet, so no page waits.
#[tokio::test]
async fn flood_of_one_visitor_does_not_end_the_login_of_another_whose_page_is_in_the_background() {
    let pages = Pages::start(None).await;
    let [flooder, user] = [1, 2].map(|n| ClientNetwork::Network([192, 0, 2, n].into()));
    let honest = begin_as(&pages, 0, user).await.unwrap();
    assert_eq!(page(&pages, &honest).await.0, StatusCode::OK);
    let (mut begun, mut refused) = (0, 0);
    for second in 0..100 {
        for number in 0..10 {
            match begin_as(&pages, 1 + second * 10 + number, flooder).await {
                Ok(_) => begun += 1,
                Err(StartError::TooManyOpen) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
        pages.clock.turn(Duration::from_secs(1));
    }
    // An eighth of the room, and again after 90 s, in place of its own.
    assert_eq!((begun, refused), (2 * (MAX_LOGINS / 8), 1_000 - 2 * (MAX_LOGINS / 8)));
    let html = page(&pages, &honest).await.1;
    let signed = sign(&self::user(), &proof(&html));
    let proven = prove(&pages, &path(&honest), &cookie(&honest), signed).await;
    assert_eq!(proven, StatusCode::NO_CONTENT);

    // Nobody knows who comes: what was seen a moment ago stays, and what is beyond the room is refused.
    let seen = begin(&pages, 2_000).await;
    for number in 2_001..2_100 {
        let _ = begin_as(&pages, number, ClientNetwork::Loopback).await;
    }
    assert_eq!(page(&pages, &seen).await.0, StatusCode::OK);
    assert!(matches!(begin_as(&pages, 2_100, ClientNetwork::Loopback).await, Err(StartError::TooManyOpen)));
}

#[tokio::test]
async fn flood_of_logins_ends_neither_one_whose_page_waits_nor_other_operations() {
    let pages = Pages::start(None).await;
    let (honest, forgotten) = (begin(&pages, 0).await, begin(&pages, 1).await);
    assert_eq!(page(&pages, &honest).await.0, StatusCode::OK);
    let mut waits =
        pages.open_body(get(&format!("{}/events", path(&honest)), Some(&cookie(&honest)))).await.into_body();
    let mut next = async || {
        let frame = waits.frame().await?.unwrap().into_data().unwrap();
        Some(String::from_utf8(frame.to_vec()).unwrap())
    };
    assert_eq!(next().await.as_deref(), Some("data: waiting\n\n"));
    let mut flood = Vec::new();
    let mut replaced = Vec::new();
    for number in 2..3 * MAX_LOGINS {
        if number % (MAX_LOGINS - 1) == 1 {
            // The others make room.
            pages.clock.turn(Duration::from_secs(90));
        }
        let login = begin(&pages, number).await;
        replaced.extend(login.replaced.clone());
        flood.push(login);
    }
    // Each is named once, the oldest first.
    let expected = 1..2 * MAX_LOGINS + 1;
    assert_eq!(replaced, expected.map(|n| format!("{URL}/oauth/login-return?request={n}")).collect::<Vec<_>>());
    assert_eq!(page(&pages, &forgotten).await.0, StatusCode::NOT_FOUND);
    let mut open = 0;
    for login in &flood {
        open += usize::from(page(&pages, login).await.0 == StatusCode::OK);
    }
    assert_eq!(open, MAX_LOGINS - 1);
    for _ in 0..50 {
        pages.engine.logins().start(LoginRequest::default(), None).await.unwrap();
    }

    let signed = sign(&user(), &proof(&page(&pages, &honest).await.1));
    let proven = prove(&pages, &path(&honest), &cookie(&honest), signed).await;
    assert_eq!(proven, StatusCode::NO_CONTENT);
    assert_eq!(next().await.as_deref(), Some("data: approved\n\n"));
    assert!(
        pages.engine.events().read(honest.stream_id, 0, 10).await.unwrap().events.is_empty(),
        "it is of another app"
    );
}

#[tokio::test]
async fn login_in_which_nobody_named_a_key_leaves_no_event_and_is_removed() {
    let pages = Pages::start(None).await;
    let (declined, expired) = (begin(&pages, 0).await, begin(&pages, 1).await);
    let decline = post(&format!("{}/decline", path(&declined)), Some(&cookie(&declined)), String::new());
    assert_eq!(pages.send(decline).await.0, StatusCode::SEE_OTHER);
    assert!(page(&pages, &declined).await.1.contains("You did not log in"));

    let waits = pages.open_body(get(&format!("{}/events", path(&expired)), Some(&cookie(&expired)))).await;
    pages.clock.turn(Duration::from_secs(601));
    let told = waits.into_body().collect().await.unwrap().to_bytes();
    // The clock was turned by more than the time after which a comment is sent.
    let told = String::from_utf8(told.to_vec()).unwrap().replace(":\n\n", "");
    assert_eq!(told, "data: waiting\n\ndata: expired\n\n");
    let html = page(&pages, &expired).await.1;
    assert!(html.contains("The login has expired") && html.contains("request=1"), "{html}");
    for login in [&declined, &expired] {
        let page = pages.engine.events().read(login.stream_id, 0, 10).await.unwrap();
        assert!(page.done && page.events.is_empty());
    }
    // The cleanup comes every hour.
    for login in [&declined, &expired] {
        while page(&pages, login).await.0 != StatusCode::NOT_FOUND {
            pages.clock.turn(Duration::from_secs(3600));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test]
async fn forgotten_login_leaves_no_stream() {
    let pages = Pages::start(None).await;
    let (open, approved) = (begin(&pages, 0).await, begin(&pages, 1).await);
    let of_app = pages.engine.logins().start(LoginRequest::default(), None).await.unwrap().stream_id;
    let signed = sign(&user(), &proof(&page(&pages, &approved).await.1));
    let proven = prove(&pages, &path(&approved), &cookie(&approved), signed).await;
    assert_eq!(proven, StatusCode::NO_CONTENT);
    assert!(page(&pages, &approved).await.1.contains("request=1"), "it leads on");
    for id in [open.stream_id, approved.stream_id, open.stream_id, of_app] {
        pages.engine.logins().forget(id).await.unwrap();
    }
    for login in [&open, &approved] {
        assert!(pages.engine.events().read(login.stream_id, 0, 10).await.is_err());
        assert_eq!(page(&pages, login).await.0, StatusCode::NOT_FOUND);
        assert!(!pages.engine.logins().is_in_use(login.stream_id));
    }
    assert!(!pages.engine.events().read(of_app, 0, 10).await.unwrap().done, "that of the app stays");
}
