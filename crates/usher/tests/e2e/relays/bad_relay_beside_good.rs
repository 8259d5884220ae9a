//! A good relay beside a faulty one: every user is logged in at the first attempt.

use std::time::Duration;

use usher_faults::relay::{LieOk, Quirks, QuirkyRelay};

use crate::harness::{LONG, TestUsher, User, run_logins};

const USERS: usize = 20;

/// Logs users in over a good relay and one that has these quirks; answers both, and the service while it still runs.
async fn logins_beside(quirks: Quirks) -> (QuirkyRelay, QuirkyRelay, TestUsher) {
    let good = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let bad = QuirkyRelay::start(quirks).await.unwrap();
    // The bad one comes first: where anything is tried in turn, it is in the way.
    let usher = TestUsher::builder().relays(&[bad.url(), good.url()]).start().await;
    good.wait_for(LONG, |metrics| metrics.reqs >= 1).await.expect("the service subscribes");
    run_logins(&usher.api(), USERS, User::Once).await;
    (good, bad, usher)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_sends_no_ok_for_ephemeral_events() {
    logins_beside(Quirks { no_ok_for_ephemeral: true, ..Quirks::default() }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_allows_one_subscription() {
    let (_, bad, _usher) = logins_beside(Quirks { max_subscriptions: 1, ..Quirks::default() }).await;
    assert_eq!(bad.metrics().most_subscriptions, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_refuses_every_event() {
    let (_, bad, _usher) = logins_beside(Quirks { refuse_events: true, ..Quirks::default() }).await;
    let metrics = bad.metrics();
    assert!(metrics.events_refused >= USERS as u64, "it was asked: {metrics:?}");
    assert!(
        metrics.events_of(usher_protocol::kind::AUTH_CHALLENGE) < 4 * USERS as u64,
        "it is not pestered: {metrics:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_accepts_connections_and_never_answers() {
    let (_, bad, _usher) = logins_beside(Quirks { accept_tcp_only: true, ..Quirks::default() }).await;
    let metrics = bad.metrics();
    assert!(metrics.connections > 0 && metrics.handshakes == 0, "{metrics:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_is_mute() {
    logins_beside(Quirks { mute: true, ..Quirks::default() }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_stops_reading() {
    logins_beside(Quirks { stop_reading: true, ..Quirks::default() }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_limits_the_rate() {
    let (_, bad, _usher) = logins_beside(Quirks { rate_limit: Some(2), ..Quirks::default() }).await;
    assert!(bad.metrics().events_refused > 0, "it had reason to");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_demands_authentication() {
    let (_, bad, _usher) = logins_beside(Quirks { require_auth: true, ..Quirks::default() }).await;
    bad.wait_for(LONG, |metrics| metrics.auths_valid > 0).await.expect("the service says who it is");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_drops_the_connection_every_second() {
    logins_beside(Quirks { drop_every: Some(Duration::from_secs(1)), ..Quirks::default() }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_closes_subscriptions_every_second() {
    let quirks = Quirks { close_subscriptions_after: Some(Duration::from_secs(1)), ..Quirks::default() };
    logins_beside(quirks).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_delivers_everything_twice_and_late() {
    let quirks = Quirks { duplicate_and_delay: Some(Duration::from_millis(700)), ..Quirks::default() };
    logins_beside(quirks).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_sends_garbage() {
    let (_, _, usher) = logins_beside(Quirks { garbage: Some(Duration::from_millis(20)), ..Quirks::default() }).await;
    assert!(usher.memory() < 200, "{} MiB", usher.memory());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_says_ok_and_drops_the_event() {
    logins_beside(Quirks { lie_ok: Some(LieOk::AcceptAndDrop), ..Quirks::default() }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_says_no_and_forwards_the_event() {
    logins_beside(Quirks { lie_ok: Some(LieOk::RefuseAndForward), ..Quirks::default() }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_is_far_away() {
    logins_beside(Quirks { latency: Duration::from_secs(2), ..Quirks::default() }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_is_not_there() {
    let good = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let gone = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let url = gone.url().to_owned();
    gone.stop().await;
    let usher = TestUsher::builder().relays(&[&url, good.url(), "wss://relay.invalid"]).start().await;
    good.wait_for(LONG, |metrics| metrics.reqs >= 1).await.expect("the service subscribes");
    run_logins(&usher.api(), USERS, User::Once).await;
}
