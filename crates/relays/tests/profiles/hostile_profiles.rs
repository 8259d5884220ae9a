//! Looking up hostile profiles.

use std::time::Duration;

use nostr::{JsonUtil as _, Timestamp};
use serde_json::json;
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_protocol::Keys;
use usher_sandbox::relay::EmbeddedRelay;

use crate::fixture::{Plan, World, event, named, now, relay_list, store};
use crate::scripted_relay::{Liar, delivery, end};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forged_foreign_and_future_profiles_are_refused() {
    let (user, evil) = (Keys::generate(), Keys::generate());
    let good = EmbeddedRelay::start().await.unwrap();
    store(good.url(), &[&named(&user, "jane", 1000)]).await;
    let mut renamed = named(&user, "jane", 0);
    renamed.content = json!({"name": "evil"}).to_string();
    let mut signed_by_another = named(&user, "evil", 0);
    signed_by_another.sig = named(&evil, "evil", 0).sig;
    let mut taken = named(&evil, "evil", 0);
    taken.pubkey = user.public_key();
    let mut redated = named(&user, "jane", 500);
    redated.created_at = Timestamp::from_secs(now().secs());
    for forged in [renamed, signed_by_another, taken, redated, named(&evil, "evil", 0)] {
        let liar = Liar::with(vec![forged]).await;
        let world = World::at(&[good.url(), &liar.url]).await;
        assert_eq!(world.name(&user.public_key()).await, "jane");
        assert_eq!(liar.asked(), 1);
        world.stop().await;
    }
    // Genuine, but dated an hour from now: it would hide all others.
    let future = event_from_the_future(&user);
    let liar = Liar::with(vec![future]).await;
    let world = World::at(&[good.url(), &liar.url]).await;
    assert_eq!(world.name(&user.public_key()).await, "jane");
    world.stop().await;
}

fn event_from_the_future(user: &Keys) -> nostr::Event {
    nostr::EventBuilder::new(nostr::Kind::Metadata, json!({"name": "future"}).to_string())
        .custom_created_at(Timestamp::from_secs(now().secs() + 3600))
        .sign_with_keys(user)
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn harmful_fields_are_left_out() {
    let user = Keys::generate();
    let relay = EmbeddedRelay::start().await.unwrap();
    let world = World::at(&[relay.url()]).await;
    let content = json!({
        "name": "ja\u{202e}ne\u{0}", "display_name": "a\nlevel=error \u{1b}[31m", "picture": "javascript:alert(1)",
        "about": {"html": "<script>"}, "nip05": ["_@evil.example"],
    });
    store(relay.url(), &[&event(&user, 0, &content.to_string(), &[], 10)]).await;
    let profile = world.profile(&user.public_key()).await.unwrap().unwrap();
    assert_eq!(profile.name.as_deref(), Some("jane"));
    assert_eq!(profile.display_name.as_deref(), Some("a level=error [31m"));
    assert_eq!((profile.picture, profile.about, profile.nip05), (None, None, None));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_profiles_do_not_hide_valid_ones() {
    let user = Keys::generate();
    let good = EmbeddedRelay::start().await.unwrap();
    store(good.url(), &[&named(&user, "jane", 1000)]).await;
    let large = event(&user, 0, &json!({"name": "large", "x": "y".repeat(65 * 1024)}).to_string(), &[], 10);
    let larger = event(&user, 0, &json!({"name": "larger", "x": "y".repeat(300 * 1024)}).to_string(), &[], 9);
    let none = event(&user, 0, "not JSON", &[], 5);
    let liar = Liar::with(vec![large.clone(), larger, none]).await;
    let world = World::at(&[good.url(), &liar.url]).await;
    assert_eq!(world.name(&user.public_key()).await, "jane");

    // The same over a one-shot query.
    let other = Keys::generate();
    let theirs = Liar::with(vec![large]).await;
    world.tell(&other.public_key(), &[&theirs.url]);
    assert_eq!(world.profile(&other.public_key()).await, Ok(None));
    assert_eq!(theirs.asked(), 1);
    world.stop().await;
}

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
