//! Looking up profiles: where they are found, and what a look-up costs.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use usher_engine::ports::LookUpError;
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_protocol::Keys;
use usher_sandbox::relay::EmbeddedRelay;

use crate::fixture::{DEADLINE, Plan, World, event, named, relay_list, store};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_newest_profile_of_all_relays_is_found() {
    let ours = EmbeddedRelay::start().await.unwrap();
    let other = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let told = EmbeddedRelay::start().await.unwrap();
    let listed = EmbeddedRelay::start().await.unwrap();
    let world = World::at(&[ours.url(), other.url()]).await;

    let user = Keys::generate();
    store(ours.url(), &[&named(&user, "oldest", 400)]).await;
    store(other.url(), &[&named(&user, "old", 300), &relay_list(&user, &["wss://nowhere.invalid"], 500)]).await;
    store(told.url(), &[&named(&user, "newer", 200), &relay_list(&user, &[listed.url()], 100)]).await;
    world.tell(&user.public_key(), &[told.url()]);
    assert_eq!(world.name(&user.public_key()).await, "newer");

    let user = Keys::generate();
    let newest = named(&user, "newest", 50);
    store(ours.url(), &[&named(&user, "oldest", 400)]).await;
    store(told.url(), &[&named(&user, "newer", 200), &relay_list(&user, &[listed.url()], 100)]).await;
    store(listed.url(), &[&newest]).await;
    world.tell(&user.public_key(), &[told.url()]);
    let profile = world.profile(&user.public_key()).await.unwrap().unwrap();
    assert_eq!((profile.id, profile.pubkey, profile.name.as_deref()), (newest.id, user.public_key(), Some("newest")));
    assert_eq!((profile.display_name, profile.picture, profile.about, profile.nip05), (None, None, None, None));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_field_is_read_and_a_missing_profile_is_none() {
    let ours = EmbeddedRelay::start().await.unwrap();
    let world = World::at(&[ours.url()]).await;
    let user = Keys::generate();
    let content = json!({
        "name": "jane", "display_name": "Jane D.", "picture": "https://pic.example/j.png", "about": "Hello",
        "lud16": "jane@pay.example",
    });
    store(ours.url(), &[&event(&user, 0, &content.to_string(), &[], 10)]).await;
    let profile = world.profile(&user.public_key()).await.unwrap().unwrap();
    let shown = [profile.name, profile.display_name, profile.picture, profile.about].map(Option::unwrap_or_default);
    assert_eq!(shown, ["jane", "Jane D.", "https://pic.example/j.png", "Hello"]);
    assert_eq!(world.profile(&Keys::generate().public_key()).await, Ok(None));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_up_leaves_no_subscription_and_no_connection_behind() {
    let ours = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let theirs = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let world = World::at(&[ours.url()]).await;
    let user = Keys::generate();
    store(theirs.url(), &[&named(&user, "jane", 10)]).await;
    world.tell(&user.public_key(), &[theirs.url(), ours.url()]);
    assert_eq!(world.name(&user.public_key()).await, "jane");
    ours.wait_for(DEADLINE, |metrics| metrics.open_subscriptions == 1 && metrics.closes == 1).await.unwrap();
    assert_eq!((ours.metrics().connections, ours.metrics().reqs), (1, 2), "over the connection that is there");
    theirs.wait_for(DEADLINE, |metrics| metrics.open_connections == 0).await.unwrap();
    assert_eq!(theirs.metrics().connections, 2, "the store's and one visit");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn found_results_are_cached_longer_than_empty_ones() {
    let ours = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let world = World::at(&[ours.url()]).await;
    let (jane, nobody) = (Keys::generate(), Keys::generate());
    store(ours.url(), &[&named(&jane, "jane", 100)]).await;
    assert_eq!(world.name(&jane.public_key()).await, "jane");
    assert_eq!(world.profile(&nobody.public_key()).await, Ok(None));
    store(ours.url(), &[&named(&jane, "janet", 50), &named(&nobody, "somebody", 50)]).await;
    let reqs = ours.metrics().reqs;
    assert_eq!(world.name(&jane.public_key()).await, "jane");
    assert_eq!(world.profile(&nobody.public_key()).await, Ok(None));
    assert_eq!(ours.metrics().reqs, reqs, "no relay was asked");
    world.clock.turn(Duration::from_secs(61));
    assert_eq!(world.name(&nobody.public_key()).await, "somebody");
    assert_eq!(world.name(&jane.public_key()).await, "jane");
    world.clock.turn(Duration::from_secs(600));
    assert_eq!(world.name(&jane.public_key()).await, "janet");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn simultaneous_look_ups_of_one_user_are_merged() {
    let slow = Quirks { latency: Duration::from_millis(300), ..Quirks::default() };
    let ours = QuirkyRelay::start(slow).await.unwrap();
    let world = World::at(&[ours.url()]).await;
    let user = Keys::generate();
    store(ours.url(), &[&named(&user, "jane", 10)]).await;
    let key = user.public_key();
    let before = ours.metrics().reqs;
    let names = join_all((0..50).map(|_| world.name(&key))).await;
    assert!(names.iter().all(|name| name == "jane"));
    assert_eq!(ours.metrics().reqs, before + 1);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_look_ups_share_a_few_subscriptions() {
    let slow = Quirks { latency: Duration::from_millis(20), max_subscriptions: 10, ..Quirks::default() };
    let ours = QuirkyRelay::start(slow).await.unwrap();
    let world = World::at(&[ours.url()]).await;
    let users: Vec<_> = (0..50).map(|_| Keys::generate()).collect();
    let events: Vec<_> = users.iter().map(|user| named(user, &user.public_key().to_hex()[..8], 10)).collect();
    store(ours.url(), &events.iter().collect::<Vec<_>>()).await;
    let names = join_all(users.iter().map(async |user| world.name(&user.public_key()).await)).await;
    for (user, name) in users.iter().zip(names) {
        assert_eq!(name, user.public_key().to_hex()[..8]);
    }
    assert!(ours.metrics().most_subscriptions <= 9, "{}", ours.metrics().most_subscriptions);
    world.subscribed_at(ours.url()).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_allows_few_subscriptions_serves_all_look_ups() {
    let strict = Quirks { latency: Duration::from_millis(20), max_subscriptions: 3, ..Quirks::default() };
    let ours = QuirkyRelay::start(strict).await.unwrap();
    let world = World::at(&[ours.url()]).await;
    let keys: Vec<_> = (0..30).map(|_| Keys::generate().public_key()).collect();
    let results = join_all(keys.iter().map(|key| world.profile(key))).await;
    assert!(results.iter().all(|result| *result == Ok(None)), "{results:?}");
    world.subscribed_at(ours.url()).await;
    assert_eq!(ours.metrics().connections, 1);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_many_look_ups_at_a_time_are_refused() {
    let ours = QuirkyRelay::start(Quirks { latency: Duration::from_millis(300), ..Quirks::default() }).await.unwrap();
    let mut plan = Plan::new(&[ours.url()]);
    plan.directory.at_once = 3;
    let world = plan.start().await;
    world.subscribed_at(ours.url()).await;
    let keys: Vec<_> = (0..10).map(|_| Keys::generate().public_key()).collect();
    let results = join_all(keys.iter().map(|key| world.profile(key))).await;
    assert_eq!(results.iter().filter(|result| **result == Ok(None)).count(), 3);
    assert_eq!(results.iter().filter(|result| **result == Err(LookUpError::Busy)).count(), 7);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_up_authenticates_when_required() {
    let ours = QuirkyRelay::start(Quirks { require_auth: true, ..Quirks::default() }).await.unwrap();
    let world = World::at(&[ours.url()]).await;
    assert_eq!(world.profile(&Keys::generate().public_key()).await, Ok(None), "it answers");

    // Queried before the relay has authenticated us.
    let late = Plan::new(&[ours.url()]).start().await;
    assert_eq!(late.profile(&Keys::generate().public_key()).await, Ok(None));
    late.stop().await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_relays_look_ups_fail_and_are_not_cached() {
    let nobody = World::at(&[]).await;
    let user = Keys::generate();
    assert_eq!(nobody.profile(&user.public_key()).await, Err(LookUpError::NoRelay));
    nobody.stop().await;

    let ours = EmbeddedRelay::start().await.unwrap();
    let port = ours.port();
    ours.stop().await;
    drop(ours);
    let url = format!("ws://127.0.0.1:{port}");
    let world = Plan::new(&[&url]).start().await;
    assert_eq!(world.profile(&user.public_key()).await, Err(LookUpError::NoRelay));
    let ours = EmbeddedRelay::start_on(port).await.unwrap();
    store(ours.url(), &[&named(&user, "jane", 10)]).await;
    world.subscribed_at(&url).await;
    assert_eq!(world.name(&user.public_key()).await, "jane");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_and_dead_relays_delay_look_ups_only_briefly() {
    let good = EmbeddedRelay::start().await.unwrap();
    let mute = QuirkyRelay::start(Quirks { mute: true, ..Quirks::default() }).await.unwrap();
    let hanging = QuirkyRelay::start(Quirks { accept_tcp_only: true, ..Quirks::default() }).await.unwrap();
    let deaf = QuirkyRelay::start(Quirks { stop_reading: true, ..Quirks::default() }).await.unwrap();
    let mut plan = Plan::new(&[good.url(), mute.url(), deaf.url()]);
    plan.directory.relays_within = Duration::from_secs(120);
    plan.directory.settle = Duration::from_millis(200);
    let world = plan.start().await;
    world.subscribed_at(good.url()).await;
    let user = Keys::generate();
    store(good.url(), &[&named(&user, "jane", 10)]).await;
    world.tell(&user.public_key(), &[good.url(), mute.url(), hanging.url(), "ws://127.0.0.1:9"]);
    let start = Instant::now();
    assert_eq!(world.name(&user.public_key()).await, "jane");
    assert!(
        start.elapsed() < Duration::from_secs(60),
        "a relay of the user's has answered: the rest is not waited for"
    );
    world.stop().await;

    // No relay that the user named responds: waited for, up to the limit.
    let mut plan = Plan::new(&[good.url()]);
    plan.directory.relays_within = Duration::from_secs(2);
    let world = plan.start().await;
    world.subscribed_at(good.url()).await;
    world.tell(&user.public_key(), &[hanging.url()]);
    let start = Instant::now();
    assert_eq!(world.name(&user.public_key()).await, "jane");
    assert!(start.elapsed() >= Duration::from_millis(1900));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abandoned_look_up_serves_the_next_caller() {
    let ours = QuirkyRelay::start(Quirks { latency: Duration::from_millis(300), ..Quirks::default() }).await.unwrap();
    let world = World::at(&[ours.url()]).await;
    let user = Keys::generate();
    store(ours.url(), &[&named(&user, "jane", 10)]).await;
    let before = ours.metrics().reqs;
    let key = user.public_key();
    let gone = tokio::time::timeout(Duration::from_millis(20), world.profile(&key)).await;
    assert!(gone.is_err());
    assert_eq!(world.name(&key).await, "jane");
    assert_eq!(ours.metrics().reqs, before + 1);
    world.stop().await;
}
