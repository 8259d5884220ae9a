//! Cleanup: a failure to remove one kind of data does not affect the others.

use usher_testing::ports::{Methods, commit};

use crate::common::*;

#[tokio::test]
async fn cleanup_retries_rows_that_fail_to_delete() {
    let world = World::new(&[], options());
    // Three batches.
    let inbound = (0..1_500_u16).map(|n| EventId::from_byte_array([n.to_be_bytes(); 16].concat().try_into().unwrap()));
    let old = commit(StreamId::from_parts(NOW.0, [1; 10]), Revision::New, NOW.minus(3 * HOUR));
    world.store.commit(Commit { inbound: inbound.collect(), finished: true, ..old }).await.unwrap();
    world.faults.fail(&["remove_finished"], usize::MAX);
    let usher = world.start(NOW).await;
    let store = &usher.faults;
    let kinds: [Methods; 3] = [&["remove_finished"], &["forget_inbound"], &["forget_kept_keys"]];
    let calls = || kinds.map(|kind| store.calls(kind));
    usher.passing(Duration::from_secs(10), store.called_more_than(&["forget_user_relays"], 0)).await;
    assert_eq!(calls(), [1, 4, 1]);
    usher.clock.turn(HOUR);
    store.called_more_than(&["forget_user_relays"], 1).await;
    assert_eq!(calls(), [2, 5, 2]);
}

const HOUR: Duration = Duration::from_secs(3_600);

/// Reads from every position, as a page and with waiting: each reader gets all later events, or an error that names the gap.
async fn read_from_everywhere(usher: &Running, stream: StreamId, first: u64, next: u64) {
    for after in 0..next + 2 {
        let page = usher.engine.events().read(ShownStream::to_service(stream), after, 10_000).await;
        // A task that has to wait here waits for ever: the clock stands still.
        let waited = usher.engine.events().wait(ShownStream::to_service(stream), after, 10_000, DAY);
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
            usher
                .engine
                .events()
                .read(ShownStream::to_service(stream), 0, 1)
                .await
                .is_ok_and(|page| page.first == Some(first))
        })
        .await;
}

#[tokio::test]
async fn old_events_of_a_reusable_handshake_are_removed_and_readers_notified() {
    let usher = Running::new().await;
    let stream = usher.reusable_handshake("poster").await;
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
    assert_eq!(usher.read(stream, 5).await.events.len(), 2);
    assert_eq!(usher.engine.handshakes().list(&Requester::Service, None, 10).await.unwrap().items[0].accepted, 7);

    let usher = usher.restart(Duration::ZERO).await;
    read_from_everywhere(&usher, stream, 3, 7).await;
    // The newest event stays, however old it is, and the index continues.
    usher.clock.turn(400 * DAY);
    first_is(&usher, stream, 6).await;
    read_from_everywhere(&usher, stream, 6, 7).await;
    scan(&usher, 9, 9, 7).await;
    usher.engine.handshakes().close(&Requester::Service, stream).await.unwrap();
    let page = usher.read(stream, 0).await;
    assert_eq!((page.first, page.next, page.done), (Some(6), 8, true));
}

#[tokio::test]
async fn old_entries_of_the_audit_log_are_removed() {
    let usher = Running::new().await;
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
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn relays_are_kept_only_for_users_still_contacted() {
    let (mut usher, _) = Running::paying().await;
    // A subscriber, one who logs in at times, and another.
    for n in [1, 2, 3] {
        let started = usher.handshake().await;
        usher.receive(n, &user(n), handshake(&token(&started.url), &["wss://theirs"])).await;
        usher.page(started.stream_id, 0).await;
    }
    subscribe(&mut usher, true, NOW.secs() + 5 * 365 * 24 * 3600).await;
    for _ in 0..3 {
        let before = usher.faults.calls(&["keep_user_relays"]);
        usher.clock.turn(300 * DAY);
        usher.authenticate(2).await;
        while usher.next_message().await.0.relays != ["wss://theirs"] {}
        // Once a day the cleanup marks the relays of subscribers as in use.
        usher.until(HOUR, "marked", async || usher.faults.calls(&["keep_user_relays"]) != before).await;
    }
    let relays_of = async |n: u8| usher.store.user_relays(&user(n).public_key()).await.unwrap();
    usher.until(HOUR, "forgotten", async || relays_of(3).await.is_empty()).await;
    assert_eq!([relays_of(1).await, relays_of(2).await], [["wss://theirs"]; 2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_stay_in_the_books_longer_than_their_operations() {
    let (usher, wallet) = Running::paying().await;
    let stream = usher.payment_for(600).await;
    wallet.settle(0);
    wallet.tell(LightningNotification::Reconnected).await;
    assert_eq!(usher.passing(Duration::from_secs(1), statuses(&usher, stream, 1)).await, ["paid"]);
    usher.clock.turn(options().retention);
    let is_gone = async || usher.engine.events().read(ShownStream::to_service(stream), 0, 1).await.is_err();
    usher.until(HOUR, "its operation is kept", is_gone).await;
    // Cleanup has run again.
    usher.passing(HOUR, tokio::time::sleep(Duration::from_millis(200))).await;
    let books = usher.engine.payments().list(&Requester::Service, PaymentFilter::default(), None, 10).await.unwrap();
    assert_eq!(books.items.len(), 1);
}
