//! Damaged rows of a real database: each is set aside, and nothing else is affected.

use rusqlite::{Connection, ToSql};

use crate::common::*;

/// Damages rows while the store is open, as no code of this project would.
fn damage(world: &World, sql: &str, parameters: &[&dyn ToSql]) {
    let raw = Connection::open(world.path().join("usher.sqlite")).unwrap();
    raw.busy_timeout(Duration::from_secs(20)).unwrap();
    assert!(raw.execute(sql, parameters).unwrap() > 0, "{sql}");
}

const STATE: &str = "UPDATE operations SET state = '{\"operation\":\"future\"}' WHERE id = ?1";

fn found(usher: &Running) -> Vec<(Table, String)> {
    usher.engine.damaged_rows().into_iter().map(|row| (row.table, row.id)).collect()
}

#[tokio::test]
async fn payment_is_reported_although_its_subscription_is_damaged() {
    let (mut usher, wallet) = Running::paying().await;
    subscribe(&mut usher, false, NOW.secs() + 3_600).await;
    let stream = usher.request_payment(payment(Some("s"), 3_000)).await;
    next_message(&mut usher, "invoice", &[]).await;
    damage(&usher, "UPDATE operations SET state = '{}' WHERE kind = 8", &[]);
    wallet.settle(0);
    pass(&usher, 70).await;
    assert_eq!(statuses(&usher, stream, 1).await, ["paid"]);
    assert_eq!(found(&usher)[0].0, Table::Operations);
    let (subscriptions, filter) = (usher.engine.subscriptions(), SubscriptionFilter::default());
    assert!(subscriptions.list(&Requester::Service, filter, Order::Oldest, None, 10).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn damaged_operations_are_set_aside_at_start_and_others_continue() {
    let usher = Running::new().await;
    let stream = handshakes(&usher, 2).await;
    let other = usher.reusable_handshake("other").await;
    usher.receive(9, &user(9), handshake("other", &[])).await;
    usher.page(other, 0).await;
    let ended = usher.authenticate(3).await;
    pass(&usher, 310).await;
    assert_eq!(statuses(&usher, ended, 1).await, ["timeout"]);
    let (a, b, c) = (usher.authenticate(1).await, usher.authenticate(2).await, usher.authenticate(3).await);
    let now = usher.clock.now();
    let world = usher.end().await;
    damage(&world, "UPDATE operations SET wake_at = -5 WHERE id = ?1", &[a.as_bytes()]);
    damage(&world, STATE, &[b.as_bytes()]);
    damage(&world, "UPDATE operations SET correlations = x'00', next_index = -1 WHERE id = ?1", &[other.as_bytes()]);
    damage(&world, "UPDATE operations SET next_index = 9000000000 WHERE id = ?1", &[stream.as_bytes()]);
    damage(&world, "UPDATE operations SET finished_at = -1 WHERE id = ?1", &[ended.as_bytes()]);
    let usher = world.start(now).await;
    assert_eq!(read(&usher, stream, 0).await, Ok(vec![0, 1]), "its events can still be read");
    assert_eq!(read(&usher, other, 0).await, Ok(vec![0]));
    let page = usher.read(ended, 0).await;
    assert_eq!((page.events.len(), page.done), (1, true));
    assert!(usher.engine.handshakes().list(&Requester::Service, None, 10).await.unwrap().items.is_empty());
    for unreadable in [a, other, stream, ended] {
        assert!(found(&usher).contains(&(Table::Operations, unreadable.to_string())), "{unreadable}");
    }
    pass(&usher, 310).await;
    assert_eq!(statuses(&usher, c, 1).await, ["timeout"]);
    assert!(found(&usher).contains(&(Table::Operations, b.to_string())), "when it should have been stepped");
    // The housekeeping of the start takes none for old. New operations are not affected.
    assert_eq!(read(&usher, ended, 0).await, Ok(vec![0]));
    let new = usher.authenticate(4).await;
    pass(&usher, 310).await;
    assert_eq!(statuses(&usher, new, 1).await, ["timeout"]);
}

#[tokio::test]
async fn money_for_a_damaged_payment_is_reported_after_repair() {
    let (mut usher, wallet) = Running::paying().await;
    let stream = usher.request_payment(payment(None, 3_000)).await;
    next_message(&mut usher, "invoice", &[]).await;
    let world = usher.end().await;
    let raw = Connection::open(world.path().join("usher.sqlite")).unwrap();
    let state: String =
        raw.query_row("SELECT state FROM operations WHERE id = ?1", [stream.as_bytes()], |row| row.get(0)).unwrap();
    damage(&world, STATE, &[stream.as_bytes()]);
    // Before the stop its state was in memory.
    let usher = world.start(NOW).await;
    wallet.settle(0);
    pass(&usher, 70).await;
    assert_eq!(found(&usher), [(Table::Operations, stream.to_string())]);
    assert_eq!(usher.engine.watched_invoices(), 1);

    damage(&usher, "UPDATE operations SET state = ?2 WHERE id = ?1", &[stream.as_bytes(), &state]);
    let usher = usher.end().await.start(NOW).await;
    pass(&usher, 70).await;
    assert_eq!(statuses(&usher, stream, 1).await, ["paid"]);
    assert!(found(&usher).is_empty());
}

#[tokio::test]
async fn damaged_event_is_reported_to_readers_and_its_delivery_fails() {
    let usher = Running::with(&[Part::Webhook]).await;
    let (app, stream) = (usher.app.clone(), usher.reusable_handshake("door").await);
    for n in 1..=2 {
        usher.receive(n, &user(n), handshake("door", &[])).await;
        usher.page(stream, u64::from(n) - 1).await;
    }
    app.accepts(2).await;
    let world = usher.end().await;
    damage(&world, "UPDATE events SET type = 'Future' WHERE stream = ?1 AND idx = 1", &[stream.as_bytes()]);
    damage(
        &world,
        "UPDATE deliveries SET status = 0, attempts = -1 WHERE stream = ?1 AND idx = 0",
        &[stream.as_bytes()],
    );
    damage(&world, "UPDATE deliveries SET status = 0 WHERE stream = ?1 AND idx = 1", &[stream.as_bytes()]);

    let usher = world.start(NOW).await;
    usher.receive(3, &user(3), handshake("door", &[])).await;
    assert!(app.accepts(3).await.contains(&(stream, 2)));
    assert_eq!(app.posts().len(), 3);
    assert_eq!(usher.read(stream, 0).await.events.len(), 1);
    let damaged = usher.engine.events().read(ShownStream::to_service(stream), 1, 10).await;
    assert!(matches!(damaged, Err(EventsError::Damaged { index: 1 })));
    assert_eq!(usher.read(stream, 2).await.events.len(), 1);
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
}

#[tokio::test]
async fn damaged_message_and_relays_do_not_affect_other_users() {
    let usher = Running::new().await;
    let single = usher.handshake().await;
    usher.receive(1, &user(2), handshake(&token(&single.url), &["wss://a"])).await;
    usher.page(single.stream_id, 0).await;
    // What was just committed is not read again.
    let mut usher = usher.restart(Duration::ZERO).await;
    damage(&usher, "UPDATE user_relays SET relays = '{'", &[]);
    let (a, _) = (usher.authenticate(1).await, usher.authenticate(2).await);
    for _ in 0..2 {
        usher.next_message().await;
    }
    damage(&usher, "UPDATE outbox SET recipients = x'00' WHERE operation = ?1", &[a.as_bytes()]);
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
}

/// A reusable handshake with so many events.
async fn handshakes(usher: &Running, count: u8) -> StreamId {
    let stream = usher.reusable_handshake("door").await;
    for n in 1..=count {
        usher.receive(n, &user(n), handshake("door", &[])).await;
        usher.page(stream, u64::from(n) - 1).await;
    }
    stream
}

/// The indexes of a page, or the index of the event that is damaged.
async fn read(usher: &Running, stream: StreamId, after: u64) -> Result<Vec<u64>, u64> {
    match usher.engine.events().read(ShownStream::to_service(stream), after, 10).await {
        Ok(page) => Ok(page.events.iter().map(|event| event.index).collect()),
        Err(EventsError::Damaged { index }) => Err(index),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn malformed_events_are_reported_by_their_index_and_the_events_count() {
    let usher = Running::new().await;
    let stream = handshakes(&usher, 7).await;
    assert_eq!(usher.store.remove_events(stream, UnixMillis(u64::MAX), 2).await.unwrap(), 2);
    damage(&usher, "UPDATE events SET data = 'text' WHERE stream = ?1 AND idx = 2", &[stream.as_bytes()]);
    damage(&usher, "UPDATE events SET at = -1 WHERE stream = ?1 AND idx IN (4, 6)", &[stream.as_bytes()]);
    for _ in 0..2 {
        // The reader is pointed at the damaged one, not at one that was removed.
        let removed = usher.engine.events().read(ShownStream::to_service(stream), 1, 10).await;
        assert!(matches!(removed, Err(EventsError::Removed { first: 2 })), "{removed:?}");
        for (after, expected) in
            [(0, Err(2)), (2, Err(2)), (3, Ok(vec![3])), (4, Err(4)), (5, Ok(vec![5])), (6, Err(6))]
        {
            assert_eq!(read(&usher, stream, after).await, expected);
        }
        assert_eq!(read(&usher, stream, 7).await, Ok(vec![]));
    }
    let event = |index| (Table::Events, format!("{stream}:{index}"));
    assert_eq!(found(&usher), [event(2), event(4), event(6)]);
    // The events take precedence over the number of events in the row.
    let world = usher.end().await;
    damage(&world, "UPDATE operations SET next_index = 0 WHERE id = ?1", &[stream.as_bytes()]);
    let usher = world.start(NOW).await;
    usher.receive(8, &user(8), handshake("door", &[])).await;
    assert_eq!(usher.page(stream, 7).await.events[0].index, 7);
}

#[tokio::test]
async fn damaged_reusable_login_ends_the_logins_at_it_and_nothing_else() {
    let mut usher = Running::new().await;
    let login = |static_token: &str| LoginRequest { static_token: Some(static_token.to_owned()), return_url: None };
    let poster = usher.engine.logins().start(&Requester::Service, login("poster"), None).await.unwrap();
    let secret = poster.page_url.rsplit('/').next().unwrap();
    usher.receive(1, &user(1), handshake("poster", &[])).await;
    let asked = challenge(&usher.next_message().await.0);
    let child =
        usher.engine.logins().open_child_login(poster.stream_id, secret, &[], ClientNetwork::Loopback).await.unwrap();
    until("the scan is counted", async || usher.engine.scan_metrics().accepted == 1).await;
    damage(&usher, STATE, &[poster.stream_id.as_bytes()]);

    usher.receive(2, &user(1), approval(&asked)).await;
    until("the login is over", async || usher.engine.open_streams() == 3).await;
    assert_eq!(found(&usher), [(Table::Operations, poster.stream_id.to_string())]);
    let browser = child.new_browser.as_ref().map(|(browser, _)| browser.as_str());
    match usher.engine.logins().open(child.login, &child.page_secret, browser, false).await.unwrap() {
        OpenedLogin::Page { view, .. } => assert_eq!(view.state, LoginState::Expired, "the app would not learn of it"),
        _ => panic!("the page is gone"),
    }
    let refused = usher.engine.logins().open_child_login(poster.stream_id, secret, &[], ClientNetwork::Loopback).await;
    assert!(matches!(refused, Err(VisitError::NotFound)));

    let other = usher.engine.logins().start(&Requester::Service, login("door"), None).await.unwrap();
    usher.receive(3, &user(2), handshake("door", &[])).await;
    let asked = challenge(&usher.next_message().await.0);
    usher.receive(4, &user(2), approval(&asked)).await;
    assert_eq!(data(&usher.page(other.stream_id, 1).await, 0)["status"], "approved");
}
