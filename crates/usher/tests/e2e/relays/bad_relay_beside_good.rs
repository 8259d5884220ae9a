//! A good relay beside a faulty one: every user is logged in at the first attempt.

use std::time::Duration;

use usher_testing::relay::{LieOk, Quirks, QuirkyRelay, RelayMetrics};

use crate::harness::{LONG, TestUsher, User, run_logins};

const USERS: usize = 20;

/// Logs users in over a good relay and one that has these quirks; what the faulty one has seen.
async fn logins_beside(quirks: Quirks) -> RelayMetrics {
    let good = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let bad = QuirkyRelay::start(quirks).await.unwrap();
    // The bad one comes first: where anything is tried in turn, it is in the way.
    let usher = TestUsher::builder().relays(&[bad.url(), good.url()]).start().await;
    good.wait_for(LONG, |metrics| metrics.reqs >= 1).await.expect("the service subscribes");
    run_logins(&usher.api(), USERS, User::Once).await;
    assert!(usher.memory() < 200, "{} MiB", usher.memory());
    bad.metrics()
}

/// A test for each fault, so that they run side by side. With what else relays do, logins go on over such a relay alone
/// (`crates/relays/tests/relays/only_a_bad_relay.rs`).
macro_rules! faults {
    ($($name:ident: { $($quirk:ident: $value:expr),* };)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                logins_beside(Quirks { $($quirk: $value,)* ..Quirks::default() }).await;
            }
        )*
    };
}

faults! {
    one_that_allows_one_subscription: { max_subscriptions: Some(1) };
    one_that_accepts_connections_and_never_answers: { accept_tcp_only: true };
    one_that_is_mute: { mute: true };
    one_that_stops_reading: { stop_reading: true };
    one_that_limits_the_rate: { rate_limit: Some(2) };
    one_that_sends_garbage: { garbage: Some(Duration::from_millis(20)) };
    one_that_says_ok_and_drops_the_event: { lie_ok: Some(LieOk::AcceptAndDrop) };
    one_that_is_far_away: { latency: Duration::from_secs(2) };
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_refuses_every_event() {
    let metrics = logins_beside(Quirks { refuse_events: true, ..Quirks::default() }).await;
    assert!(metrics.events_refused >= USERS as u64, "it was asked: {metrics:?}");
    let asked = metrics.events_of(usher_protocol::kind::AUTH_CHALLENGE);
    assert!(asked < 4 * USERS as u64, "it is not pestered: {metrics:?}");
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
