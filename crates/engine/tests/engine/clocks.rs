//! Wrong clocks and changes of the clock: nothing happens late, and nothing is removed too early.

use crate::common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use common::paying::{next_message, pass, payment, statuses, subscribe, until};
use common::{FakeWallet, NOW, Running, handshake, open, options, user};
use usher_engine::event::Event;
use usher_engine::ports::{Posted, Store as _, WebhookSender};
use usher_engine::{AuthenticateKey, EngineOptions, KeyHandshakeRequest, StreamId, UnixMillis};

const HOURS: Duration = Duration::from_secs(3 * 3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

fn authenticate() -> AuthenticateKey {
    AuthenticateKey { main_key: user(1).public_key(), subkeys: Vec::new() }
}

/// A webhook that refuses.
#[derive(Default)]
struct App {
    posts: AtomicUsize,
}

#[async_trait]
impl WebhookSender for App {
    async fn post(&self, _: StreamId, _: &Event, _: UnixMillis) -> Posted {
        self.posts.fetch_add(1, Ordering::SeqCst);
        Posted::Refused { http_status: Some(503), reason: "the receiver said 503".to_owned(), retry_after: None }
    }
}

impl App {
    fn posts(&self) -> usize {
        self.posts.load(Ordering::SeqCst)
    }
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
    let wallet = Arc::new(FakeWallet::default());
    wallet.tells(true);
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
    let stream = usher.engine.payments().request(payment(None, 3_000), None).await.unwrap();
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
    let dir = tempfile::tempdir().unwrap();
    let mut usher = Running::start(open(dir.path())).await;
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
    let (store, app) = (open(dir.path()), Arc::new(App::default()));
    let usher = Running::start_with(store.clone(), store, Some(app.clone()), options(), NOW, 1).await;
    let request = KeyHandshakeRequest { static_token: Some("door".to_owned()), no_request: None, return_url: None };
    usher.engine.handshakes().start(request, None).await.unwrap();
    usher.receive(1, &user(1), handshake("door", &[])).await;
    for posts in 1..4 {
        passes(&usher, 200, async || app.posts() == posts).await;
    }
    // The next one is due after two minutes.
    usher.clock.turn_back(HOURS);
    let waited = passes(&usher, 250, async || app.posts() == 4).await;
    assert!(waited > 90, "not at once: {waited}");
    usher.stop().await;
}

#[tokio::test]
async fn clock_set_back_does_not_delay_retries_of_invoice_creation() {
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeWallet::default());
    wallet.hang(true);
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
    let stream = usher.engine.payments().request(payment(None, 3_000), None).await.unwrap();
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
    let (store, app) = (open(dir.path()), Arc::new(App::default()));
    let usher = Running::start_with(store.clone(), store.clone(), Some(app.clone()), options(), NOW, 1).await;
    let request = KeyHandshakeRequest { static_token: Some("door".to_owned()), no_request: None, return_url: None };
    usher.engine.handshakes().start(request, None).await.unwrap();
    usher.receive(1, &user(1), handshake("door", &[])).await;
    passes(&usher, 20, async || app.posts() == 2).await;
    let stream = usher.engine.logins().authenticate(authenticate(), None).await.unwrap();
    usher.stop().await;

    for (seed, restarted) in [(2, NOW.minus(HOURS)), (3, NOW.minus(HOURS).plus(Duration::from_secs(60)))] {
        let usher =
            Running::start_with(store.clone(), store.clone(), Some(app.clone()), options(), restarted, seed).await;
        if seed == 2 {
            let posts = app.posts();
            passes(&usher, 60, async || app.posts() > posts).await;
            usher.stop().await;
            continue;
        }
        let expired = passes(&usher, 400, async || has_events(&usher, stream).await).await;
        assert!(expired > 100, "a second start does not take it for set back once more: {expired}");
        usher.stop().await;
    }
}

#[tokio::test]
async fn times_set_by_the_right_clock_survive_a_correction() {
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeWallet::default());
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
    let stream = usher.engine.payments().request(payment(None, 20_000), None).await.unwrap();
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
async fn clock_jump_forward_neither_skips_nor_floods() {
    let dir = tempfile::tempdir().unwrap();
    let mut usher = Running::start(open(dir.path())).await;
    let handshake = usher.engine.handshakes().start(KeyHandshakeRequest::default(), None).await.unwrap();
    let mut streams = Vec::new();
    for _ in 0..100 {
        streams.push(usher.engine.logins().authenticate(authenticate(), None).await.unwrap());
    }
    for _ in 0..100 {
        usher.next_message().await;
    }
    // A suspend for a minute: all are due to be repeated, none has expired.
    usher.clock.turn_forward(Duration::from_secs(60));
    passes(&usher, 10, async || {
        tokio::time::sleep(Duration::from_millis(50)).await;
        usher.messages.len() >= 100
    })
    .await;
    assert!(usher.messages.len() <= 300, "{}", usher.messages.len());
    usher.clock.turn_forward(HOURS);
    passes(&usher, 60, async || has_events(&usher, handshake.stream_id).await).await;
    for stream in streams {
        assert_eq!(statuses(&usher, stream, 1).await, ["timeout"]);
    }
    usher.stop().await;
}

