//! Damaged files: errors, never a panic, and never a hang.

use std::collections::BTreeSet;
use std::fs;

use usher_engine::UnixMillis;
use usher_engine::ports::{
    Commit, CounterAdvance, DeliveryStatus, DeliveryStore as _, IdempotencyStore as _, OutboxChange, SettingStore as _,
    Store as _, StoreError, TicketCommit, TicketCommitted, TicketConflict, TicketStore as _, UserRelays,
};
use usher_store::conformance::{
    accepted, commit_done, create, event, event as event_of, given_up, id, idempotency_key, inbound, key, message,
    new_record, proof, proof_id, public_key, step, ticket_job, ticket_step,
};
use usher_store::{DatabaseInspection, OpenError};

use super::{DatabaseFolder, open};

async fn filled() -> DatabaseFolder {
    let folder = DatabaseFolder::new();
    let store = folder.open();
    for n in 0..60 {
        let commit = Commit {
            claims: vec![key(&n.to_string())],
            events: vec![event(0), event(1)],
            outbox: OutboxChange::Replace(vec![message(n)]),
            inbound: vec![inbound(n)],
            user_relays: vec![UserRelays { main_key: public_key(n), relays: vec!["wss://a".to_owned()] }],
            deliver: true,
            idempotency_record: Some(new_record(n, n, 0)),
            ..create(id(n))
        };
        commit_done(&store, commit).await;
        if n % 2 == 0 {
            assert!(store.record_attempt(accepted(id(n), 0, n)).await.unwrap());
            assert!(store.record_attempt(given_up(id(n), 1, n)).await.unwrap());
        }
        store.set_setting(&n.to_string(), Some("\"set\"")).await.unwrap();
        let counter = CounterAdvance { mint_url: "https://m".to_owned(), keyset: n.to_string(), from: 0, to: 2 };
        let job = TicketCommit {
            counter: Some(counter),
            claims: vec![proof_id(1_000 + n)],
            add: vec![proof(n, "https://m", "sat", n)],
            ..ticket_step(n, 0)
        };
        store.commit_tickets(job).await.unwrap();
        if n % 3 == 0 {
            commit_done(&store, Commit { finished: true, ..step(id(n), 1) }).await;
        }
    }
    store.close().await;
    folder
}

#[tokio::test]
async fn rows_of_an_unknown_kind_are_unreadable() {
    let folder = filled().await;
    let raw = folder.raw();
    raw.execute("UPDATE operations SET kind = 200 WHERE id = ?1", [id(1).as_bytes()]).unwrap();
    raw.execute("UPDATE events SET type = 'Future' WHERE stream = ?1", [id(2).as_bytes()]).unwrap();
    raw.execute("UPDATE user_relays SET relays = '{' WHERE main_key = ?1", [public_key(4).as_bytes()]).unwrap();
    raw.execute("UPDATE outbox SET recipients = x'00' WHERE operation = ?1", [id(4).as_bytes()]).unwrap();
    raw.execute("UPDATE operations SET revision = -1 WHERE id = ?1", [id(5).as_bytes()]).unwrap();
    raw.execute("UPDATE deliveries SET status = 9 WHERE stream = ?1", [id(6).as_bytes()]).unwrap();
    raw.execute("DELETE FROM events WHERE stream = ?1", [id(7).as_bytes()]).unwrap();
    raw.execute("UPDATE answers SET fingerprint = x'00' WHERE key = ?1", [idempotency_key(8).0]).unwrap();
    drop(raw);
    let store = folder.open();
    let open = store.open_operations(None, 100).await.unwrap();
    assert_eq!(open.iter().filter(|open| open.damaged).map(|open| open.id).collect::<Vec<_>>(), [id(1)]);
    assert_eq!(open.iter().find(|open| open.id == id(1)).unwrap().correlations, [key("1")]);
    assert!(matches!(store.operation(id(1)).await, Err(StoreError::Unreadable(_))));
    assert!(matches!(store.events(id(2), 0, 10).await, Err(StoreError::DamagedEvent { index: 0 })));
    assert!(matches!(store.user_relays(&public_key(4)).await, Err(StoreError::Unreadable(_))));
    assert!(matches!(store.outbox(id(4)).await, Err(StoreError::Unreadable(_))));
    assert!(matches!(store.commit(step(id(5), 1)).await, Err(StoreError::Unreadable(_))));
    assert!(matches!(store.delivery(id(6), 0).await, Err(StoreError::Unreadable(_))));
    assert!(matches!(store.next_delivery(id(7)).await, Err(StoreError::Unreadable(_))), "its event is gone");
    assert!(matches!(store.idempotency_record(&idempotency_key(8)).await, Err(StoreError::Unreadable(_))));
    assert!(store.operation(id(2)).await.unwrap().is_some(), "the others can be read");
    let (row, event) = (|n| id(n).to_string(), |n, index| format!("{}:{index}", id(n)));
    assert_eq!(
        listed(&folder),
        set([
            ("operations", row(1)),
            ("operations", row(5)),
            ("events", event(2, 0)),
            ("events", event(2, 1)),
            ("outbox", row(4) + ":0"),
            ("deliveries", event(2, 0)),
            ("deliveries", event(2, 1)),
            ("deliveries", event(6, 0)),
            ("deliveries", event(6, 1)),
            ("deliveries", event(7, 0)),
            ("deliveries", event(7, 1)),
            ("answers", idempotency_key(8).to_hex()),
            ("user_relays", hex::encode(public_key(4).as_bytes())),
        ])
    );
    // A whole page, whatever lies between.
    assert_eq!(store.deliveries(DeliveryStatus::Pending, None, 5).await.unwrap().len(), 5);
}

