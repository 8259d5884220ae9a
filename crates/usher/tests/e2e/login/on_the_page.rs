//! `POST /login` in a real browser (Debian's chromium): with an extension of another implementation (npm `nostr-tools`), and
//! with a wallet across crashes.

use serde_json::{Value, json};
use usher_protocol::Keys;
use usher_sandbox::relay::EmbeddedRelay;
use usher_sandbox::wallet::Policy;
use usher_testing::Browser;

use crate::harness::{
    Api, EXTENSION_BUTTON, LONG, TestUsher, has, is_for_everybody, refusal, shows, state_is, wallet_for,
};

pub(super) struct Login {
    pub(super) stream: String,
    pub(super) url: String,
    pub(super) page_url: String,
}

pub(super) async fn start(api: &Api, body: Value) -> Login {
    let started = api.post("/login", &body).await.unwrap();
    let text = |name: &str| started[name].as_str().unwrap().to_owned();
    Login { stream: text("stream_id"), url: text("url"), page_url: text("page_url") }
}

pub(super) async fn service() -> (EmbeddedRelay, TestUsher) {
    let relay = EmbeddedRelay::start().await.unwrap();
    let builder = TestUsher::builder().relays(&[relay.url()]).set("PROFILE__DISPLAY_NAME", "Bar Seven");
    // A closed port of this machine: only the address that the browser opens matters.
    let usher = builder.set("PAGES__RETURN_URLS", "http://127.0.0.1:9/app").start().await;
    (relay, usher)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_logs_in_with_an_extension() {
    let (_relay, usher) = service().await;
    let api = usher.api();
    let keys = Keys::generate();
    let mut browser = Browser::start().await;
    browser.install_extension(&keys.secret_key().to_secret_hex()).await;
    browser.be_a_phone().await;
    let login = start(&api, json!({})).await;
    browser.open(&login.page_url).await;
    browser.until(&has(EXTENSION_BUTTON)).await;
    shows(&mut browser, &["Log in to Bar Seven"]).await;
    is_for_everybody(&mut browser).await;
    browser.click(EXTENSION_BUTTON).await;
    browser.until(&state_is("approved")).await;
    is_for_everybody(&mut browser).await;
    let event = api.finished(&login.stream).await.pop().unwrap();
    assert_eq!((event.status(), event.main_key()), ("approved", keys.public_key().to_hex().as_str()));
    assert_eq!(event.data["method"], "extension");
    assert!(browser.complaints().is_empty(), "{:?}", browser.complaints());
    let elsewhere: Vec<_> = browser.requested().into_iter().filter(|url| !url.starts_with(&api.base)).collect();
    assert!(elsewhere.iter().all(|url| url.starts_with("data:") || *url == "about:blank"), "{elsewhere:?}");
    let mut cookies = browser.cookies().await;
    cookies.sort();
    assert_eq!(cookies, ["usher_last_method".to_owned(), format!("usher_login_{}", login.stream)]);
    let secret = login.page_url.rsplit('/').next().unwrap();
    assert!(!usher.log().contains(secret), "the secret stays out of the log");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_logs_in_with_a_wallet_and_returns_to_the_app() {
    let (_relay, mut usher) = service().await;
    let api = usher.api();
    let login = start(&api, json!({ "return_url": "http://127.0.0.1:9/app/done" })).await;
    let mut browser = Browser::start().await;
    browser.prefer_dark().await;
    browser.open(&login.page_url).await;
    browser.until(&state_is("waiting")).await;
    is_for_everybody(&mut browser).await;
    assert_eq!(browser.evaluate("document.querySelector('a.button').href").await, json!(login.url));
    let wallet = wallet_for(Policy::silent()).await;
    wallet.open(&login.url.parse().unwrap(), LONG).await.unwrap();
    let request = wallet.next_request(LONG).await.expect("the challenge comes by itself");
    browser.until(&state_is("asking")).await;
    wallet.approve(&request).unwrap();
    let returned = format!("http://127.0.0.1:9/app/done?stream_id={}&code=", login.stream);
    let returned = browser.until_requested(&returned).await;
    let code = returned.rsplit('=').next().unwrap().to_owned();
    let (said, done) = api.events(&login.stream).await;
    assert_eq!((said[1].data.clone(), done), (json!({ "status": "user_approved", "method": "wallet" }), false));

    // Also after the service was killed, before the redemption and after it.
    usher.restart().await;
    let path = format!("/login/{}/redeem", login.stream);
    assert_eq!(refusal(api.post(&path, &json!({ "code": "x" })).await).1["code"], "login_code_invalid");
    let (redeemed, _) = api.post_once(&path, &login.stream, &json!({ "code": code })).await.unwrap();
    assert_eq!(redeemed, json!({ "main_key": wallet.main_key().to_hex(), "method": "wallet" }));
    usher.restart().await;
    let again = api.post_once(&path, &login.stream, &json!({ "code": code })).await.unwrap();
    assert_eq!(again, (redeemed, true));
    assert_eq!(refusal(api.post(&path, &json!({ "code": code })).await).1["code"], "login_code_redeemed");
    assert!(!usher.log().contains(&code), "the code stays out of the log");
    let event = api.finished(&login.stream).await.pop().unwrap();
    assert_eq!((event.status(), &event.data["method"]), ("approved", &json!("wallet")));
    let referrers: Vec<_> = browser.requests().filter(|request| request["url"] == returned.as_str()).collect();
    assert!(referrers.iter().all(|request| request["headers"]["Referer"].is_null()), "{referrers:?}");
}
