//! Relays added and removed while the service runs.

use futures_util::future::join_all;
use usher_engine::ports::{Messenger as _, RelayChangeError, RelayLinkState, RelayOrigin, RelayRegistry as _};
use usher_relays::MAX_RELAYS;

use crate::fixture::{DEADLINE, Plan, Service, Wallet, relay};

fn urls(service: &Service) -> Vec<String> {
    service.manager.relays().into_iter().map(|info| info.url).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_challenge_is_sent_to_an_added_relay() {
    let (first, second) = (relay().await, relay().await);
    let mut service = Service::at(&[first.url()]).await;
    let wallet = Wallet::connect(second.url()).await;
    service.ask(&wallet.key(), "open");
    first.wait_for(DEADLINE, |metrics| metrics.events_of(27_000) == 1).await.unwrap();
    let info = service.manager.add(second.url(), false).await.unwrap();
    assert_eq!((info.origin, info.state, info.subscribed), (RelayOrigin::Added, RelayLinkState::Connected, true));
    assert_eq!(service.next_answer().await, "open", "without being sent by the engine again");
    assert_eq!(service.pool.relays(), [first.url(), second.url()], "new handshake URLs name it");
    assert_eq!(first.metrics().events_of(27_000), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_and_invalid_changes_are_handled() {
    let first = relay().await;
    let service = Service::at(&[first.url()]).await;
    let written_otherwise = format!(" {}/#x", first.url().to_uppercase());
    let info = service.manager.add(&written_otherwise, false).await.unwrap();
    assert_eq!((info.url.as_str(), info.origin), (first.url(), RelayOrigin::Configured));
    assert_eq!(first.metrics().connections, 1);
    for info in join_all((0..10).map(|_| service.manager.add("ws://127.0.0.1:9", false))).await {
        let info = info.unwrap();
        assert_eq!((info.origin, info.state), (RelayOrigin::Added, RelayLinkState::Disconnected));
        assert!(info.reason.is_some() && info.since.is_some());
    }
    assert_eq!(urls(&service).len(), 2);
    for bad in ["", "wss://r.exa\nmple"] {
        assert!(matches!(service.manager.add(bad, false).await, Err(RelayChangeError::Invalid(_))), "{bad}");
        assert!(matches!(service.manager.remove(bad).await, Err(RelayChangeError::Invalid(_))), "{bad}");
    }
    assert!(matches!(service.manager.remove("wss://other.example").await, Err(RelayChangeError::NotFound)));
    service.manager.remove("ws://127.0.0.1:9").await.unwrap();
    assert!(matches!(service.manager.remove("ws://127.0.0.1:9").await, Err(RelayChangeError::NotFound)));
    service.manager.remove(first.url()).await.unwrap();
    assert!(urls(&service).is_empty(), "the last may go, too");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_number_of_relays_is_limited() {
    let service = Service::at(&[]).await;
    let add = async |number| service.manager.add(&format!("ws://127.0.0.1:{}", number + 1), false).await;
    let added = join_all((0..MAX_RELAYS + 3).map(add)).await;
    let refused = added.into_iter().filter(|added| matches!(added, Err(RelayChangeError::TooMany { .. }))).count();
    assert_eq!((refused, urls(&service).len()), (3, MAX_RELAYS));
    let there = service.manager.relays()[0].url.clone();
    service.manager.add(&there, false).await.expect("it is there");
    service.manager.remove(&there).await.unwrap();
    service.manager.add("ws://127.0.0.1:99", false).await.expect("there is room again");
}

/// A leaked key scans no ports: neither by an address, nor by a name that leads to one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn public_only_relays_are_not_on_the_internal_network() {
    let second = relay().await;
    let mut plan = Plan::new(&[]);
    plan.relays.allow_private = false;
    let service = plan.start().await;
    for private in [second.url(), "ws://10.1.2.3", "ws://[::ffff:127.0.0.1]:8080", "wss://relay.example:22"] {
        assert!(matches!(service.manager.add(private, true).await, Err(RelayChangeError::Invalid(_))), "{private}");
    }
    let by_name = second.url().replace("127.0.0.1", "localhost");
    let info = service.manager.add(&by_name, true).await.unwrap();
    assert_eq!((info.state, second.metrics().connections), (RelayLinkState::Disconnected, 0));
    // The operator may.
    let info = service.manager.add(&by_name, false).await.unwrap();
    assert_eq!(info.state, RelayLinkState::Connected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn change_that_cannot_be_stored_has_no_effect() {
    let (first, second) = (relay().await, relay().await);
    let plan = Plan::new(&[first.url()]);
    let service = plan.serve().await;
    plan.settings.fail(&["setting", "set_setting"], usize::MAX);
    assert!(matches!(service.manager.add(second.url(), false).await, Err(RelayChangeError::Store(_))));
    assert!(matches!(service.manager.remove(first.url()).await, Err(RelayChangeError::Store(_))));
    assert_eq!(urls(&service), [first.url()]);
    assert_eq!(second.metrics().connections, 0);
    plan.settings.work();
    service.manager.add(second.url(), false).await.unwrap();
    assert_eq!(urls(&service), [first.url(), second.url()]);
    service.stop().await;
    assert_eq!(urls(&plan.start().await), [first.url(), second.url()], "also after a restart");
}
