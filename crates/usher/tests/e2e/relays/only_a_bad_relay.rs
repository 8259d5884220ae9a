//! A faulty relay and no other: if it forwards anything at all, users are logged in eventually.

use std::time::Duration;

use usher_faults::proxy::BreakableProxy;
use usher_faults::relay::{LieOk, Quirks, QuirkyRelay};

use crate::harness::{LONG, TestUsher, User, run_logins};

const USERS: usize = 5;

async fn logins_over(quirks: Quirks, user: User) -> (QuirkyRelay, TestUsher) {
    let relay = QuirkyRelay::start(quirks).await.unwrap();
    let usher = TestUsher::builder().relays(&[relay.url()]).start().await;
    relay.wait_for(LONG, |metrics| metrics.reqs >= 1).await.expect("the service subscribes");
    run_logins(&usher.api(), USERS, user).await;
    (relay, usher)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_ok_for_ephemeral_events() {
    logins_over(Quirks { no_ok_for_ephemeral: true, ..Quirks::default() }, User::Once).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_subscription() {
    logins_over(Quirks { max_subscriptions: 1, ..Quirks::default() }, User::Once).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn authentication() {
    logins_over(Quirks { require_auth: true, ..Quirks::default() }, User::Stubborn).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rate_limit() {
    let (relay, _usher) = logins_over(Quirks { rate_limit: Some(2), ..Quirks::default() }, User::Stubborn).await;
    assert!(relay.metrics().events_refused > 0, "it had reason to");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_twice_and_late() {
    let quirks = Quirks { duplicate_and_delay: Some(Duration::from_millis(700)), ..Quirks::default() };
    logins_over(quirks, User::Once).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_dropped_every_second() {
    let quirks = Quirks { drop_every: Some(Duration::from_secs(1)), ..Quirks::default() };
    logins_over(quirks, User::Stubborn).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscriptions_closed_every_second_for_a_while() {
    let quirks = Quirks { close_subscriptions_after: Some(Duration::from_secs(1)), ..Quirks::default() };
    let relay = QuirkyRelay::start(quirks).await.unwrap();
    let usher = TestUsher::builder().relays(&[relay.url()]).start().await;
    relay.wait_for(LONG, |metrics| metrics.reqs >= 1).await.expect("the service subscribes");
    let api = usher.api();
    let mut logins = std::pin::pin!(run_logins(&api, USERS, User::Stubborn));
    // Service and wallets wait longer before each further subscription: while it lasts they may miss each other.
    if tokio::time::timeout(Duration::from_secs(4), &mut logins).await.is_err() {
        relay.set(|quirks| quirks.close_subscriptions_after = None);
        logins.await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_says_no_and_forwards() {
    logins_over(Quirks { lie_ok: Some(LieOk::RefuseAndForward), ..Quirks::default() }, User::Once).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_comes_back_after_a_while() {
    let port = usher_loopback_port::free().unwrap();
    let relay = QuirkyRelay::start_on(port, Quirks::default()).await.unwrap();
    let usher = TestUsher::builder().relays(&[relay.url()]).start().await;
    relay.wait_for(LONG, |metrics| metrics.reqs >= 1).await.expect("the service subscribes");
    relay.stop().await;
    let handshake = usher.api().handshake(serde_json::json!({})).await;
    assert!(!handshake.stream.is_empty(), "start calls need no relay");
    let relay = QuirkyRelay::start_on(port, Quirks::default()).await.unwrap();
    relay.wait_for(LONG, |metrics| metrics.reqs >= 1).await.expect("the service subscribes again");
    run_logins(&usher.api(), USERS, User::Once).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_that_breaks_and_swallows() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let line = BreakableProxy::start(format!("127.0.0.1:{}", relay.port())).await.unwrap();
    line.delay(Duration::from_millis(50));
    let usher = TestUsher::builder().relays(&[&line.ws_url()]).start().await;
    relay.wait_for(LONG, |metrics| metrics.reqs >= 1).await.expect("the service subscribes");
    let api = usher.api();
    let trouble = async {
        for _ in 0..2 {
            tokio::time::sleep(Duration::from_millis(400)).await;
            line.cut();
            tokio::time::sleep(Duration::from_millis(400)).await;
            line.restore();
            tokio::time::sleep(Duration::from_millis(400)).await;
            // Half-open: nobody notices, and everything is lost.
            line.swallow();
            tokio::time::sleep(Duration::from_secs(3)).await;
            line.restore();
        }
    };
    tokio::join!(trouble, run_logins(&api, USERS, User::Stubborn));
    run_logins(&api, USERS, User::Stubborn).await;
}
