//! `POST /login` with a static token: many users at one URL and at one page.

use serde_json::json;
use usher_protocol::Keys;
use usher_sandbox::wallet::{Policy, Wallet};
use usher_testing::Browser;

use super::on_the_page::{service, start};
use crate::harness::{EXTENSION_BUTTON, Event, LONG, caught_up, has, is_for_everybody, state_is, text, wallet_for};

/// The events of one user, each in one word.
fn of_user(events: &[Event], wallet: &Wallet) -> Vec<String> {
    let main_key = wallet.main_key().to_hex();
    let of_user = events.iter().filter(|event| event.data["main_key"] == main_key);
    of_user.map(|event| if event.kind == "KeyHandshake" { "named" } else { event.status() }.to_owned()).collect()
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
        wallet.open(&reusable.url.parse().unwrap(), LONG).await.unwrap();
        requests.push(wallet.next_request(LONG).await.expect("the challenge comes by itself"));
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

    // No event is repeated, and further users can log in.
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
