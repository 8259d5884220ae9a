//! Cleanup: a failure to remove one kind of data does not affect the others.

use crate::common;

use std::time::Duration;

use common::{NOW, Running, handshake, open, options, user};
use usher_engine::event::{EventType, NewEvent};
use usher_engine::ports::{Clock as _, Commit, OperationKind, Revision, Store as _};
use usher_engine::testing::{FaultyStore, Methods, commit};
use usher_engine::{AuthenticateKey, EventsError, KeyHandshakeRequest, StreamId, UnixMillis};
use usher_protocol::EventId;

#[tokio::test]
async fn cleanup_retries_rows_that_fail_to_delete() {
    let dir = tempfile::tempdir().unwrap();
    let sqlite = open(dir.path());
    // Three batches.
    let inbound = (0..1_500_u16).map(|n| EventId::from_byte_array([n.to_be_bytes(); 16].concat().try_into().unwrap()));
    let old = commit(StreamId::from_parts(NOW.0, [1; 10]), Revision::New, NOW.minus(3 * HOUR));
    sqlite.commit(Commit { inbound: inbound.collect(), finished: true, ..old }).await.unwrap();
    let store = FaultyStore::on(sqlite.clone());
    store.fail(&["remove_finished"], usize::MAX);
    let usher = Running::start_with(store.clone(), sqlite, None, options(), NOW, 1).await;
    let kinds: [Methods; 3] = [&["remove_finished"], &["forget_inbound"], &["forget_kept_keys"]];
    let calls = || kinds.map(|kind| store.calls(kind));
    store.called_more_than(&["forget_user_relays"], 0).await;
    assert_eq!(calls(), [1, 4, 1]);
    usher.clock.turn(HOUR);
    store.called_more_than(&["forget_user_relays"], 1).await;
    assert_eq!(calls(), [2, 5, 2]);
    usher.stop().await;
}

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Reads from every position, as a page and with waiting: each reader gets all later events, or an error that names the gap.
async fn read_from_everywhere(usher: &Running, stream: StreamId, first: u64, next: u64) {
    for after in 0..next + 2 {
        let page = usher.engine.events().read(stream, after, 10_000).await;
        // A task that has to wait here waits for ever: the clock stands still.
        let waited = usher.engine.events().wait(stream, after, 10_000, DAY);
        let waited = tokio::time::timeout(Duration::from_millis(5), waited).await;
        let page = match page {
            Err(EventsError::Removed { first: left }) => {
                assert!(after > 0 && after < first, "{after}");
                assert_eq!(left, first);
                assert!(matches!(waited, Err(_) | Ok(Err(EventsError::Removed { .. }))), "{after}");
                continue;
            }
            page => page.unwrap(),
        };
        assert!(after == 0 || after >= first, "{after}");
        assert_eq!(page.first, (after < first).then_some(first), "{after}");
        let indexes: Vec<_> = page.events.iter().map(|event| event.index).collect();
        assert_eq!(indexes, (after.max(first)..next).collect::<Vec<_>>());
        assert_eq!((page.next, page.done), (next.max(after), false));
    }
}

async fn first_is(usher: &Running, stream: StreamId, first: u64) {
    usher
        .until(Duration::ZERO, "they were not removed", async || {
            usher.engine.events().read(stream, 0, 1).await.is_ok_and(|page| page.first == Some(first))
        })
        .await;
}

#[tokio::test]
async fn old_events_of_a_reusable_handshake_are_removed_and_readers_notified() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let usher = Running::start(store.clone()).await;
    let request =
        || KeyHandshakeRequest { static_token: Some("poster".to_owned()), no_request: None, return_url: None };
    let stream = usher.engine.handshakes().start(request(), None).await.unwrap().stream_id;
    let scan = async |usher: &Running, message: u8, number: u8, index: u64| {
        usher.receive(message, &user(number), handshake("poster", &[])).await;
        assert_eq!(usher.page(stream, index).await.next, index + 1);
    };
    for n in 1..=3 {
        scan(&usher, n, n, u64::from(n) - 1).await;
    }
    usher.clock.turn(20 * DAY);
    for n in 4..=5 {
        scan(&usher, n, n, u64::from(n) - 1).await;
    }
    read_from_everywhere(&usher, stream, 0, 5).await;
    usher.clock.turn(11 * DAY);
    first_is(&usher, stream, 3).await;
    read_from_everywhere(&usher, stream, 3, 5).await;

    // Who scanned before is neither forgotten nor doubled: the same user, days later, and the wallet's repetition.
    scan(&usher, 6, 1, 5).await;
    usher.receive(7, &user(1), handshake("poster", &[])).await;
    scan(&usher, 8, 6, 6).await;
    assert_eq!(usher.engine.events().read(stream, 5, 10).await.unwrap().events.len(), 2);
    assert_eq!(usher.engine.handshakes().list(None, 10).await.unwrap().handshakes[0].accepted, 7);

    let now = usher.clock.now();
    usher.stop().await;
    let usher = Running::start_at(store, options(), now, 2).await;
    read_from_everywhere(&usher, stream, 3, 7).await;
    // The newest event stays, however old it is, and the index continues.
    usher.clock.turn(400 * DAY);
    first_is(&usher, stream, 6).await;
    read_from_everywhere(&usher, stream, 6, 7).await;
    scan(&usher, 9, 9, 7).await;
    usher.engine.handshakes().close(stream).await.unwrap();
    let page = usher.engine.events().read(stream, 0, 10).await.unwrap();
    assert_eq!((page.first, page.next, page.done), (Some(6), 8, true));
    usher.stop().await;
}

