//! Files that something has damaged: errors, never a panic, and never a hang.

use std::fs;
use std::sync::OnceLock;

use proptest::prelude::*;
use usher_engine::UnixMillis;
use usher_engine::ports::{
    AnswerStore as _, Commit, DeliveryStatus, DeliveryStore as _, OutboxChange, SettingStore as _, Store as _,
    StoreError, UserRelays,
};
use usher_store::SqliteStore;
use usher_store::conformance::{
    accepted, answer_key, commit_done, create, event, given_up, id, inbound, keep, key, message, public_key, step,
};

use super::{Place, chain, open};

async fn filled() -> Place {
    let place = Place::new();
    let store = place.open();
    for n in 0..60 {
        let commit = Commit {
            claims: vec![key(&n.to_string())],
            events: vec![event(0), event(1)],
            outbox: OutboxChange::Replace(vec![message(n)]),
            inbound: vec![inbound(n)],
            user_relays: vec![UserRelays { main_key: public_key(n), relays: vec!["wss://a".to_owned()] }],
            deliver: true,
            answer: Some(keep(n, n, 0)),
            ..create(id(n))
        };
        commit_done(&store, commit).await;
        if n % 2 == 0 {
            assert!(store.record_attempt(accepted(id(n), 0, n)).await.unwrap());
            assert!(store.record_attempt(given_up(id(n), 1, n)).await.unwrap());
        }
        store.set_setting(&n.to_string(), Some("set")).await.unwrap();
        if n % 3 == 0 {
            commit_done(&store, Commit { finished: true, ..step(id(n), 1) }).await;
        }
    }
    store.close().await;
    place
}

/// Asks and does everything; says whether anything failed.
async fn exercise(store: &SqliteStore) -> bool {
    let mut failed = store.open_operations(None, 1_000).await.is_err();
    for n in 0..60 {
        failed |= store.operation(id(n)).await.is_err();
        failed |= store.events(id(n), 0, 10).await.is_err();
        failed |= store.outbox(id(n)).await.is_err();
        failed |= store.user_relays(&public_key(n)).await.is_err();
        failed |=
            store.commit(Commit { finished: true, inbound: vec![inbound(100 + n)], ..step(id(n), 1) }).await.is_err();
        failed |= store.next_delivery(id(n)).await.is_err();
        failed |= store.record_attempt(accepted(id(n), 0, n)).await.is_err();
        failed |= store.retry_delivery(id(n), 1, UnixMillis(n), None).await.is_err();
        failed |= store.answer(&answer_key(n)).await.is_err();
        failed |= store.keep_answer(keep(n, n, n)).await.is_err();
        failed |= store.setting(&n.to_string()).await.is_err();
        failed |= store.set_setting(&n.to_string(), None).await.is_err();
    }
    for status in DeliveryStatus::ALL {
        failed |= store.deliveries(status, None, 1_000).await.is_err();
    }
    failed |= store.pending_streams(None, 1_000).await.is_err();
    failed |= store.count_deliveries().await.is_err();
    failed |= store.forget_deliveries(UnixMillis(u64::MAX), 1_000).await.is_err();
    failed |= store.forget_answers(UnixMillis(u64::MAX), 1_000).await.is_err();
    failed |= store.forget_user_relays(UnixMillis(u64::MAX), 1_000).await.is_err();
    failed |= store.remove_finished(UnixMillis(u64::MAX), 1_000).await.is_err();
    failed |= store.forget_inbound(UnixMillis(u64::MAX), 1_000).await.is_err();
    store.close().await;
    failed
}

#[tokio::test]
async fn a_truncated_file_is_an_error() {
    let place = filled().await;
    let whole = fs::read(place.path()).unwrap();
    for length in [1, 99, 100, 512, 4_096, whole.len() / 2, whole.len() - 4_096] {
        let place = Place::new();
        fs::write(place.path(), &whole[..length]).unwrap();
        match open(&place.path()) {
            Err(error) => assert!(!chain(&error).is_empty()),
            Ok(store) => assert!(exercise(&store).await, "{length} of {} bytes and nothing noticed", whole.len()),
        }
    }
}

