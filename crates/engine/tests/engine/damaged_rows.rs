//! Damaged rows of a real database: each is set aside, and nothing else is affected.

use crate::common;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use common::paying::{next_message, pass, payment, statuses, subscribe, until};
use common::{FakeLightning, NOW, Running, approval, challenge, handshake, open, options, user};
use rusqlite::{Connection, ToSql};
use usher_engine::operations::LoginState;
use usher_engine::ports::{DeliveryStatus, Table};
use usher_engine::testing::FakeApp;
use usher_engine::{
    AuthenticateKey, ClientNetwork, EventsError, KeyHandshakeRequest, LoginRequest, OpenedLogin, StreamId,
    SubscriptionFilter, VisitError,
};

/// Damages rows while the store is open, as no code of this project would.
fn damage(dir: &Path, sql: &str, parameters: &[&dyn ToSql]) {
    let raw = Connection::open(dir.join("usher.sqlite")).unwrap();
    raw.busy_timeout(Duration::from_secs(20)).unwrap();
    assert!(raw.execute(sql, parameters).unwrap() > 0, "{sql}");
}

const STATE: &str = "UPDATE operations SET state = '{\"operation\":\"future\"}' WHERE id = ?1";

fn found(usher: &Running) -> Vec<(Table, String)> {
    usher.engine.damaged_rows().into_iter().map(|row| (row.table, row.id)).collect()
}

async fn authenticate(usher: &Running, n: u8) -> StreamId {
    let request = AuthenticateKey { main_key: user(n).public_key(), subkeys: Vec::new() };
    usher.engine.logins().authenticate(request, None).await.unwrap()
}

async fn reusable_handshake(usher: &Running, token: &str) -> StreamId {
    let request = KeyHandshakeRequest { static_token: Some(token.to_owned()), no_request: None, return_url: None };
    usher.engine.handshakes().start(request, None).await.unwrap().stream_id
}

#[tokio::test]
async fn payment_is_reported_although_its_subscription_is_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeLightning::default());
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
    subscribe(&mut usher, false, NOW.secs() + 3_600).await;
    let stream = usher.engine.payments().request(payment(Some("s"), 3_000), None).await.unwrap().stream_id;
    next_message(&mut usher, "invoice", &[]).await;
    damage(dir.path(), "UPDATE operations SET state = '{}' WHERE kind = 8", &[]);
    wallet.settle(0);
    pass(&usher, 70).await;
    assert_eq!(statuses(&usher, stream, 1).await, ["paid"]);
    assert_eq!(found(&usher)[0].0, Table::Operations);
    let filter = SubscriptionFilter::default();
    assert!(usher.engine.subscriptions().list(filter, None, 10).await.unwrap().subscriptions.is_empty());
    usher.stop().await;
}

#[tokio::test]
async fn damaged_operation_is_set_aside_at_start_and_others_continue() {
    let dir = tempfile::tempdir().unwrap();
    let usher = Running::start(open(dir.path())).await;
    let (a, b, c) = (authenticate(&usher, 1).await, authenticate(&usher, 2).await, authenticate(&usher, 3).await);
    let reusable = reusable_handshake(&usher, "door").await;
    usher.receive(1, &user(1), handshake("door", &[])).await;
    usher.page(reusable, 0).await;
    usher.stop().await;

    damage(dir.path(), "UPDATE operations SET wake_at = -5 WHERE id = ?1", &[a.as_bytes()]);
    damage(dir.path(), STATE, &[b.as_bytes()]);
    damage(
        dir.path(),
        "UPDATE operations SET correlations = x'00', next_index = -1 WHERE id = ?1",
        &[reusable.as_bytes()],
    );
    let usher = Running::start_at(open(dir.path()), options(), NOW, 2).await;
    assert_eq!(found(&usher).len(), 2, "whose columns cannot be read");
    // Its events can still be read.
    assert_eq!(usher.page(reusable, 0).await.events.len(), 1);
    pass(&usher, 310).await;
    assert_eq!(statuses(&usher, c, 1).await, ["timeout"]);
    assert!(found(&usher).contains(&(Table::Operations, b.to_string())), "when it should have been stepped");
    // New operations are not affected.
    let new = authenticate(&usher, 4).await;
    pass(&usher, 310).await;
    assert_eq!(statuses(&usher, new, 1).await, ["timeout"]);
    usher.stop().await;
}

