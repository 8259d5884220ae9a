//! Logins that browsers begin through another protocol: anybody can begin as many as they like.

use std::time::Duration;

use http_body_util::BodyExt as _;
use usher_engine::{BrowserLogin, BrowserLoginStarted, ClientNetwork, LoginRequest, Requester};

use crate::fixture::{Pages, URL};
use crate::login::{get, proof, prove, sign, user};

/// A quarter of `max_open_streams` of the fixture.
const MAX_LOGINS: usize = 25;

async fn begin(pages: &Pages, number: usize) -> BrowserLoginStarted {
    let continue_url = format!("{URL}/oauth/login-return?request={number}");
    let (client_name, network) = ("Gitea".to_owned(), ClientNetwork::Loopback);
    let login = BrowserLogin { client_name, continue_url, network, is_of_operator: false };
    pages.engine.logins().start_in_browser(login).await.unwrap()
}

fn path(login: &BrowserLoginStarted) -> String {
    login.page_url.strip_prefix(URL).unwrap().to_owned()
}

fn cookie(login: &BrowserLoginStarted) -> String {
    format!("__Host-usher_login_{}={}", login.stream_id, login.browser)
}

async fn page(pages: &Pages, login: &BrowserLoginStarted) -> (u16, String) {
    let (status, _, html) = pages.send(get(&path(login), Some(&cookie(login)))).await;
    (status, html)
}

#[tokio::test]
async fn flood_of_logins_ends_neither_one_whose_page_waits_nor_other_operations() {
    let pages = Pages::start(None).await;
    let (honest, forgotten) = (begin(&pages, 0).await, begin(&pages, 1).await);
    assert_eq!(page(&pages, &honest).await.0, 200);
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
    assert_eq!(page(&pages, &forgotten).await.0, 404);
    let mut open = 0;
    for login in &flood {
        open += usize::from(page(&pages, login).await.0 == 200);
    }
    assert_eq!(open, MAX_LOGINS - 1);
    for _ in 0..50 {
        pages.engine.logins().start(&Requester::Service, LoginRequest::default(), None).await.unwrap();
    }

    let signed = sign(&user(), &proof(&page(&pages, &honest).await.1));
    assert_eq!(prove(&pages, &path(&honest), &cookie(&honest), signed).await, 204);
    assert_eq!(next().await.as_deref(), Some("data: approved\n\n"));
    assert!(pages.told(honest.stream_id).await.is_empty(), "it is of another app");
}
