//! `POST /login` with a static token: many users at one URL and at one page, on the real binary.

use serde_json::{Value, json};
use usher_protocol::Keys;
use usher_sandbox::relay::EmbeddedRelay;
use usher_sandbox::wallet::{Policy, Wallet};
use usher_test_tools::Browser;

use super::on_the_page::{Login, is_for_everybody, start, state_is};
use crate::harness::{Api, CallError, Event, LONG, TestUsher, caught_up, wallet_for};

const EXTENSION_BUTTON: &str = "#extension:not([hidden]) button";

async fn service() -> (EmbeddedRelay, TestUsher) {
    let relay = EmbeddedRelay::start().await.unwrap();
    let builder = TestUsher::builder().relays(&[relay.url()]).set("PROFILE__DISPLAY_NAME", "Bar Seven");
    // An address of this machine at which nobody listens: only where the browser goes counts.
    let usher = builder.set("PAGES__RETURN_URLS", "http://127.0.0.1:9/app").start().await;
    (relay, usher)
}

/// The events of one user, each in one word.
fn of_user(events: &[Event], wallet: &Wallet) -> Vec<String> {
    let main_key = wallet.main_key().to_hex();
    let of_user = events.iter().filter(|event| event.data["main_key"] == main_key);
    of_user.map(|event| if event.kind == "KeyHandshake" { "named" } else { event.status() }.to_owned()).collect()
}

async fn scan(wallet: &Wallet, login: &Login) -> usher_sandbox::wallet::Request {
    wallet.open(&login.url.parse().unwrap(), LONG).await.unwrap();
    wallet.next_request(LONG).await.expect("the challenge comes by itself")
}

