//! `POST /login` with a static token: many users at one URL.

use serde_json::json;
use usher_sandbox::wallet::{Policy, Wallet};

use super::on_the_page::{service, start};
use crate::harness::{Event, LONG, caught_up, wallet_for};

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