#[tokio::test]
async fn rows_of_an_unknown_kind_are_unreadable() {
    let place = filled().await;
    let raw = place.raw();
    raw.execute("UPDATE operations SET kind = 200 WHERE id = ?1", [id(1).as_bytes()]).unwrap();
    raw.execute("UPDATE events SET type = 'Future' WHERE stream = ?1", [id(2).as_bytes()]).unwrap();
    raw.execute("UPDATE user_relays SET relays = '{' WHERE main_key = ?1", [public_key(4).as_bytes()]).unwrap();
    raw.execute("UPDATE outbox SET recipients = x'00' WHERE operation = ?1", [id(4).as_bytes()]).unwrap();
    raw.execute("UPDATE operations SET revision = -1 WHERE id = ?1", [id(5).as_bytes()]).unwrap();
    raw.execute("UPDATE deliveries SET status = 9 WHERE stream = ?1", [id(6).as_bytes()]).unwrap();
    raw.execute("DELETE FROM events WHERE stream = ?1", [id(7).as_bytes()]).unwrap();
    raw.execute("UPDATE answers SET fingerprint = x'00' WHERE key = ?1", [answer_key(8).0]).unwrap();
    drop(raw);
    let store = place.open();
    let open = store.open_operations(None, 100).await.unwrap();
    assert_eq!(open.iter().filter(|open| open.damaged).map(|open| open.id).collect::<Vec<_>>(), [id(1)]);
    assert_eq!(open.iter().find(|open| open.id == id(1)).unwrap().correlations, [key("1")]);
    assert!(matches!(store.operation(id(1)).await, Err(StoreError::Unreadable(_))));
    assert!(matches!(store.events(id(2), 0, 10).await, Err(StoreError::Unreadable(_))));
    assert!(matches!(store.user_relays(&public_key(4)).await, Err(StoreError::Unreadable(_))));
    assert!(matches!(store.outbox(id(4)).await, Err(StoreError::Unreadable(_))));
    assert!(matches!(store.commit(step(id(5), 1)).await, Err(StoreError::Unreadable(_))));
    assert!(matches!(store.delivery(id(6), 0).await, Err(StoreError::Unreadable(_))));
    assert!(matches!(store.next_delivery(id(7)).await, Err(StoreError::Unreadable(_))), "its event is gone");
    assert!(matches!(store.answer(&answer_key(8)).await, Err(StoreError::Unreadable(_))));
    assert!(store.operation(id(2)).await.unwrap().is_some(), "the others can be read");
    let listed = store.damaged_rows(100).await.unwrap();
    let mut listed: Vec<_> = listed.iter().map(|row| (row.table.as_str(), row.id.clone())).collect();
    // Deliveries are read in no order.
    listed[5..11].sort();
    let (row, event) = (|n| id(n).to_string(), |n, index| format!("{}:{index}", id(n)));
    assert_eq!(
        listed,
        [
            ("operations", row(1)),
            ("operations", row(5)),
            ("events", event(2, 0)),
            ("events", event(2, 1)),
            ("outbox", row(4)),
            ("deliveries", event(2, 0)),
            ("deliveries", event(2, 1)),
            ("deliveries", event(6, 0)),
            ("deliveries", event(6, 1)),
            ("deliveries", event(7, 0)),
            ("deliveries", event(7, 1)),
            ("user_relays", public_key(4).as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()),
        ]
    );
    assert_eq!(store.damaged_rows(3).await.unwrap().len(), 3);
    // A whole page, whatever lies between.
    assert_eq!(store.deliveries(DeliveryStatus::Pending, None, 5).await.unwrap().len(), 5);
}

#[tokio::test]
async fn a_corrupt_file_is_another_thing_than_a_damaged_row() {
    let place = filled().await;
    let mut bytes = fs::read(place.path()).unwrap();
    // The head and the schema stay: the file opens.
    let root: usize = place
        .raw()
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'events'", [], |row| row.get(0))
        .unwrap();
    bytes[(root - 1) * 4_096..root * 4_096].fill(0xA5);
    fs::write(place.path(), bytes).unwrap();
    let store = place.open();
    assert!(store.check().await.is_ok(), "nobody has looked yet");
    let failed = store.damaged_rows(10).await;
    assert!(matches!(failed, Err(StoreError::Failed(_))), "{failed:?}");
    assert!(store.check().await.is_err(), "it is not well any more");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bytes_never_panic(flips in prop::collection::vec((any::<prop::sample::Index>(), 1..=255_u8), 1..40)) {
        static WHOLE: OnceLock<Vec<u8>> = OnceLock::new();

        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let whole = WHOLE.get_or_init(|| fs::read(runtime.block_on(filled()).path()).unwrap());
        runtime.block_on(async {
            let place = Place::new();
            let mut bytes = whole.clone();
            for (index, flip) in flips {
                let length = bytes.len();
                bytes[index.index(length)] ^= flip;
            }
            fs::write(place.path(), bytes).unwrap();
            if let Ok(store) = open(&place.path()) {
                exercise(&store).await;
            }
        });
    }
}
