//! `POST /login` with a static token: several users at one page.

use serde_json::json;
use usher_protocol::Keys;
use usher_sandbox::wallet::{Policy, Wallet};
use usher_testing::Browser;

use super::on_the_page::{service, start};
use crate::harness::{EXTENSION_BUTTON, Event, LONG, has, is_for_everybody, state_is, text, wallet_for};

/// The events of one user, each in one word.
fn of_user(events: &[Event], wallet: &Wallet) -> Vec<String> {
    let main_key = wallet.main_key().to_hex();
    let of_user = events.iter().filter(|event| event.data["main_key"] == main_key);
    of_user.map(|event| if event.kind == "KeyHandshake" { "named" } else { event.status() }.to_owned()).collect()
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
    let (first, second) = (text(&mut extension, "location.href").await, text(&mut scanned, "location.href").await);
    assert!(first != second && first != reusable.page_url && second != reusable.page_url);
    assert!(api.events(&reusable.stream).await.0.is_empty());

    // The one's page is not for the other.
    let mut thief = Browser::start().await;
    thief.open(&first).await;
    thief.until("document.body?.innerText.includes('This login was opened elsewhere')").await;

    // A wallet in the second, across a kill.
    let url = text(&mut scanned, "document.querySelector('a.button').href").await;
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
    extension.until(&has(EXTENSION_BUTTON)).await;
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
