//! Relays added and removed while the service runs.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use tokio::time::timeout;
use usher_engine::ports::{
    Messenger as _, OutgoingMessage, RelayChangeError, RelayLinkState, RelayOrigin, RelayRegistry as _,
};
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_protocol::kind;
use usher_protocol::message::WalletMessage;
use usher_relays::MAX_RELAYS;

use crate::fixture::{DEADLINE, Plan, Wallet, World, now};

fn ask(world: &World, wallet: &Wallet, challenge: &str) {
    let ids = world.pool.send(&OutgoingMessage {
        kind: kind::AUTH_CHALLENGE,
        content: json!({"challenge": challenge}).to_string(),
        recipients: vec![wallet.key()],
        participants: vec![wallet.key()],
        relays: Vec::new(),
        until: now().plus(Duration::from_secs(60)),
        made_at: now(),
        signer: None,
    });
    assert_eq!(ids.len(), 1);
}

async fn answered(world: &mut World) -> String {
    let message = timeout(DEADLINE, world.inbox.recv()).await.expect("an answer").expect("the pool lives").message;
    match message {
        WalletMessage::AuthResponse(answer) => answer.challenge,
        other => panic!("not an answer: {other:?}"),
    }
}

async fn relay() -> QuirkyRelay {
    QuirkyRelay::start(Quirks::default()).await.unwrap()
}

fn urls(world: &World) -> Vec<String> {
    world.manager.relays().into_iter().map(|info| info.url).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_challenge_is_sent_to_an_added_relay() {
    let (first, second) = (relay().await, relay().await);
    let mut world = World::at(&[first.url()]).await;
    let wallet = Wallet::connect(&[second.url()]).await;
    ask(&world, &wallet, "open");
    first.wait_for(DEADLINE, |metrics| metrics.events_of(27_000) == 1).await.unwrap();
    let info = world.manager.add(second.url(), false).await.unwrap();
    assert_eq!((info.origin, info.state, info.subscribed), (RelayOrigin::Added, RelayLinkState::Connected, true));
    assert_eq!(answered(&mut world).await, "open", "without being sent by the engine again");
    assert_eq!(world.pool.relays(), [first.url(), second.url()], "new handshake URLs name it");
    assert_eq!(first.metrics().events_of(27_000), 1);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_survive_a_restart() {
    let (first, second, third) = (relay().await, relay().await, relay().await);
    let plan = Plan::new(&[first.url(), second.url()]);
    let world = plan.start().await;
    world.manager.add(third.url(), false).await.unwrap();
    world.manager.remove(first.url()).await.unwrap();
    assert_eq!(urls(&world), [second.url(), third.url()]);
    world.stop().await;

    let world = plan.start().await;
    assert_eq!(urls(&world), [second.url(), third.url()]);
    let origins: Vec<_> = world.manager.relays().iter().map(|info| info.origin).collect();
    assert_eq!(origins, [RelayOrigin::Configured, RelayOrigin::Added]);
    world.subscribed_at(third.url()).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_and_invalid_changes_are_handled() {
    let first = relay().await;
    let world = World::at(&[first.url()]).await;
    let written_otherwise = format!(" {}/#x", first.url().to_uppercase());
    let info = world.manager.add(&written_otherwise, false).await.unwrap();
    assert_eq!((info.url.as_str(), info.origin), (first.url(), RelayOrigin::Configured));
    assert_eq!(first.metrics().connections, 1);
    let added = join_all((0..10).map(|_| world.manager.add("ws://127.0.0.1:9", false))).await;
    for info in added {
        let info = info.unwrap();
        assert_eq!((info.origin, info.state), (RelayOrigin::Added, RelayLinkState::Disconnected));
        assert!(info.reason.is_some() && info.since.is_some());
    }
    assert_eq!(urls(&world).len(), 2);
    for bad in ["", "relay.example", "https://relay.example", "wss://u:p@relay.example", "wss://r.exa\nmple"] {
        assert!(matches!(world.manager.add(bad, false).await, Err(RelayChangeError::Invalid(_))), "{bad}");
        assert!(matches!(world.manager.remove(bad).await, Err(RelayChangeError::Invalid(_))), "{bad}");
    }
    assert!(matches!(world.manager.remove("wss://other.example").await, Err(RelayChangeError::NotFound)));
    world.manager.remove("ws://127.0.0.1:9").await.unwrap();
    assert!(matches!(world.manager.remove("ws://127.0.0.1:9").await, Err(RelayChangeError::NotFound)));
    world.manager.remove(first.url()).await.unwrap();
    assert!(urls(&world).is_empty(), "the last may go, too");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_number_of_relays_is_limited() {
    let world = World::at(&[]).await;
    let added = join_all(
        (0..MAX_RELAYS + 3).map(async |n| world.manager.add(&format!("ws://127.0.0.1:{}", n + 1), false).await),
    );
    let refused =
        added.await.into_iter().filter(|added| matches!(added, Err(RelayChangeError::TooMany { .. }))).count();
    assert_eq!((refused, urls(&world).len()), (3, MAX_RELAYS));
    let there = world.manager.relays()[0].url.clone();
    world.manager.add(&there, false).await.expect("it is there");
    world.manager.remove(&there).await.unwrap();
    world.manager.add("ws://127.0.0.1:99", false).await.expect("there is room again");
    world.stop().await;
}

/// A leaked key scans no ports: neither by an address, nor by a name that leads to one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn public_only_relays_are_not_on_the_internal_network() {
    let second = relay().await;
    let mut plan = Plan::new(&[]);
    plan.relays.allow_private = false;
    let world = plan.start().await;
    for private in [second.url(), "ws://10.1.2.3", "ws://[::ffff:127.0.0.1]:8080", "wss://relay.example:22"] {
        assert!(matches!(world.manager.add(private, true).await, Err(RelayChangeError::Invalid(_))), "{private}");
    }
    let by_name = second.url().replace("127.0.0.1", "localhost");
    let info = world.manager.add(&by_name, true).await.unwrap();
    assert_eq!((info.state, second.metrics().connections), (RelayLinkState::Disconnected, 0));
    // The operator may.
    let info = world.manager.add(&by_name, false).await.unwrap();
    assert_eq!(info.state, RelayLinkState::Connected);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn change_that_cannot_be_stored_has_no_effect() {
    let (first, second) = (relay().await, relay().await);
    let plan = Plan::new(&[first.url()]);
    let world = plan.start().await;
    world.subscribed_at(first.url()).await;
    plan.settings.fail(&["setting", "set_setting"], usize::MAX);
    assert!(matches!(world.manager.add(second.url(), false).await, Err(RelayChangeError::Store(_))));
    assert!(matches!(world.manager.remove(first.url()).await, Err(RelayChangeError::Store(_))));
    assert_eq!(urls(&world), [first.url()]);
    assert_eq!(second.metrics().connections, 0);
    plan.settings.work();
    world.manager.add(second.url(), false).await.unwrap();
    assert_eq!(urls(&world), [first.url(), second.url()]);
    world.stop().await;
}