/// More than one batch, with an end between two of them.
#[tokio::test]
async fn interrupted_cleanup_leaves_no_gap_in_the_stream() {
    let dir = tempfile::tempdir().unwrap();
    let sqlite = open(dir.path());
    let event = |at| NewEvent {
        event_type: EventType::SubscriptionClosed,
        at,
        data: "{}".into(),
        outcome: usher_engine::OperationOutcome::Completed,
    };
    let append = |events: Vec<NewEvent>| Commit {
        kind: OperationKind::Subscriptions,
        events,
        ..commit(StreamId::SUBSCRIPTIONS, Revision::Any, NOW)
    };
    let old = NOW.minus(31 * DAY);
    sqlite.commit(append(vec![event(old); 1_200])).await.unwrap();
    sqlite.commit(append(vec![event(NOW); 3])).await.unwrap();

    let store = FaultyStore::on(sqlite.clone());
    store.hold_after(&["remove_events"], 1);
    let usher = Running::start_with(store, sqlite.clone(), None, options(), NOW, 1).await;
    first_is(&usher, StreamId::SUBSCRIPTIONS, 500).await;
    for after in [1, 499] {
        let page = usher.engine.events().read(StreamId::SUBSCRIPTIONS, after, 10).await;
        assert!(matches!(page, Err(EventsError::Removed { first: 500 })), "{after}");
    }
    assert_eq!(usher.engine.events().read(StreamId::SUBSCRIPTIONS, 500, 10_000).await.unwrap().events.len(), 703);
    usher.stop().await;

    let usher = Running::start_at(sqlite, options(), NOW, 2).await;
    first_is(&usher, StreamId::SUBSCRIPTIONS, 1_200).await;
    read_from_everywhere(&usher, StreamId::SUBSCRIPTIONS, 1_200, 1_203).await;
    usher.stop().await;
}

/// The reader is pointed at the damaged one, not at one that was removed.
#[tokio::test]
async fn damaged_first_event_is_reported_by_its_own_index() {
    let dir = tempfile::tempdir().unwrap();
    let sqlite = open(dir.path());
    let usher = Running::start(sqlite.clone()).await;
    let request = KeyHandshakeRequest { static_token: Some("poster".to_owned()), no_request: None, return_url: None };
    let stream = usher.engine.handshakes().start(request, None).await.unwrap().stream_id;
    for n in 1..=4_u8 {
        usher.receive(n, &user(n), handshake("poster", &[])).await;
        usher.page(stream, u64::from(n) - 1).await;
    }
    assert_eq!(sqlite.remove_events(stream, UnixMillis(u64::MAX), 2).await.unwrap(), 2);
    let file = rusqlite::Connection::open(dir.path().join("usher.sqlite")).unwrap();
    file.execute("UPDATE events SET type = 'x' WHERE stream = ?1 AND idx = 2", [stream.as_bytes()]).unwrap();
    assert!(matches!(usher.engine.events().read(stream, 0, 10).await, Err(EventsError::Damaged { index: 2 })));
    assert!(matches!(usher.engine.events().read(stream, 1, 10).await, Err(EventsError::Removed { first: 2 })));
    assert!(matches!(usher.engine.events().read(stream, 2, 10).await, Err(EventsError::Damaged { index: 2 })));
    assert_eq!(usher.engine.events().read(stream, 3, 10).await.unwrap().events.len(), 1);
    // It goes with its time, as any other.
    usher.clock.turn(31 * DAY);
    first_is(&usher, stream, 3).await;
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
    let authenticate = AuthenticateKey { main_key: user(1).public_key(), subkeys: Vec::new() };
    for _ in 0..3 {
        usher.clock.turn(300 * DAY);
        usher.engine.logins().authenticate(authenticate.clone(), None).await.unwrap();
        while usher.next_message().await.0.relays != ["wss://theirs"] {}
    }
    usher
        .until(Duration::from_secs(3600), "forgotten", async || {
            store.user_relays(&user(2).public_key()).await.unwrap().is_empty()
        })
        .await;
    assert_eq!(store.user_relays(&user(1).public_key()).await.unwrap(), ["wss://theirs"]);
    usher.stop().await;
}

#[tokio::test]
async fn old_entries_of_the_audit_log_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let usher = Running::start(open(dir.path())).await;
    let add = async || {
        let [actor, address, action, request_id] = ["token", "", "startLogin", "one"].map(str::to_owned);
        let log = usher.engine.audit();
        log.add(log.entry(actor, address, action, request_id)).await.unwrap();
    };
    add().await;
    usher.clock.turn(options().audit.retention);
    add().await;
    let is_old_one_gone = async || {
        let entries = usher.engine.audit().entries(0, 10).await.unwrap();
        entries.iter().map(|entry| entry.sequence).eq([2])
    };
    usher.until(HOUR, "it was not removed", is_old_one_gone).await;
    assert_eq!(usher.engine.audit().head().await.unwrap().map(|head| head.sequence), Some(2));
    usher.stop().await;
}