#[tokio::test]
async fn clock_a_month_ahead_at_start_removes_nothing_for_a_day() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let short = || EngineOptions { handshake_ttl: Duration::from_secs(60), ..options() };
    let usher = Running::start_at(store.clone(), short(), NOW, 1).await;
    let stream = usher.engine.handshakes().start(KeyHandshakeRequest::default(), None).await.unwrap().stream_id;
    passes(&usher, 100, async || has_events(&usher, stream).await).await;
    usher.stop().await;

    let usher = Running::start_at(store.clone(), short(), NOW.plus(31 * DAY), 2).await;
    pass(&usher, 10).await;
    for _ in 0..22 {
        usher.clock.turn(Duration::from_secs(3600));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(store.operation(stream).await.unwrap().is_some());
    // The clock is set forward again while the service runs: the wait starts again.
    usher.clock.turn_forward(31 * DAY);
    pass(&usher, 10).await;
    for _ in 0..22 {
        usher.clock.turn(Duration::from_secs(3600));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(store.operation(stream).await.unwrap().is_some());
    // It was right after all.
    let removed = async {
        while store.operation(stream).await.unwrap().is_some() {
            usher.clock.turn(Duration::from_secs(600));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), removed).await.expect("removed");
    usher.stop().await;
}

#[tokio::test]
async fn relays_are_kept_only_for_users_still_contacted() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut usher = Running::start(store.clone()).await;
    for n in [1, 2] {
        let started = usher.engine.handshakes().start(KeyHandshakeRequest::default(), None).await.unwrap();
        usher.receive(n, &user(n), handshake(&common::token(&started.url), &["wss://theirs"])).await;
        usher.page(started.stream_id, 0).await;
    }
    for _ in 0..3 {
        usher.clock.turn(300 * DAY);
        usher.engine.logins().authenticate(authenticate(), None).await.unwrap();
        while usher.next_message().await.0.relays != ["wss://theirs"] {}
    }
    let forgotten = async {
        while !store.user_relays(&user(2).public_key()).await.unwrap().is_empty() {
            usher.clock.turn(Duration::from_secs(3600));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), forgotten).await.expect("forgotten");
    assert_eq!(store.user_relays(&user(1).public_key()).await.unwrap(), ["wss://theirs"]);
    usher.stop().await;
}

#[tokio::test]
async fn clock_a_month_ahead_at_start_ends_and_charges_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeWallet::default());
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
    subscribe(&mut usher, true, NOW.secs() + 7_200).await;
    let payment = usher.engine.payments().request(payment(None, 3_000), None).await.unwrap();
    next_message(&mut usher, "invoice", &[]).await;
    let asked = usher.engine.logins().authenticate(authenticate(), None).await.unwrap();
    usher.next_message().await;
    usher.stop().await;

    let made = wallet.made().len();
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW.plus(31 * DAY), 2).await;
    // Less than the request may take: it is still open when the clock is corrected.
    pass(&usher, 200).await;
    assert!(!has_events(&usher, asked).await && !has_events(&usher, payment).await);
    assert_eq!(wallet.made().len(), made, "nobody is charged");
    // New requests are not delayed.
    let new = usher.engine.logins().authenticate(authenticate(), None).await.unwrap();
    usher.next_message().await;
    // Corrected: the old request is repeated, and ends when it would have.
    usher.clock.turn_back(31 * DAY);
    let repeated = passes(&usher, 30, async || !usher.messages.is_empty()).await;
    assert!(repeated < 30);
    assert!(!has_events(&usher, asked).await);
    passes(&usher, 400, async || has_events(&usher, asked).await).await;
    passes(&usher, 400, async || has_events(&usher, new).await).await;
    assert_eq!(statuses(&usher, asked, 1).await, ["timeout"]);
    wallet.settle(0);
    passes(&usher, 120, async || has_events(&usher, payment).await).await;
    assert_eq!(statuses(&usher, payment, 1).await, ["paid"]);
    passes(&usher, 7_200, async || wallet.made().len() > made).await;
    usher.stop().await;
}

#[tokio::test]
async fn service_resumes_ten_minutes_after_a_month_off() {
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeWallet::default());
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
    subscribe(&mut usher, true, NOW.secs() + 7_200).await;
    let asked = usher.engine.logins().authenticate(authenticate(), None).await.unwrap();
    usher.next_message().await;
    usher.stop().await;
    let made = wallet.made().len();
    let usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW.plus(31 * DAY), 2).await;
    let waited = passes(&usher, 700, async || has_events(&usher, asked).await).await;
    assert!(waited >= 590, "{waited}");
    assert_eq!(statuses(&usher, asked, 1).await, ["timeout"]);
    passes(&usher, 120, async || wallet.made().len() > made).await;
    usher.stop().await;
}