#[tokio::test]
async fn money_for_a_damaged_payment_is_reported_after_repair() {
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeLightning::default());
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
    let stream = usher.engine.payments().request(payment(None, 3_000), None).await.unwrap().stream_id;
    next_message(&mut usher, "invoice", &[]).await;
    usher.stop().await;
    let raw = Connection::open(dir.path().join("usher.sqlite")).unwrap();
    let state: String =
        raw.query_row("SELECT state FROM operations WHERE id = ?1", [stream.as_bytes()], |row| row.get(0)).unwrap();
    damage(dir.path(), STATE, &[stream.as_bytes()]);
    // Before the stop its state was in memory.
    let usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 2).await;
    wallet.settle(0);
    pass(&usher, 70).await;
    assert_eq!(found(&usher), [(Table::Operations, stream.to_string())]);
    assert_eq!(usher.engine.watched_invoices(), 1);
    usher.stop().await;

    damage(dir.path(), "UPDATE operations SET state = ?2 WHERE id = ?1", &[stream.as_bytes(), &state]);
    let usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 3).await;
    pass(&usher, 70).await;
    assert_eq!(statuses(&usher, stream, 1).await, ["paid"]);
    assert!(found(&usher).is_empty());
    usher.stop().await;
}

#[tokio::test]
async fn damaged_event_is_reported_to_readers_and_its_delivery_fails() {
    let dir = tempfile::tempdir().unwrap();
    let (store, app) = (open(dir.path()), Arc::new(FakeApp::default()));
    let usher = Running::start(store.clone()).await;
    let stream = reusable_handshake(&usher, "door").await;
    usher.stop().await;
    let usher = Running::start_with(store.clone(), store.clone(), Some(app.clone()), options(), NOW, 2).await;
    for n in 1..=2 {
        usher.receive(n, &user(n), handshake("door", &[])).await;
        usher.page(stream, u64::from(n) - 1).await;
    }
    app.accepts(2).await;
    usher.stop().await;
    damage(dir.path(), "UPDATE events SET type = 'Future' WHERE stream = ?1 AND idx = 1", &[stream.as_bytes()]);
    damage(
        dir.path(),
        "UPDATE deliveries SET status = 0, attempts = -1 WHERE stream = ?1 AND idx = 0",
        &[stream.as_bytes()],
    );
    damage(dir.path(), "UPDATE deliveries SET status = 0 WHERE stream = ?1 AND idx = 1", &[stream.as_bytes()]);

    let usher = Running::start_with(store.clone(), store.clone(), Some(app.clone()), options(), NOW, 3).await;
    usher.receive(3, &user(3), handshake("door", &[])).await;
    assert!(app.accepts(3).await.contains(&(stream, 2)));
    assert_eq!(app.posts().len(), 3);
    assert_eq!(usher.engine.events().read(stream, 0, 10).await.unwrap().events.len(), 1);
    let damaged = usher.engine.events().read(stream, 1, 10).await;
    assert!(matches!(damaged, Err(EventsError::Damaged { index: 1 })));
    assert_eq!(usher.engine.events().read(stream, 2, 10).await.unwrap().events.len(), 1);
    let failed = usher.engine.webhooks().list(DeliveryStatus::Failed, None, 10).await.unwrap();
    assert_eq!(failed.iter().map(|delivery| delivery.event.index).collect::<Vec<_>>(), [0]);
    assert_eq!(
        found(&usher),
        [
            (Table::Events, format!("{stream}:1")),
            (Table::Deliveries, format!("{stream}:0")),
            (Table::Deliveries, format!("{stream}:1")),
        ]
    );
    usher.stop().await;
}

