//! A wall clock that is set, or wrong: nothing happens early or late, and nobody is charged too early.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::paying::{next_message, pass, payment, statuses, subscribe, until};
use common::{FakeLightning, NOW, Running, handshake, open, options, user};
use usher_engine::testing::{FakeApp, Reply};
use usher_engine::{AuthenticateKey, KeyHandshakeRequest, StreamId};

const HOURS: Duration = Duration::from_secs(3 * 3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

fn authenticate() -> AuthenticateKey {
    AuthenticateKey { main_key: user(1).public_key(), subkeys: Vec::new() }
}

/// Advances the clock second by second until it holds; returns how long that took.
async fn passes(usher: &Running, most: u64, mut holds: impl AsyncFnMut() -> bool) -> u64 {
    for secs in 0..most {
        if holds().await {
            return secs;
        }
        pass(usher, 1).await;
    }
    panic!("not within {most} s");
}

async fn has_events(usher: &Running, stream: StreamId) -> bool {
    !usher.engine.events().read(stream, 0, 10).await.unwrap().events.is_empty()
}

#[tokio::test]
async fn clock_set_back_does_not_delay_invoice_look_ups() {
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeLightning::default());
    wallet.tells(true);
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
    let stream = usher.engine.payments().request(payment(None, 3_000), None).await.unwrap().stream_id;
    next_message(&mut usher, "invoice", &[]).await;
    pass(&usher, 5).await;
    usher.clock.turn_back(HOURS);
    wallet.settle(0);
    passes(&usher, 200, async || has_events(&usher, stream).await).await;
    assert_eq!(statuses(&usher, stream, 1).await, ["paid"]);
    usher.stop().await;
}

#[tokio::test]
async fn clock_set_back_does_not_delay_repetition_or_expiry() {
    let mut usher = Running::new().await;
    let stream = usher.engine.logins().authenticate(authenticate(), None).await.unwrap();
    usher.next_message().await;
    pass(&usher, 1).await;
    usher.clock.turn_back(HOURS);
    let repeated = passes(&usher, 60, async || !usher.messages.is_empty()).await;
    assert!(repeated < 40, "{repeated}");
    let expired = repeated + passes(&usher, 400, async || has_events(&usher, stream).await).await;
    assert!((280..320).contains(&expired), "{expired}");
    assert_eq!(statuses(&usher, stream, 1).await, ["timeout"]);
    usher.stop().await;
}

#[tokio::test]
async fn clock_set_back_does_not_delay_webhooks() {
    let dir = tempfile::tempdir().unwrap();
    let (store, app) = (open(dir.path()), FakeApp::new(|_| Reply::Refuse));
    let usher = Running::start_with(store.clone(), store, Some(app.clone()), options(), NOW, 1).await;
    let request = KeyHandshakeRequest { static_token: Some("door".to_owned()), no_request: None, return_url: None };
    usher.engine.handshakes().start(request, None).await.unwrap();
    usher.receive(1, &user(1), handshake("door", &[])).await;
    for posts in 1..4 {
        passes(&usher, 200, async || app.posts().len() == posts).await;
    }
    // The next one is due after two minutes.
    usher.clock.turn_back(HOURS);
    let waited = passes(&usher, 250, async || app.posts().len() == 4).await;
    assert!(waited > 90, "not at once: {waited}");
    usher.stop().await;
}

#[tokio::test]
async fn clock_set_back_does_not_delay_retries_of_invoice_creation() {
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeLightning::default());
    wallet.hang(true);
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
    let stream = usher.engine.payments().request(payment(None, 3_000), None).await.unwrap().stream_id;
    until("it is asked", || wallet.made().len() == 1).await;
    usher.clock.turn_back(HOURS);
    // All tries together may take a minute.
    let given_up = passes(&usher, 200, async || has_events(&usher, stream).await).await;
    assert!(given_up < 120, "{given_up}");
    assert_eq!(statuses(&usher, stream, 1).await, ["error"]);
    assert!(usher.messages.try_recv().is_err());
    usher.stop().await;
}

