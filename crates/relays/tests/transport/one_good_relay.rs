//! With one good relay beside any bad one, logins continue.

use std::time::Duration;

use usher_faults::relay::{Flood, Junk, JunkEvents, LieOk, Quirks, QuirkyRelay};

use crate::fixture::{Service, Wallet};

/// Logs in twenty times, one after the other and then all at once, with one request each.
async fn logins_go_on(quirks: Quirks) {
    let good = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let bad = QuirkyRelay::start(quirks).await.unwrap();
    let mut service = Service::start(&[bad.url(), good.url()]);
    let wallet = Wallet::connect(&[good.url()]).await;
    service.subscribed_at(good.url()).await;
    for number in 0..10 {
        let challenge = format!("one{number}");
        service.ask(&wallet.key(), &challenge);
        assert_eq!(service.next_answer().await, challenge);
    }
    let mut open: std::collections::HashSet<_> = (0..10).map(|number| format!("all{number}")).collect();
    for challenge in &open {
        service.ask(&wallet.key(), challenge);
    }
    while !open.is_empty() {
        let answered = service.next_answer().await;
        assert!(open.remove(&answered), "{answered} was answered twice");
    }
    wallet.stop().await;
    service.stop().await;
}

macro_rules! beside {
    ($($name:ident: $quirks:expr;)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            logins_go_on($quirks).await;
        }
    )*};
}

fn quirks(change: impl FnOnce(&mut Quirks)) -> Quirks {
    let mut quirks = Quirks::default();
    change(&mut quirks);
    quirks
}

beside! {
    one_without_faults: Quirks::default();
    one_that_sends_no_ok: quirks(|q| q.no_ok_for_ephemeral = true);
    one_that_takes_no_event: quirks(|q| q.refuse_events = true);
    one_that_takes_no_subscription: quirks(|q| q.max_subscriptions = 0);
    one_that_never_shakes_hands: quirks(|q| q.accept_tcp_only = true);
    one_that_says_nothing: quirks(|q| q.mute = true);
    one_that_does_not_read: quirks(|q| q.stop_reading = true);
    one_that_limits_the_rate: quirks(|q| q.rate_limit = Some(1));
    one_that_demands_authentication: quirks(|q| q.require_auth = true);
    one_that_drops_the_connection: quirks(|q| q.drop_every = Some(Duration::from_millis(50)));
    one_that_delivers_twice_and_late: quirks(|q| q.duplicate_and_delay = Some(Duration::from_millis(100)));
    one_that_sends_garbage: quirks(|q| q.garbage = Some(Duration::from_millis(5)));
    one_that_drops_what_it_accepts: quirks(|q| q.lie_ok = Some(LieOk::AcceptAndDrop));
    one_that_forwards_what_it_refuses: quirks(|q| q.lie_ok = Some(LieOk::RefuseAndForward));
    one_that_closes_subscriptions: quirks(|q| q.close_subscriptions_after = Some(Duration::from_millis(50)));
    one_that_is_slow: quirks(|q| q.latency = Duration::from_secs(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logins_continue_beside_a_missing_relay() {
    let good = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let gone = QuirkyRelay::start(Quirks::default()).await.unwrap();
    gone.stop().await;
    let mut service = Service::start(&[gone.url(), "ws://name.invalid", good.url()]);
    let wallet = Wallet::connect(&[good.url()]).await;
    service.subscribed_at(good.url()).await;
    service.ask(&wallet.key(), "alone");
    assert_eq!(service.next_answer().await, "alone");
    wallet.stop().await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logins_continue_beside_a_flooding_relay() {
    let good = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let bad = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let mut service = Service::start(&[bad.url(), good.url()]);
    // The wallet is at the flooding relay only: its replies are in the middle of the flood.
    let wallet = Wallet::connect(&[bad.url()]).await;
    service.subscribed_at(bad.url()).await;
    let wrongs = [Junk::GarbageContent, Junk::GarbageText, Junk::BadSignature, Junk::WrongId];
    let junk = JunkEvents::generate(service.key(), &usher_protocol::kind::FROM_WALLET, &wrongs, 2000);
    bad.set(|quirks| quirks.flood = Some(Flood { per_second: 2000, events: junk }));
    // However fast the logins are: ten of them, and more until the flood has visibly arrived.
    let mut logins = 0;
    while logins < 10 || service.pool.metrics().received <= 100 {
        service.login(&wallet.key(), &format!("amid{logins}")).await;
        logins += 1;
    }
    wallet.stop().await;
    service.stop().await;
}