/// A claim, a counter or a proof that is forgotten is money that is spent twice, or lost.
#[tokio::test]
async fn damaged_ticket_records_are_never_treated_as_missing() {
    let folder = DatabaseFolder::new();
    let store = folder.open();
    let mint = |n: u64| format!("https://m{n}.example");
    let counter = |n, from, to| Some(CounterAdvance { mint_url: mint(n), keyset: "00ff".to_owned(), from, to });
    for n in 1..=5 {
        let commit = TicketCommit {
            counter: counter(n, 0, 3),
            claims: vec![proof_id(100 + n)],
            add: (0..3).map(|nth| proof(n * 10 + nth, &mint(n), "sat", 1 << nth)).collect(),
            ..ticket_step(n, 0)
        };
        assert_eq!(store.commit_tickets(commit).await.unwrap(), TicketCommitted::Done(1));
    }
    let reserve = TicketCommit { reserve: vec![proof_id(50)], ..ticket_step(6, 0) };
    assert_eq!(store.commit_tickets(reserve).await.unwrap(), TicketCommitted::Done(1));
    store.close().await;

    let raw = folder.raw();
    let change = |sql: &str, key: &[u8]| assert_eq!(raw.execute(sql, [key]).unwrap(), 1, "{sql}");
    change("UPDATE ticket_jobs SET revision = -1 WHERE id = ?1", &ticket_job(1).0);
    change("UPDATE ticket_jobs SET state = '{' WHERE id = ?1", &ticket_job(2).0);
    change("UPDATE ticket_jobs SET finished_at = 9223372036854775807 WHERE id = ?1", &ticket_job(3).0);
    change("DELETE FROM ticket_jobs WHERE id = ?1", &ticket_job(4).0);
    change("DELETE FROM ticket_jobs WHERE id = ?1", &ticket_job(6).0);
    change("UPDATE ticket_claims SET job = x'01' WHERE proof = ?1", &proof_id(102).0);
    change("UPDATE ticket_proofs SET proof = 'half' WHERE id = ?1", &proof_id(10).0);
    change("UPDATE ticket_proofs SET amount = -1 WHERE id = ?1", &proof_id(11).0);
    change("UPDATE ticket_proofs SET unit = CAST(x'ff' AS TEXT) WHERE id = ?1", &proof_id(20).0);
    raw.execute("UPDATE ticket_counters SET next = -1 WHERE mint_url = ?1", [mint(1)]).unwrap();
    raw.execute("UPDATE ticket_counters SET next = 4294967296 WHERE mint_url = ?1", [mint(2)]).unwrap();
    drop(raw);

    let store = folder.open();
    let unreadable = |result: Result<TicketCommitted, StoreError>| matches!(result, Err(StoreError::Unreadable(_)));
    assert!(matches!(store.ticket_job(ticket_job(1)).await, Err(StoreError::Unreadable(_))));
    for expected in [0, 1] {
        assert!(unreadable(store.commit_tickets(ticket_step(1, expected)).await), "nor is it made anew");
    }
    assert_eq!(store.unfinished_ticket_jobs(None, 9).await.unwrap().len(), 3, "with the damaged ones");
    assert!(matches!(store.proof_claim(proof_id(102)).await, Err(StoreError::Unreadable(_))));
    assert!(unreadable(store.commit_tickets(TicketCommit { claims: vec![proof_id(102)], ..ticket_step(9, 0) }).await));
    for n in [1, 2] {
        assert!(matches!(store.ticket_counter(&mint(n), "00ff").await, Err(StoreError::Unreadable(_))));
        let commit = TicketCommit { counter: counter(n, 0, 3), ..ticket_step(9, 0) };
        assert!(unreadable(store.commit_tickets(commit).await), "no secret is derived twice");
    }
    for n in [10, 11, 20] {
        assert!(matches!(store.proofs(&[proof_id(12), proof_id(n)]).await, Err(StoreError::Unreadable(_))));
        let again = TicketCommit { add: vec![proof(n, &mint(1), "sat", 1)], ..ticket_step(9, 0) };
        let there = TicketCommitted::Conflict(TicketConflict::Proof);
        assert_eq!(store.commit_tickets(again).await.unwrap(), there);
    }
    // The others can be spent.
    assert_eq!(store.free_proofs(&mint(1), "sat", 9).await.unwrap(), [proof(12, &mint(1), "sat", 4)]);
    let balances = store.ticket_balances().await.unwrap();
    let amounts: Vec<_> = balances.iter().map(|of| (of.mint_url.clone(), of.amount)).collect();
    assert_eq!(amounts, [(mint(1), 5), (mint(2), 6), (mint(3), 7), (mint(4), 7), (mint(5), 6)]);
    // Rows whose age is unknown are kept.
    assert_eq!(store.remove_ticket_jobs(UnixMillis(u64::MAX >> 2), 9).await.unwrap(), 0);
    assert_eq!(
        listed(&folder),
        set([
            ("ticket_jobs", hex::encode(ticket_job(1).0)),
            ("ticket_jobs", hex::encode(ticket_job(2).0)),
            ("ticket_jobs", hex::encode(ticket_job(3).0)),
            ("ticket_claims", hex::encode(proof_id(102).0)),
            ("ticket_proofs", hex::encode(proof_id(10).0)),
            ("ticket_proofs", hex::encode(proof_id(11).0)),
            ("ticket_proofs", hex::encode(proof_id(20).0)),
            ("ticket_counters", format!("{}#00ff", mint(1))),
            ("ticket_counters", format!("{}#00ff", mint(2))),
        ])
    );
}

