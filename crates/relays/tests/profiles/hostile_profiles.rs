//! Looking up hostile profiles.

use std::time::Duration;

use nostr::JsonUtil as _;
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_protocol::Keys;
use usher_sandbox::relay::EmbeddedRelay;

use crate::fixture::{Plan, World, named, relay_list, store};
use crate::scripted_relay::{Liar, delivery, end};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_or_unrelated_responses_end_the_query() {
    let user = Keys::generate();
    let good = EmbeddedRelay::start().await.unwrap();
    store(good.url(), &[&named(&user, "jane", 10)]).await;
    let flood = named(&user, "jane", 10).as_json();
    let floods = Liar::start(move |id| vec![delivery(id, &flood); 5000]).await;
    let silent = Liar::start(|_| Vec::new()).await;
    let chatter = Liar::start(|_| vec!["[\"NOTICE\",\"hello\"]".to_owned(); 1000]).await;
    let nonsense = Liar::start(|id| vec!["{".to_owned(), "[]".to_owned(), "[\"EVENT\"]".to_owned(), end(id)]).await;
    let mut plan = Plan::new(&[good.url()]);
    plan.directory.relays_within = Duration::from_secs(3);
    let world = plan.start().await;
    world.subscribed_at(good.url()).await;
    world.tell(&user.public_key(), &[&floods.url, &silent.url, &chatter.url, &nonsense.url]);
    assert_eq!(world.name(&user.public_key()).await, "jane");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_query_does_not_disconnect_the_service_relay() {
    let user = Keys::generate();
    let flood = named(&user, "jane", 10).as_json();
    let ours = Liar::start(move |id| if id == "usher" { vec![end(id)] } else { vec![delivery(id, &flood); 500] }).await;
    let world = World::at(&[&ours.url]).await;
    assert_eq!(world.name(&user.public_key()).await, "jane");
    assert_eq!(world.pool.metrics().disconnects, 0);
    assert!(world.pool.status()[0].state.is_connected());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_addresses_are_never_contacted() {
    let inside = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let ours = EmbeddedRelay::start().await.unwrap();
    let mut plan = Plan::new(&[ours.url()]);
    plan.relays.allow_private = false;
    let world = plan.start().await;
    world.subscribed_at(ours.url()).await;
    let user = Keys::generate();
    let by_name = format!("ws://localhost:{}", inside.port());
    let mapped = format!("ws://[::ffff:127.0.0.1]:{}", inside.port());
    store(ours.url(), &[&named(&user, "jane", 10), &relay_list(&user, &[inside.url(), &by_name, &mapped], 10)]).await;
    world.tell(&user.public_key(), &[inside.url(), &by_name, "ws://10.0.0.1", "file:///etc/passwd", "x"]);
    assert_eq!(world.name(&user.public_key()).await, "jane");
    assert_eq!(inside.metrics().connections, 0);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn number_of_relays_queried_per_list_is_limited() {
    let mut relays = Vec::new();
    for _ in 0..12 {
        relays.push(QuirkyRelay::start(Quirks::default()).await.unwrap());
    }
    let urls: Vec<_> = relays.iter().map(QuirkyRelay::url).collect();
    let ours = EmbeddedRelay::start().await.unwrap();
    let world = World::at(&[ours.url()]).await;
    let user = Keys::generate();
    store(ours.url(), &[&relay_list(&user, &urls, 10)]).await;
    assert_eq!(world.profile(&user.public_key()).await, Ok(None));
    let visited: u64 = relays.iter().map(|relay| relay.metrics().connections).sum();
    assert_eq!(visited, 4);
    world.stop().await;
}
