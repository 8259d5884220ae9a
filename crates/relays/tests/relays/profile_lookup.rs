//! Looking up profiles: where they are found, and what a look-up costs.

use std::time::{Duration, Instant};

use usher_engine::ports::LookUpError;
use usher_protocol::Keys;
use usher_sandbox::relay::EmbeddedRelay;
use usher_testing::relay::Quirks;

use crate::fixture::{DEADLINE, Plan, Service, quirky, relay};
use crate::wallet::{named, relay_list, store};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_newest_profile_of_all_relays_is_found() {
    let (ours, other) = (EmbeddedRelay::start().await.unwrap(), relay().await);
    let (told, listed) = (EmbeddedRelay::start().await.unwrap(), EmbeddedRelay::start().await.unwrap());
    let service = Service::at(&[ours.url(), other.url()]).await;

    let user = Keys::generate();
    store(ours.url(), &[&named(&user, "oldest", 400)]).await;
    store(other.url(), &[&named(&user, "old", 300), &relay_list(&user, &["wss://nowhere.invalid"], 500)]).await;
    store(told.url(), &[&named(&user, "newer", 200), &relay_list(&user, &[listed.url()], 100)]).await;
    service.tell(&user.public_key(), &[told.url()]);
    assert_eq!(service.name(&user.public_key()).await, "newer");

    let user = Keys::generate();
    let newest = named(&user, "newest", 50);
    store(ours.url(), &[&named(&user, "oldest", 400)]).await;
    store(told.url(), &[&named(&user, "newer", 200), &relay_list(&user, &[listed.url()], 100)]).await;
    store(listed.url(), &[&newest]).await;
    service.tell(&user.public_key(), &[told.url()]);
    let profile = service.profile(&user.public_key()).await.unwrap().unwrap();
    assert_eq!((profile.id, profile.pubkey, profile.name.as_deref()), (newest.id, user.public_key(), Some("newest")));
    assert_eq!((profile.display_name, profile.picture, profile.about, profile.nip05), (None, None, None, None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_up_leaves_no_subscription_and_no_connection_behind() {
    let (ours, theirs, user) = (relay().await, relay().await, Keys::generate());
    let service = Service::at(&[ours.url()]).await;
    store(theirs.url(), &[&named(&user, "jane", 10)]).await;
    service.tell(&user.public_key(), &[theirs.url(), ours.url()]);
    assert_eq!(service.name(&user.public_key()).await, "jane");
    ours.wait_for(DEADLINE, |metrics| metrics.open_subscriptions == 1 && metrics.closes == 1).await.unwrap();
    assert_eq!((ours.metrics().connections, ours.metrics().reqs), (1, 2), "over the connection that is there");
    theirs.wait_for(DEADLINE, |metrics| metrics.open_connections == 0).await.unwrap();
    assert_eq!(theirs.metrics().connections, 2, "the store's and one visit");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn found_results_are_cached_longer_than_empty_ones() {
    let ours = relay().await;
    let mut plan = Plan::new(&[ours.url()]);
    let clock = plan.stop_the_clock();
    let service = plan.serve().await;
    let (jane, nobody) = (Keys::generate(), Keys::generate());
    store(ours.url(), &[&named(&jane, "jane", 100)]).await;
    assert_eq!(service.name(&jane.public_key()).await, "jane");
    assert_eq!(service.profile(&nobody.public_key()).await, Ok(None));
    store(ours.url(), &[&named(&jane, "janet", 50), &named(&nobody, "somebody", 50)]).await;
    let reqs = ours.metrics().reqs;
    assert_eq!(service.name(&jane.public_key()).await, "jane");
    assert_eq!(service.profile(&nobody.public_key()).await, Ok(None));
    assert_eq!(ours.metrics().reqs, reqs, "no relay was asked");
    clock.turn(Duration::from_secs(61));
    assert_eq!(service.name(&nobody.public_key()).await, "somebody");
    assert_eq!(service.name(&jane.public_key()).await, "jane");
    clock.turn(Duration::from_secs(600));
    assert_eq!(service.name(&jane.public_key()).await, "janet");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_relays_look_ups_fail_and_are_not_cached() {
    let user = Keys::generate();
    assert_eq!(Service::at(&[]).await.profile(&user.public_key()).await, Err(LookUpError::NoRelay));

    let ours = EmbeddedRelay::start().await.unwrap();
    let (port, url) = (ours.port(), ours.url().to_owned());
    ours.stop().await;
    drop(ours);
    let service = Plan::new(&[&url]).start().await;
    assert_eq!(service.profile(&user.public_key()).await, Err(LookUpError::NoRelay));
    let ours = EmbeddedRelay::start_on(port).await.unwrap();
    store(ours.url(), &[&named(&user, "jane", 10)]).await;
    service.subscribed_at(&url).await;
    assert_eq!(service.name(&user.public_key()).await, "jane");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_and_dead_relays_delay_look_ups_only_briefly() {
    let good = EmbeddedRelay::start().await.unwrap();
    let mute = quirky(Quirks { mute: true, ..Quirks::default() }).await;
    let hanging = quirky(Quirks { accept_tcp_only: true, ..Quirks::default() }).await;
    let deaf = quirky(Quirks { stop_reading: true, ..Quirks::default() }).await;
    let user = Keys::generate();
    store(good.url(), &[&named(&user, "jane", 10)]).await;
    let mut plan = Plan::new(&[good.url(), mute.url(), deaf.url()]);
    plan.directory.relays_within = Duration::from_secs(120);
    plan.directory.settle = Duration::from_millis(200);
    let service = plan.start().await;
    service.subscribed_at(good.url()).await;
    service.tell(&user.public_key(), &[good.url(), mute.url(), hanging.url(), "ws://127.0.0.1:9"]);
    let start = Instant::now();
    assert_eq!(service.name(&user.public_key()).await, "jane");
    assert!(
        start.elapsed() < Duration::from_secs(60),
        "a relay of the user's has answered: the rest is not waited for"
    );

    // No relay that the user named responds: waited for, up to the limit.
    let mut plan = Plan::new(&[good.url()]);
    plan.directory.relays_within = Duration::from_secs(8);
    let service = plan.serve().await;
    service.tell(&user.public_key(), &[hanging.url()]);
    let start = Instant::now();
    assert_eq!(service.name(&user.public_key()).await, "jane");
    assert!(start.elapsed() >= Duration::from_millis(7900));
}
