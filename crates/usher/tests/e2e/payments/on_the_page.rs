//! The payment page in a real browser: any Lightning wallet pays there, and the page says what becomes of it.

use serde_json::{Value, json};
use usher_sandbox::wallet::Policy;
use usher_test_tools::Browser;

use super::fixture::{Fixture, now};

/// Asks a user for a payment; the stream and the page.
async fn ask(fixture: &Fixture, user: &usher_sandbox::wallet::Wallet, secs: u64) -> (String, String) {
    let body = json!({
        "main_key": user.main_key().to_hex(), "subkeys": [], "description": "Two <b>coffees</b>", "amount": 1_234_500,
        "currency": "millisats", "expires_at": now() + secs, "return_url": "http://127.0.0.1:9/app",
    });
    let started = fixture.api().post("/payments/single", &body).await.unwrap();
    let text = |name: &str| started[name].as_str().unwrap().to_owned();
    (text("stream_id"), text("page_url"))
}

fn state_is(state: &str) -> String {
    format!("document.body?.dataset.state === '{state}'")
}

async fn is_for_everybody(browser: &mut Browser) {
    browser.until("document.readyState === 'complete'").await;
    assert_eq!(browser.accessibility_faults().await, [] as [&str; 0]);
    assert_eq!(browser.overflow().await, json!(0));
}

/// The page says `paid` and leads to the app, so quickly that a test may not see it.
async fn returns_to_the_app(browser: &mut Browser, stream: &str) {
    let app = format!("http://127.0.0.1:9/app?stream_id={stream}");
    browser.until_requested(&app).await;
}

async fn service() -> Fixture {
    Fixture::open_with(|builder| {
        builder.set("PAGES__RETURN_URLS", "http://127.0.0.1:9/app").set("PROFILE__DISPLAY_NAME", "Bar Seven")
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_pays_with_another_wallet_and_returns_to_the_app() {
    let fixture = service().await;
    let user = fixture.user(Policy::silent()).await;
    let (stream, page_url) = ask(&fixture, &user, 300).await;
    let mut browser = Browser::start().await;
    browser.be_a_phone().await;
    browser.open(&page_url).await;
    browser.until("document.getElementById('countdown')?.textContent.startsWith('Time left: ')").await;
    let text = browser.evaluate("document.body.innerText").await;
    for said in ["Bar Seven", "1\u{202f}234.5 sats", "Two <b>coffees</b>", "Time left: "] {
        assert!(text.as_str().unwrap().contains(said), "{said}\n{text}");
    }
    is_for_everybody(&mut browser).await;
    let invoice = browser.evaluate("document.getElementById('invoice').value").await;
    let invoice = invoice.as_str().unwrap();
    let link = browser.evaluate("document.querySelector('a.button').href").await;
    assert_eq!(link, json!(format!("lightning:{invoice}")));

    let somebody = fixture.network.open_account("somebody", 10_000_000);
    somebody.pay(invoice, None).unwrap();
    returns_to_the_app(&mut browser, &stream).await;
    assert_eq!(fixture.later(&stream, 1).await[0].status(), "paid");
    assert!(browser.complaints().iter().all(|complaint| complaint.to_string().contains("127.0.0.1:9/app")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_says_that_it_is_too_late_and_that_money_has_come_all_the_same() {
    let fixture = service().await;
    let user = fixture.user(Policy::silent()).await;
    // A browser may take seconds to start: the payment's time begins after that.
    let mut browser = Browser::start().await;
    let (stream, page_url) = ask(&fixture, &user, 15).await;
    browser.open(&page_url).await;
    browser.until(&state_is("waiting")).await;
    let invoice = browser.evaluate("document.getElementById('invoice').value").await;
    browser.until(&state_is("expired")).await;
    assert_eq!(browser.evaluate("document.getElementById('invoice')").await, Value::Null);
    let text = browser.evaluate("document.body.innerText").await;
    assert!(text.as_str().unwrap().contains("Do not pay any more."), "{text}");
    is_for_everybody(&mut browser).await;
    let secret = page_url.rsplit('/').next().unwrap();
    let wrong = page_url.replace(secret, &"0".repeat(32));
    assert_eq!(fixture.api().http.get(&wrong).send().await.unwrap().status(), 404);
    assert!(!fixture.usher.log().contains(secret));
    // Somebody has paid at the last moment, and the money arrives now.
    let somebody = fixture.network.open_account("somebody", 10_000_000);
    somebody.pay_late(invoice.as_str().unwrap(), None).unwrap();
    assert_eq!(fixture.later(&stream, 2).await[1].status(), "paid");
    returns_to_the_app(&mut browser, &stream).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_have_a_listener_of_their_own_without_the_api() {
    let port = usher_loopback_port::free().unwrap();
    let fixture = Fixture::open_with(|builder| builder.set("PAGES__LISTEN_PORT", port)).await;
    let api = fixture.api();
    let pages = format!("http://127.0.0.1:{port}");
    let login = api.post("/login", &json!({})).await.unwrap();
    let page_url = login["page_url"].as_str().unwrap();
    assert!(page_url.starts_with(&format!("{pages}/login/")), "{page_url}");
    assert_eq!(api.http.get(page_url).send().await.unwrap().status(), 200);
    let at_the_api = page_url.replace(&pages, &api.base);
    assert_eq!(api.http.get(&at_the_api).send().await.unwrap().status(), 401, "no page is there");
    for path in ["/health", "/version", "/events/subscriptions", "/docs", "/metrics", "/ws", "/", "/login"] {
        let response = api.http.get(format!("{pages}{path}")).bearer_auth(&api.token).send().await.unwrap();
        assert_eq!(response.status(), 404, "{path}");
    }
    for (path, language, said) in [("/", "en", "There is no such page"), ("/login/", "de", "Diese Seite gibt es nicht")]
    {
        let request = api.http.get(format!("{pages}{path}")).header("accept", "text/html,*/*;q=0.8");
        let response = request.header("accept-language", language).send().await.unwrap();
        assert_eq!(response.status(), 404);
        assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/html"), "{path}");
        assert!(response.text().await.unwrap().contains(said), "{path}");
    }
    let posted = api.http.post(format!("{pages}/login")).bearer_auth(&api.token).send().await.unwrap();
    assert_eq!(posted.status(), 404);
    let name = api.http.get(format!("{pages}/.well-known/nostr.json")).send().await.unwrap();
    assert_eq!(name.status(), 200);
}