#[tokio::test]
async fn damaged_message_and_relays_do_not_affect_other_users() {
    let dir = tempfile::tempdir().unwrap();
    let mut usher = Running::start(open(dir.path())).await;
    let single = usher.engine.handshakes().start(KeyHandshakeRequest::default(), None).await.unwrap();
    usher.receive(1, &user(2), handshake(&common::token(&single.url), &["wss://a"])).await;
    usher.page(single.stream_id, 0).await;
    damage(dir.path(), "UPDATE user_relays SET relays = '{'", &[]);
    let (a, _) = (authenticate(&usher, 1).await, authenticate(&usher, 2).await);
    for _ in 0..2 {
        usher.next_message().await;
    }
    damage(dir.path(), "UPDATE outbox SET recipients = x'00' WHERE operation = ?1", &[a.as_bytes()]);
    let mut repeated = 0;
    for _ in 0..100 {
        pass(&usher, 1).await;
        while let Ok((message, _)) = usher.messages.try_recv() {
            assert_eq!(message.recipients, [user(2).public_key()]);
            assert!(message.relays.is_empty());
            repeated += 1;
        }
    }
    assert!(repeated >= 2, "{repeated}");
    assert_eq!(found(&usher), [(Table::Outbox, a.to_string()), (Table::UserRelays, user(2).public_key().to_hex()),]);
    pass(&usher, 300).await;
    assert_eq!(statuses(&usher, a, 1).await, ["timeout"]);
    usher.stop().await;
}

/// A reusable handshake with so many events.
async fn handshakes(usher: &Running, count: u8) -> StreamId {
    let stream = reusable_handshake(usher, "door").await;
    for n in 1..=count {
        usher.receive(n, &user(n), handshake("door", &[])).await;
        usher.page(stream, u64::from(n) - 1).await;
    }
    stream
}