fn set<const N: usize>(rows: [(&'static str, String); N]) -> BTreeSet<(&'static str, String)> {
    rows.into()
}

/// What `usher doctor` lists.
fn listed(folder: &DatabaseFolder) -> BTreeSet<(&'static str, String)> {
    let (_, damaged) = DatabaseInspection::open(&folder.path()).unwrap().damaged_rows(|_| true).unwrap();
    damaged.into_iter().map(|row| (row.table, row.id)).collect()
}

#[tokio::test]
async fn impossible_values_are_reported_in_isolation() {
    let folder = filled().await;
    let raw = folder.raw();
    let change = |sql: &str, n: u64| assert!(raw.execute(sql, [id(n).as_bytes()]).unwrap() > 0, "{sql}");
    // These are open: of every three the first is finished. So is the reserved stream.
    change("UPDATE events SET data = 'text' WHERE stream = ?1 AND idx = 1", 1);
    change("UPDATE operations SET next_index = 1000000 WHERE id = ?1", 2);
    change("UPDATE operations SET next_index = 0 WHERE id = ?1", 4);
    change("UPDATE operations SET revision = 9223372036854775807 WHERE id = ?1", 7);
    change("UPDATE operations SET wake_at = 9223372036854775807 WHERE id = ?1", 8);
    change("UPDATE operations SET finished_at = -1 WHERE id = ?1", 9);
    change("UPDATE operations SET finished_at = 9223372036854775807 WHERE id = ?1", 12);
    change("UPDATE events SET at = -1 WHERE stream = ?1 AND idx = 0", 10);
    change("DELETE FROM events WHERE stream = ?1 AND idx = 1", 13);
    change("UPDATE deliveries SET last_attempt_at = -1 WHERE stream = ?1 AND idx = 1", 14);
    raw.execute("UPDATE operations SET id = x'00' WHERE id = ?1", [id(16).as_bytes()]).unwrap();
    raw.execute("UPDATE operations SET id = x'' WHERE id = ?1", [id(17).as_bytes()]).unwrap();
    raw.execute("UPDATE settings SET value = '{' WHERE name = '3'", []).unwrap();
    raw.execute("UPDATE settings SET value = CAST(x'22ff22' AS TEXT) WHERE name = '4'", []).unwrap();
    raw.execute("UPDATE answers SET at = -1 WHERE key = ?1", [idempotency_key(5).0]).unwrap();
    raw.execute("UPDATE answers SET status = 20 WHERE key = ?1", [idempotency_key(6).0]).unwrap();
    raw.execute("UPDATE correlations SET operation = x'01' WHERE key = ?1", [key("7").as_bytes()]).unwrap();
    raw.execute("UPDATE inbound SET at = -1 WHERE id = ?1", [inbound(8).as_bytes()]).unwrap();
    drop(raw);
    let store = folder.open();
    let (row, event) = (|n| id(n).to_string(), |n, index| format!("{}:{index}", id(n)));
    assert_eq!(
        listed(&folder),
        set([
            ("events", event(1, 1)),
            ("deliveries", event(1, 1)),
            ("operations", row(2)),
            ("operations", row(7)),
            ("operations", row(8)),
            ("operations", row(9)),
            ("operations", row(12)),
            ("events", event(10, 0)),
            ("deliveries", event(10, 0)),
            ("deliveries", event(13, 1)),
            ("deliveries", event(14, 1)),
            ("operations", "00".to_owned()),
            ("operations", "(empty)".to_owned()),
            ("settings", "3".to_owned()),
            ("settings", "4".to_owned()),
            ("answers", idempotency_key(5).to_hex()),
            ("answers", idempotency_key(6).to_hex()),
            ("correlations", hex::encode(key("7").as_bytes())),
            ("inbound", hex::encode(inbound(8).as_bytes())),
        ])
    );
    // Rows without a usable id do not make a page short: it would be taken for the last one.
    assert_eq!(store.open_operations(None, 5).await.unwrap().len(), 5);
    assert_eq!(store.pending_queues(None, 5).await.unwrap().len(), 5);
    // An event is never overwritten, and a row with an impossible time is not treated as old.
    commit_done(&store, Commit { events: vec![event_of(9)], ..step(id(4), 1) }).await;
    assert_eq!(store.events(id(4), 0, 10).await.unwrap().len(), 3);
    assert!(matches!(store.commit(step(id(2), 1)).await, Err(StoreError::Unreadable(_))));
    store.remove_finished(UnixMillis(u64::MAX), 1_000).await.unwrap();
    assert_eq!(store.events(id(9), 0, 10).await.unwrap().len(), 2);
    store.forget_deliveries(UnixMillis(u64::MAX >> 1), 1_000).await.unwrap();
    assert!(matches!(store.delivery(id(14), 1).await, Err(StoreError::Unreadable(_))));
    // A request may have been carried out: its key is not free.
    assert!(!store.add_idempotency_record(new_record(5, 100, 0)).await.unwrap());
}

#[test]
fn incomplete_schema_is_refused_and_the_missing_part_named() {
    for (sql, missing) in [
        ("DROP TABLE settings", "the table settings"),
        ("DROP INDEX inbound_at", "the index inbound_at"),
        ("ALTER TABLE outbox DROP COLUMN made_at", "the column made_at of the table outbox"),
    ] {
        let folder = DatabaseFolder::new();
        drop(folder.open());
        folder.raw().execute_batch(sql).unwrap();
        let error = open(&folder.path()).err().unwrap();
        assert!(matches!(error, OpenError::Incomplete { .. }), "{error:?}");
        assert!(error.to_string().ends_with(&format!("is incomplete: {missing} is missing")), "{error}");
        let inspection = DatabaseInspection::open(&folder.path()).unwrap();
        assert_eq!(inspection.missing().unwrap(), [missing]);
    }
}

#[test]
fn in_use_check_does_not_disturb_the_database() {
    let folder = DatabaseFolder::new();
    assert_eq!(DatabaseInspection::is_in_use(&folder.path()), Some(false), "it is not there");
    let store = folder.open();
    assert_eq!(DatabaseInspection::is_in_use(&folder.path()), Some(true));
    drop(store);
    assert_eq!(DatabaseInspection::is_in_use(&folder.path()), Some(false));
    drop(folder.open());
}

#[tokio::test]
async fn corrupt_file_is_distinguished_from_a_damaged_row() {
    let folder = filled().await;
    let mut bytes = fs::read(folder.path()).unwrap();
    // The head and the schema stay: the file opens.
    let root: usize = folder
        .raw()
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'events'", [], |row| row.get(0))
        .unwrap();
    bytes[(root - 1) * 4_096..root * 4_096].fill(0xA5);
    fs::write(folder.path(), bytes).unwrap();
    let store = folder.open();
    assert!(store.check().await.is_ok(), "nobody has looked yet");
    let failed = store.events(id(1), 0, 10).await;
    assert!(matches!(failed, Err(StoreError::Failed(_))), "{failed:?}");
    assert!(store.check().await.is_err(), "it is not well any more");
}