async fn refused(api: &Api, path: &str, body: Value) -> (u16, String) {
    match api.post(path, &body).await {
        Err(CallError::Status(status, problem)) => {
            (status, problem["errors"][0]["pointer"].as_str().unwrap_or_default().to_owned())
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_of_one_url_log_in_each_by_themselves_across_crashes() {
    let (_relay, mut usher) = service().await;
    let api = usher.api();
    let reusable = start(&api, json!({ "static_token": "door-2" })).await;
    let again = start(&api, json!({ "static_token": "door-2" })).await;
    assert_eq!((&again.stream, &again.url, &again.page_url), (&reusable.stream, &reusable.url, &reusable.page_url));
    let wallets =
        [wallet_for(Policy::silent()).await, wallet_for(Policy::silent()).await, wallet_for(Policy::silent()).await];
    let mut requests = Vec::new();
    for wallet in &wallets {
        requests.push(scan(wallet, &reusable).await);
    }
    assert!(api.at_least(&reusable.stream, 3).await.iter().all(|event| event.kind == "KeyHandshake"));
    wallets[0].approve(&requests[0]).unwrap();
    api.at_least(&reusable.stream, 4).await;
    // Killed between scan and approval.
    usher.restart().await;
    wallets[1].approve(&requests[1]).unwrap();
    wallets[2].decline(&requests[2], Some("not today")).unwrap();
    let events = api.at_least(&reusable.stream, 6).await;
    for (wallet, expected) in wallets.iter().zip(["approved", "approved", "declined"]) {
        assert_eq!(of_user(&events, wallet), ["named", expected]);
    }
    assert!(events[3..].iter().all(|event| event.data["method"] == "wallet"), "{events:?}");

    // Nothing is told twice, and the next users come in.
    usher.restart().await;
    for (wallet, request) in wallets.iter().zip(&requests) {
        wallet.approve(request).unwrap();
        caught_up(&api, wallet).await;
    }
    let (told, done) = api.events(&reusable.stream).await;
    assert_eq!((told.len(), done), (6, false));
    let next = wallet_for(Policy::auto_approve()).await;
    next.open(&reusable.url.parse().unwrap(), LONG).await.unwrap();
    assert_eq!(of_user(&api.at_least(&reusable.stream, 8).await, &next), ["named", "approved"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_listed_and_closed_like_a_reusable_handshake() {
    let (_relay, usher) = service().await;
    let api = usher.api();
    let table = api.handshake(json!({ "static_token": "table-7" })).await;
    let reusable = start(&api, json!({ "static_token": "door-2", "return_url": "http://127.0.0.1:9/app" })).await;
    for (path, body, field) in [
        ("/login", json!({ "static_token": "table-7" }), "/static_token"),
        ("/key-handshake", json!({ "static_token": "door-2" }), "/static_token"),
        ("/login", json!({ "static_token": "door%2D2" }), "/static_token"),
        ("/login", json!({ "static_token": "a b" }), "/static_token"),
        ("/login", json!({ "static_token": "door-2", "return_url": "http://127.0.0.1:9/app/other" }), "/return_url"),
    ] {
        assert_eq!(refused(&api, path, body.clone()).await, (422, field.to_owned()), "{body}");
    }
    let wallet = wallet_for(Policy::silent()).await;
    let request = scan(&wallet, &reusable).await;
    let listed = api.get("/key-handshake").await.unwrap();
    let fields = |n: usize| {
        let of = |name: &str| listed["handshakes"][n][name].clone();
        (of("stream_id"), of("static_token"), of("login"), of("accepted"))
    };
    assert_eq!(fields(0), (json!(table.stream), json!("table-7"), json!(false), json!(0)));
    assert_eq!(fields(1), (json!(reusable.stream), json!("door-2"), json!(true), json!(1)));

    let visitor = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let led = visitor.get(&reusable.page_url).send().await.unwrap();
    assert_eq!(led.status(), 303);
    let cookie = led.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let page = format!("{}{}", api.base, led.headers()["location"].to_str().unwrap());
    let show = async || {
        let page = visitor.get(&page).header("cookie", &cookie).send().await.unwrap();
        (page.status(), page.text().await.unwrap())
    };
    assert!(show().await.1.contains("data-state=\"waiting\""));

    api.delete(&format!("/key-handshake/{}", reusable.stream)).await.unwrap();
    assert_eq!(visitor.get(&reusable.page_url).send().await.unwrap().status(), 410);
    // Nobody has named a key there: the login is removed with the URL, at once or a moment later.
    let (status, text) = show().await;
    assert!(status == 410 || text.contains("data-state=\"expired\""), "{status} {text}");
    wallet.approve(&request).unwrap();
    let late = wallet_for(Policy::auto_approve()).await;
    late.open(&reusable.url.parse().unwrap(), LONG).await.unwrap();
    for wallet in [&wallet, &late] {
        caught_up(&api, wallet).await;
    }
    let (events, done) = api.events(&reusable.stream).await;
    assert!(done && of_user(&events, &wallet) == ["named"] && events.len() == 1, "{events:?}");
    let anew = start(&api, json!({ "static_token": "door-2" })).await;
    assert!(anew.stream != reusable.stream && anew.url != reusable.url && anew.page_url != reusable.page_url);
    assert!(api.events(&anew.stream).await.0.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_browser_at_the_page_logs_its_own_user_in() {
    let (_relay, mut usher) = service().await;
    let api = usher.api();
    let body = json!({ "static_token": "door-2", "return_url": "http://127.0.0.1:9/app" });
    let reusable = start(&api, body).await;
    let keys = Keys::generate();
    let mut extension = Browser::start().await;
    extension.install_extension(&keys.secret_key().to_secret_hex()).await;
    let mut scanned = Browser::start().await;
    for browser in [&mut extension, &mut scanned] {
        browser.open(&reusable.page_url).await;
        browser.until(&state_is("waiting")).await;
        is_for_everybody(browser).await;
    }
    let at = async |browser: &mut Browser| browser.evaluate("location.href").await.as_str().unwrap().to_owned();
    let (first, second) = (at(&mut extension).await, at(&mut scanned).await);
    assert!(first != second && first != reusable.page_url && second != reusable.page_url);
    assert!(api.events(&reusable.stream).await.0.is_empty());

    // The one's page is not for the other.
    let mut thief = Browser::start().await;
    thief.open(&first).await;
    thief.until("document.body?.innerText.includes('This login was opened elsewhere')").await;

    // A wallet in the second, across a kill.
    let url = scanned.evaluate("document.querySelector('a.button').href").await.as_str().unwrap().to_owned();
    assert_ne!(url, reusable.url);
    let wallet = wallet_for(Policy::silent()).await;
    wallet.open(&url.parse().unwrap(), LONG).await.unwrap();
    let request = wallet.next_request(LONG).await.expect("a challenge");
    scanned.until(&state_is("asking")).await;
    // With its scripts, without which it would not connect again.
    scanned.until("document.readyState === 'complete'").await;
    usher.restart().await;
    wallet.approve(&request).unwrap();

    // The extension in the first.
    extension.until(&format!("document.querySelector('{EXTENSION_BUTTON}') !== null")).await;
    extension.click(EXTENSION_BUTTON).await;

    let returned = format!("http://127.0.0.1:9/app?stream_id={}&code=", reusable.stream);
    let mut codes = Vec::new();
    for browser in [&mut extension, &mut scanned] {
        let url = browser.until_requested(&returned).await;
        codes.push(url[returned.len()..].to_owned());
    }
    // Who is in which browser is known when the app redeems the codes.
    assert_eq!(of_user(&api.at_least(&reusable.stream, 4).await, &wallet), ["named"]);
    let path = format!("/login/{}/redeem", reusable.stream);
    let redeemed = api.post(&path, &json!({ "code": codes[1] })).await.unwrap();
    assert_eq!(redeemed, json!({ "main_key": wallet.main_key().to_hex(), "method": "wallet" }));
    let redeemed = api.post(&path, &json!({ "code": codes[0] })).await.unwrap();
    assert_eq!(redeemed, json!({ "main_key": keys.public_key().to_hex(), "method": "extension" }));
    let events = api.at_least(&reusable.stream, 6).await;
    assert_eq!(of_user(&events, &wallet), ["named", "approved"]);
    let own: Vec<_> = events.iter().filter(|event| event.data["main_key"] == keys.public_key().to_hex()).collect();
    assert_eq!(own.len(), 2);
    assert_eq!((own[1].status(), &own[1].data["method"]), ("approved", &json!("extension")));
    assert!(codes.iter().all(|code| !usher.log().contains(&**code)), "the codes stay out of the log");
    assert!(!api.events(&reusable.stream).await.1);
    let secret = reusable.page_url.rsplit('/').next().unwrap();
    assert!(!usher.log().contains(secret), "the secret stays out of the log");
}

/// Anybody can open the page as often as they like.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flood_of_page_visits_is_bounded_and_an_honest_user_logs_in() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let builder = TestUsher::builder().relays(&[relay.url()]).set("LIMITS__MAX_OPEN_STREAMS", 80);
    let usher = builder.start().await;
    let api = usher.api();
    let reusable = start(&api, json!({ "static_token": "door-2" })).await;
    let keys = Keys::generate();
    let mut honest = Browser::start().await;
    honest.install_extension(&keys.secret_key().to_secret_hex()).await;
    honest.open(&reusable.page_url).await;
    honest.until(&format!("document.querySelector('{EXTENSION_BUTTON}') !== null")).await;
    // Another has no JavaScript: their page loads itself.
    let mut simple = Browser::start().await;
    simple.disable_javascript().await;
    simple.open(&reusable.page_url).await;
    simple.until(&state_is("waiting")).await;
    let visitor = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let mut begun = 0;
    for _ in 0..300 {
        let response = visitor.get(&reusable.page_url).send().await.unwrap();
        match response.status().as_u16() {
            303 => begun += 1,
            503 => assert!(response.headers().contains_key("retry-after")),
            other => panic!("{other}"),
        }
    }
    assert_eq!(begun, 18, "a quarter of max_open_streams, with the two who are there");
    let open = api.metric("usher_operations_open{kind=\"login\"}").await;
    assert!(open <= 21, "{open} open logins");
    api.handshake(json!({})).await;
    honest.click(EXTENSION_BUTTON).await;
    honest.until(&state_is("approved")).await;
    let events = api.at_least(&reusable.stream, 2).await;
    assert!(events.len() == 2 && events[1].main_key() == keys.public_key().to_hex(), "{events:?}");
    simple.until(&state_is("waiting")).await;
    let url = simple.evaluate("document.querySelector('a.button').href").await.as_str().unwrap().to_owned();
    let wallet = wallet_for(Policy::auto_approve()).await;
    wallet.open(&url.parse().unwrap(), LONG).await.unwrap();
    simple.until(&state_is("approved")).await;
}

/// One key logs in three times a minute; the page says so, and the key is counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn key_that_logs_in_all_the_time_is_asked_to_wait() {
    let (_relay, usher) = service().await;
    let api = usher.api();
    let reusable = start(&api, json!({ "static_token": "door-2" })).await;
    let mut browser = Browser::start().await;
    browser.install_extension(&Keys::generate().secret_key().to_secret_hex()).await;
    for attempt in 1..=4 {
        browser.open(&reusable.page_url).await;
        browser.until(&format!("document.querySelector('{EXTENSION_BUTTON}') !== null")).await;
        browser.click(EXTENSION_BUTTON).await;
        if attempt < 4 {
            browser.until(&state_is("approved")).await;
        }
    }
    browser.until("document.getElementById('status')?.textContent.includes('try again in a minute')").await;
    assert_eq!(api.at_least(&reusable.stream, 6).await.len(), 6);
    let listed = api.get("/key-handshake").await.unwrap();
    assert_eq!(listed["handshakes"][0]["refused"], 1);
    assert_eq!(api.metric("usher_handshake_scans_total{result=\"accepted\"}").await, 3);
    assert_eq!(api.metric("usher_handshake_scans_total{result=\"refused_author\"}").await, 1);
}
