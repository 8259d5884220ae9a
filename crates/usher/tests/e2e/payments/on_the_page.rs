//! The payment page in a real browser: any Lightning wallet pays there, and the page shows the result.

use serde_json::{Value, json};
use usher_sandbox::wallet::Policy;
use usher_testing::Browser;

use super::fixture::{APP, Fixture, invoice_on};
use crate::harness::{is_for_everybody, now, shows, state_is, stream_of, until};

/// A request for a payment by a user.
async fn order(fixture: &Fixture, secs: u64) -> Value {
    let user = fixture.user(Policy::silent()).await;
    json!({
        "main_key": user.main_key().to_hex(), "subkeys": [], "description": "Two <b>coffees</b>", "amount": 1_234_500,
        "currency": "millisats", "expires_at": now() + secs, "return_url": APP,
    })
}

fn stream_and_page(started: &Value) -> (String, String) {
    (stream_of(started), started["page_url"].as_str().unwrap().to_owned())
}

/// Asks a user for a payment; the stream and the page.
async fn ask(fixture: &Fixture, secs: u64) -> (String, String) {
    stream_and_page(&fixture.api().post("/payments/single", &order(fixture, secs).await).await.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_pays_with_another_wallet_and_returns_to_the_app() {
    let fixture = Fixture::with_pages().await;
    let (stream, page_url) = ask(&fixture, 300).await;
    let mut browser = Browser::start().await;
    browser.be_a_phone().await;
    browser.open(&page_url).await;
    browser.until("document.getElementById('countdown')?.textContent.startsWith('Time left: ')").await;
    shows(&mut browser, &["Bar Seven", "1\u{202f}234.5 sats", "Two <b>coffees</b>", "Time left: "]).await;
    is_for_everybody(&mut browser).await;
    let invoice = invoice_on(&mut browser).await;
    let link = browser.evaluate("document.querySelector('a.button').href").await;
    assert_eq!(link, json!(format!("lightning:{invoice}")));
    let cancel = "(link => [link.href, link.textContent])(document.querySelector('a[href*=canceled]'))";
    let leads = [format!("{APP}?stream_id={stream}&canceled=1"), "Cancel and return to Bar Seven".to_owned()];
    assert_eq!(browser.evaluate(cancel).await, json!(leads));

    // The page says `paid` and leads to the app, so quickly that a test may not see it.
    fixture.somebody_pays(&invoice);
    browser.until_requested(&format!("{APP}?stream_id={stream}")).await;
    assert_eq!(fixture.later(&stream, 1).await[0].status(), "paid");
    assert!(browser.complaints().iter().all(|complaint| complaint.to_string().contains("127.0.0.1:9/app")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_says_that_it_is_too_late_and_that_money_has_come_all_the_same() {
    let fixture = Fixture::with_pages().await;
    // A browser may take seconds to start: the payment's time begins after that.
    let mut browser = Browser::start().await;
    let (stream, page_url) = ask(&fixture, 15).await;
    browser.open(&page_url).await;
    browser.until(&state_is("waiting")).await;
    let invoice = invoice_on(&mut browser).await;
    browser.until(&state_is("expired")).await;
    assert_eq!(browser.evaluate("document.getElementById('invoice')").await, Value::Null);
    shows(&mut browser, &["This invoice has expired. Don’t pay it."]).await;
    is_for_everybody(&mut browser).await;
    let secret = page_url.rsplit('/').next().unwrap();
    let wrong = page_url.replace(secret, &"0".repeat(32));
    assert_eq!(fixture.api().http.get(&wrong).send().await.unwrap().status(), 404);
    assert!(!fixture.usher.log().contains(secret));
    // Somebody has paid at the last moment, and the money arrives now.
    fixture.network.open_account("somebody", 10_000_000).pay_late(&invoice, None).unwrap();
    assert_eq!(fixture.later(&stream, 2).await[1].status(), "paid");
    browser.until_requested(&format!("{APP}?stream_id={stream}")).await;
}

/// Without JavaScript, and across a kill.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_late_gets_a_new_invoice_and_each_is_counted() {
    let mut fixture = Fixture::with_pages().await;
    let mut browser = Browser::start().await;
    browser.disable_javascript().await;
    let body = order(&fixture, 10).await;
    let order =
        async |fixture: &Fixture| fixture.api().post_once("/payments/single", "order-4711", &body).await.unwrap();
    let started = order(&fixture).await.0;
    let (stream, page_url) = stream_and_page(&started);
    browser.open(&page_url).await;
    let first = invoice_on(&mut browser).await;
    browser.until(&state_is("expired")).await;
    let repeated = order(&fixture).await;
    assert_eq!(
        (&repeated.0["status"], &repeated.0["page_url"], repeated.1),
        (&json!("timeout"), &json!(page_url), true)
    );
    browser.click("form button").await;
    browser.until(&state_is("waiting")).await;
    let second = invoice_on(&mut browser).await;
    assert_ne!(first, second);
    fixture.crash().await;
    fixture.somebody_pays(&second);
    assert_eq!(fixture.later(&stream, 2).await[1].status(), "paid");
    browser.until_requested(&format!("{APP}?stream_id={stream}")).await;
    // The first one, which was on its way, arrives as well.
    fixture.network.open_account("somebody", 10_000_000).pay_late(&first, None).unwrap();
    let booked = until("the surplus", async || {
        let books = fixture.api().get("/payments?status=paid").await.unwrap();
        books["payments"].as_array().unwrap().iter().find(|entry| entry["overpaid_millisats"].is_u64()).cloned()
    })
    .await;
    let counted =
        ["stream_id", "amount_millisats", "settled_millisats", "overpaid_millisats"].map(|name| &booked[name]);
    assert_eq!(counted, [&json!(stream), &json!(1_234_500), &json!(2_469_000), &json!(1_234_500)]);
    assert_eq!(order(&fixture).await, (started, true));
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
    let status = async |url: &str| api.http.get(url).bearer_auth(&api.token).send().await.unwrap().status();
    assert_eq!(status(page_url).await, 200);
    assert_eq!(
        api.http.get(page_url.replace(&pages, &api.base)).send().await.unwrap().status(),
        401,
        "no page is there"
    );
    // Without clients there is no provider of OpenID Connect either.
    let provider = ["/oauth/authorize", "/oauth/jwks", "/.well-known/openid-configuration"];
    for path in provider {
        assert_eq!(status(&format!("{}{path}", api.base)).await, 404, "{path}");
    }
    let of_the_api = ["/health", "/version", "/events/subscriptions", "/docs", "/metrics", "/ws", "/login"];
    for path in of_the_api.iter().chain(&provider) {
        assert_eq!(status(&format!("{pages}{path}")).await, 404, "{path}");
    }
    for (path, language, said) in
        [("/pay/", "en", "There is no such page"), ("/login/", "de", "Diese Seite gibt es nicht")]
    {
        let request = api.http.get(format!("{pages}{path}")).header("accept", "text/html,*/*;q=0.8");
        let response = request.header("accept-language", language).send().await.unwrap();
        assert_eq!(response.status(), 404);
        assert!(response.text().await.unwrap().contains(said), "{path}");
    }
    let posted = api.http.post(format!("{pages}/login")).bearer_auth(&api.token).send().await.unwrap();
    assert_eq!(posted.status(), 404);
    assert_eq!(status(&format!("{pages}/.well-known/nostr.json")).await, 200);
}