/// The indexes of a page, or the index of the event that is damaged.
async fn read(usher: &Running, stream: StreamId, after: u64) -> Result<Vec<u64>, u64> {
    match usher.engine.events().read(stream, after, 10).await {
        Ok(page) => Ok(page.events.iter().map(|event| event.index).collect()),
        Err(EventsError::Damaged { index }) => Err(index),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn malformed_events_are_reported_as_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let usher = Running::start(open(dir.path())).await;
    let stream = handshakes(&usher, 7).await;
    damage(dir.path(), "UPDATE events SET data = 'text' WHERE stream = ?1 AND idx = 2", &[stream.as_bytes()]);
    damage(dir.path(), "UPDATE events SET at = -1 WHERE stream = ?1 AND idx IN (4, 6)", &[stream.as_bytes()]);
    for _ in 0..2 {
        assert_eq!(read(&usher, stream, 0).await, Ok(vec![0, 1]));
        assert_eq!(read(&usher, stream, 2).await, Err(2));
        assert_eq!(read(&usher, stream, 3).await, Ok(vec![3]));
        assert_eq!(read(&usher, stream, 4).await, Err(4));
        assert_eq!(read(&usher, stream, 5).await, Ok(vec![5]));
        assert_eq!(read(&usher, stream, 6).await, Err(6));
        assert_eq!(read(&usher, stream, 7).await, Ok(vec![]));
    }
    let event = |index| (Table::Events, format!("{stream}:{index}"));
    assert_eq!(found(&usher), [event(2), event(4), event(6)]);
    usher.receive(8, &user(8), handshake("door", &[])).await;
    assert_eq!(usher.page(stream, 7).await.events[0].index, 7);
    usher.stop().await;
}

#[tokio::test]
async fn number_of_events_in_a_row_is_not_believed_over_the_events() {
    let dir = tempfile::tempdir().unwrap();
    let usher = Running::start(open(dir.path())).await;
    let stream = handshakes(&usher, 2).await;
    usher.stop().await;
    damage(dir.path(), "UPDATE operations SET next_index = 0 WHERE id = ?1", &[stream.as_bytes()]);
    let usher = Running::start_at(open(dir.path()), options(), NOW, 2).await;
    usher.receive(4, &user(4), handshake("door", &[])).await;
    assert_eq!(usher.page(stream, 2).await.events[0].index, 2);
    assert_eq!(read(&usher, stream, 0).await, Ok(vec![0, 1, 2]));
    usher.stop().await;
}

#[tokio::test]
async fn operation_with_impossible_numbers_is_set_aside_but_readable() {
    let dir = tempfile::tempdir().unwrap();
    let usher = Running::start(open(dir.path())).await;
    let stream = handshakes(&usher, 2).await;
    let ended = authenticate(&usher, 3).await;
    pass(&usher, 310).await;
    assert_eq!(statuses(&usher, ended, 1).await, ["timeout"]);
    usher.stop().await;
    damage(dir.path(), "UPDATE operations SET next_index = 9000000000 WHERE id = ?1", &[stream.as_bytes()]);
    damage(dir.path(), "UPDATE operations SET finished_at = -1 WHERE id = ?1", &[ended.as_bytes()]);
    let usher = Running::start_at(open(dir.path()), options(), NOW, 2).await;
    assert_eq!(read(&usher, stream, 0).await, Ok(vec![0, 1]));
    let page = usher.engine.events().read(ended, 0, 10).await.unwrap();
    assert_eq!((page.events.len(), page.done), (1, true));
    assert!(usher.engine.handshakes().list(None, 10).await.unwrap().handshakes.is_empty());
    assert_eq!(found(&usher).len(), 2);
    // The housekeeping of the start takes neither for old.
    pass(&usher, 5).await;
    assert_eq!(read(&usher, ended, 0).await, Ok(vec![0]));
    usher.stop().await;
}

#[tokio::test]
async fn damaged_reusable_login_ends_the_logins_at_it_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let mut usher = Running::start(open(dir.path())).await;
    let login = |static_token: &str| LoginRequest { static_token: Some(static_token.to_owned()), return_url: None };
    let poster = usher.engine.logins().start(login("poster"), None).await.unwrap();
    let secret = poster.page_url.rsplit('/').next().unwrap();
    usher.receive(1, &user(1), handshake("poster", &[])).await;
    let asked = challenge(&usher.next_message().await.0);
    let child =
        usher.engine.logins().open_child_login(poster.stream_id, secret, &[], ClientNetwork::Loopback).await.unwrap();
    until("the scan is told", || usher.engine.scan_metrics().accepted == 1).await;
    damage(dir.path(), STATE, &[poster.stream_id.as_bytes()]);

    usher.receive(2, &user(1), approval(&asked)).await;
    until("the login is over", || usher.engine.open_streams() == 3).await;
    assert_eq!(found(&usher), [(Table::Operations, poster.stream_id.to_string())]);
    let browser = child.new_browser.as_ref().map(|(browser, _)| browser.as_str());
    match usher.engine.logins().open(child.login, &child.page_secret, browser, false).await.unwrap() {
        OpenedLogin::Page { view, .. } => assert_eq!(view.state, LoginState::Expired, "the app would not learn of it"),
        _ => panic!("the page is gone"),
    }
    let refused = usher.engine.logins().open_child_login(poster.stream_id, secret, &[], ClientNetwork::Loopback).await;
    assert!(matches!(refused, Err(VisitError::NotFound)));

    let other = usher.engine.logins().start(login("door"), None).await.unwrap();
    usher.receive(3, &user(2), handshake("door", &[])).await;
    let asked = challenge(&usher.next_message().await.0);
    usher.receive(4, &user(2), approval(&asked)).await;
    assert_eq!(common::data(&usher.page(other.stream_id, 1).await, 0)["status"], "approved");
    usher.stop().await;
}