#[tokio::test]
async fn clock_set_back_during_downtime_delays_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (store, app) = (open(dir.path()), FakeApp::new(|_| Reply::Refuse));
    let usher = Running::start_with(store.clone(), store.clone(), Some(app.clone()), options(), NOW, 1).await;
    let request = KeyHandshakeRequest { static_token: Some("door".to_owned()), no_request: None, return_url: None };
    usher.engine.handshakes().start(request, None).await.unwrap();
    usher.receive(1, &user(1), handshake("door", &[])).await;
    passes(&usher, 20, async || app.posts().len() == 2).await;
    let stream = usher.engine.logins().authenticate(authenticate(), None).await.unwrap();
    usher.stop().await;

    let usher = Running::start_with(store.clone(), store, Some(app.clone()), options(), NOW.minus(HOURS), 2).await;
    let posts = app.posts().len();
    let posted = passes(&usher, 150, async || app.posts().len() > posts).await;
    assert!(posted > 20, "not at once: {posted}");
    let expired = posted + passes(&usher, 320, async || has_events(&usher, stream).await).await;
    assert!((295..310).contains(&expired), "{expired}");
    usher.stop().await;
}

#[tokio::test]
async fn times_set_by_the_right_clock_survive_a_correction() {
    let (mut usher, _) = Running::paying().await;
    let stream = usher.engine.payments().request(payment(None, 20_000), None).await.unwrap().stream_id;
    next_message(&mut usher, "invoice", &[]).await;
    usher.clock.turn_forward(HOURS);
    pass(&usher, 10).await;
    usher.clock.turn_back(HOURS);
    pass(&usher, 10).await;
    usher.clock.turn(Duration::from_secs(19_000));
    pass(&usher, 50).await;
    assert!(!has_events(&usher, stream).await, "it lives for 20,000 s");
    usher.stop().await;
}

#[tokio::test]
async fn clock_set_forward_ends_and_repeats_nothing_early() {
    let mut usher = Running::new().await;
    let stream = usher.engine.logins().authenticate(authenticate(), None).await.unwrap();
    usher.next_message().await;
    usher.clock.turn_forward(HOURS);
    pass(&usher, 15).await;
    assert!(usher.messages.is_empty(), "it is repeated after twenty seconds");
    let expired = 15 + passes(&usher, 400, async || has_events(&usher, stream).await).await;
    assert!((295..310).contains(&expired), "{expired}");
    assert_eq!(statuses(&usher, stream, 1).await, ["timeout"]);
    usher.stop().await;
}

#[tokio::test]
async fn clock_a_month_ahead_charges_nothing_until_it_is_corrected() {
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeLightning::default());
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
    subscribe(&mut usher, true, NOW.secs() + 7_200).await;
    // While it runs, and at a start.
    usher.clock.turn_forward(31 * DAY);
    pass(&usher, 200).await;
    usher.stop().await;
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW.plus(31 * DAY), 2).await;
    pass(&usher, 200).await;
    assert!(wallet.made().is_empty(), "nobody is charged");
    // New requests are not delayed.
    let new = usher.engine.logins().authenticate(authenticate(), None).await.unwrap();
    usher.next_message().await;
    usher.clock.turn_back(31 * DAY);
    let expired = passes(&usher, 400, async || has_events(&usher, new).await).await;
    assert!((290..310).contains(&expired), "{expired}");
    // Ten minutes later nothing is due yet.
    pass(&usher, 700).await;
    assert!(wallet.made().is_empty(), "nobody is charged");
    usher.clock.turn(Duration::from_secs(7_200));
    passes(&usher, 60, async || wallet.made().len() == 1).await;
    usher.stop().await;
}

#[tokio::test]
async fn charges_wait_ten_minutes_after_a_month_off_and_nothing_else_waits() {
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeLightning::default());
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
    subscribe(&mut usher, true, NOW.secs() + 7_200).await;
    let asked = usher.engine.logins().authenticate(authenticate(), None).await.unwrap();
    usher.next_message().await;
    usher.stop().await;
    let usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW.plus(31 * DAY), 2).await;
    passes(&usher, 10, async || has_events(&usher, asked).await).await;
    let waited = passes(&usher, 700, async || wallet.made().len() == 1).await;
    assert!(waited >= 580, "{waited}");
    usher.stop().await;
}
