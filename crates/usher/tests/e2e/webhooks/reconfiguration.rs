//! The service is restarted with another webhook, or none.

use serde_json::json;

use super::webhook_receiver::{App, Reply};
use super::{assert_complete, event, scans, service};
use crate::harness::LONG;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_in_the_middle_of_a_post_loses_nothing() {
    // The first post of everything hangs.
    let app = App::start(|_, before| if before == 0 { Reply::Hang } else { Reply::Ok }).await;
    let (relay, mut usher) = service(&app.url(), |builder| builder).await;
    let api = usher.api();
    let reusable = api.handshake(json!({"static_token": "door"})).await;
    scans(&api, &relay, &reusable, 1).await;
    let other = event(&api, &relay).await;
    app.until("posts that hang", |app| app.posts().len() == 2).await;
    assert_eq!(usher.stop().await.code(), Some(0), "it does not wait for the app");
    usher.restart().await;
    app.takes(&reusable.stream, 1).await;
    app.takes(&other, 1).await;
    assert_complete(&api, &app, &[reusable.stream, other]).await;
    // What was taken is not posted again, once that is on disk.
    api.until_metric("usher_webhook_deliveries{status=\"pending\"}", 0).await;
    let posts = app.posts().len();
    usher.restart().await;
    relay.wait_for(LONG, |metrics| metrics.reqs >= 3).await.expect("the service subscribes");
    let later = event(&api, &relay).await;
    // Its first post hangs as well.
    app.until("a post of what came later", |app| !app.posts_of(&later).is_empty()).await;
    assert_eq!(app.posts().len(), posts + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_is_told_what_happens_from_when_it_is_configured() {
    let (first, second) = (App::start(|_, _| Reply::Ok).await, App::start(|_, _| Reply::Ok).await);
    let (relay, mut usher) = service(&first.url(), |builder| builder).await;
    let api = usher.api();
    usher.unset("WEBHOOK__URL");
    usher.restart().await;
    relay.wait_for(LONG, |metrics| metrics.reqs >= 2).await.expect("the service subscribes");

    // No webhook is configured now.
    let reusable = api.handshake(json!({"static_token": "door"})).await;
    scans(&api, &relay, &reusable, 2).await;

    usher.set("WEBHOOK__URL", second.url());
    usher.restart().await;
    relay.wait_for(LONG, |metrics| metrics.reqs >= 3).await.expect("the service subscribes");
    scans(&api, &relay, &reusable, 2).await;
    second.until("both events", |app| app.accepted(&reusable.stream).len() == 2).await;
    let indexes: Vec<_> = second.posts_of(&reusable.stream).iter().map(super::webhook_receiver::Post::index).collect();
    assert_eq!(indexes, [2, 3], "from now on, in order");
    assert!(first.posts().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_for_one_webhook_goes_to_the_one_that_follows_it() {
    let broken = App::start(|_, _| Reply::Status(503, "")).await;
    let (relay, mut usher) = service(&broken.url(), |builder| builder).await;
    let api = usher.api();
    let stream = event(&api, &relay).await;
    broken.until("a post", |app| !app.posts().is_empty()).await;
    let sound = App::start(|_, _| Reply::Ok).await;
    usher.set("WEBHOOK__URL", sound.url());
    usher.restart().await;
    sound.takes(&stream, 1).await;
    assert_complete(&api, &sound, &[stream]).await;
}
