//! Tampering with the audit log by an attacker with write access to the database file, without the key.

use usher_engine::UnixMillis;
use usher_engine::audit::{AuditFault, AuditHead, verify};
use usher_engine::ports::{AuditKey, AuditReader, AuditStore as _};
use usher_store::DatabaseInspection;
use usher_store::conformance::{audit_entry, audit_key};

use super::DatabaseFolder;

const UNLOCKED: &str = "DROP TRIGGER audit_log_unchanged; DROP TRIGGER audit_log_kept;";

/// A log of ten entries, the first three of which were removed after their retention.
async fn folder() -> DatabaseFolder {
    let folder = DatabaseFolder::new();
    let store = folder.open();
    for number in 1..=10 {
        store.add_audit_entry(audit_entry(number)).await.unwrap();
    }
    assert_eq!(store.forget_audit_entries(UnixMillis(4), 10, &audit_key()).await.unwrap(), 3);
    store.close().await;
    folder
}

async fn fault(log: &dyn AuditReader, noted: Option<AuditHead>) -> Option<AuditFault> {
    verify(log, &audit_key(), noted).await.unwrap().fault
}

/// What verification says after this was done to the database, without the service and with it; and after the service has added
/// another entry.
async fn after(sql: &str) -> [Option<AuditFault>; 2] {
    let folder = folder().await;
    folder.raw().execute_batch(&format!("{UNLOCKED}{sql}")).unwrap();
    let inspected = fault(&DatabaseInspection::open(&folder.path()).unwrap(), None).await;
    // The triggers are missing: the service would report this, and refuse to start.
    let triggers =
        include_str!("../../../migrations/sqlite/0021_audit_log.sql").split_once("CREATE TRIGGER").unwrap().1;
    folder.raw().execute_batch(&format!("CREATE TRIGGER{triggers}")).unwrap();
    let store = folder.open();
    assert_eq!(fault(&store, None).await, inspected, "{sql}");
    store.add_audit_entry(audit_entry(11)).await.unwrap();
    let later = fault(&store, None).await;
    store.close().await;
    [inspected, later]
}

#[tokio::test]
async fn every_change_is_found_and_the_first_wrong_entry_is_named() {
    use AuditFault::{Added, Changed, CutAtEnd, End, Missing};
    assert_eq!(after("").await, [None, None]);
    for column in ["actor", "address", "action", "details", "outcome", "request_id"] {
        let edited = format!("UPDATE audit_log SET {column} = 'x' WHERE sequence = 6;");
        assert_eq!(after(&edited).await, [Some(Changed(6)); 2], "{column}");
    }
    // A text that moves from one column to the next.
    let moved = "UPDATE audit_log SET actor = 'toke', address = 'n203.0.113.7' WHERE sequence = 6;";
    let copied = "INSERT INTO audit_log SELECT 7, at, actor, address, action, details, outcome, request_id, hash
        FROM audit_log WHERE sequence = 6;";
    let shifted = "UPDATE audit_log SET sequence = -sequence WHERE sequence > 6;
        UPDATE audit_log SET sequence = 1 - sequence WHERE sequence < 0;";
    let closed =
        "DELETE FROM audit_log WHERE sequence = 6; UPDATE audit_log SET sequence = sequence - 1 WHERE sequence > 6;
        UPDATE audit_chain SET sequence = 9 WHERE bound = 'last';";
    let swapped =
        "UPDATE audit_log SET sequence = -6 WHERE sequence = 6; UPDATE audit_log SET sequence = 6 WHERE sequence = 7;
        UPDATE audit_log SET sequence = 7 WHERE sequence = -6;";
    for (sql, expected) in [
        ("UPDATE audit_log SET at = 5 WHERE sequence = 6;", [Some(Changed(6)); 2]),
        ("UPDATE audit_log SET at = -6 WHERE sequence = 6;", [Some(Changed(6)); 2]),
        ("UPDATE audit_log SET hash = x'00' WHERE sequence = 6;", [Some(Changed(6)); 2]),
        (moved, [Some(Changed(6)); 2]),
        ("DELETE FROM audit_log WHERE sequence = 6;", [Some(Missing(6)); 2]),
        (closed, [Some(Changed(6)); 2]),
        (&format!("{shifted}{copied}"), [Some(Changed(7)); 2]),
        (swapped, [Some(Changed(6)); 2]),
        // Cut at the end, and the end of the chain with it, as far as that is possible without the key.
        ("DELETE FROM audit_log WHERE sequence > 8;", [Some(CutAtEnd(9, 10)), Some(Missing(9))]),
        (
            "DELETE FROM audit_log WHERE sequence > 8; UPDATE audit_chain SET sequence = 8 WHERE bound = 'last';",
            [Some(End(8)), Some(Changed(9))],
        ),
        (
            "DELETE FROM audit_log WHERE sequence > 8; DELETE FROM audit_chain WHERE bound = 'last';",
            [Some(End(8)), Some(Changed(9))],
        ),
        ("DELETE FROM audit_log;", [Some(CutAtEnd(4, 10)), Some(Missing(4))]),
        // Cut at the beginning, as retention does it.
        ("DELETE FROM audit_log WHERE sequence < 6;", [Some(Missing(4)); 2]),
        (
            "DELETE FROM audit_log WHERE sequence < 6; UPDATE audit_chain SET sequence = 5 WHERE bound = 'first';",
            [Some(Changed(6)); 2],
        ),
        // Emptied, as if everything had been removed after its retention.
        (
            "DELETE FROM audit_log; UPDATE audit_chain SET (sequence, link) =
                (SELECT sequence, link FROM audit_chain WHERE bound = 'last') WHERE bound = 'first';",
            [Some(End(10)), Some(Changed(11))],
        ),
        // Added before the beginning.
        (
            "INSERT INTO audit_log SELECT 2, at, actor, address, action, details, outcome, request_id, hash
                FROM audit_log WHERE sequence = 6;",
            [Some(Added(2, 3)); 2],
        ),
        ("UPDATE audit_chain SET link = x'00' WHERE bound = 'first';", [Some(Changed(4)); 2]),
        ("UPDATE audit_chain SET link = zeroblob(32) WHERE bound = 'last';", [Some(End(10)), Some(Changed(11))]),
        // Added at the end.
        (
            "INSERT INTO audit_log VALUES (11, 11, 'token', '', 'a', '{}', 'ok', '', zeroblob(32));",
            [Some(Changed(11)); 2],
        ),
    ] {
        assert_eq!(after(sql).await, expected, "{sql}");
    }
}

#[tokio::test]
async fn what_was_changed_is_not_removed_by_retention() {
    let folder = folder().await;
    // So that it seems old.
    folder
        .raw()
        .execute_batch(&format!("{UNLOCKED} UPDATE audit_log SET at = 0 WHERE sequence BETWEEN 6 AND 9"))
        .unwrap();
    let triggers =
        include_str!("../../../migrations/sqlite/0021_audit_log.sql").split_once("CREATE TRIGGER").unwrap().1;
    folder.raw().execute_batch(&format!("CREATE TRIGGER{triggers}")).unwrap();
    let store = folder.open();
    assert_eq!(store.forget_audit_entries(UnixMillis(100), 10, &audit_key()).await.unwrap(), 2);
    assert_eq!(fault(&store, None).await, Some(AuditFault::Changed(6)));
    store.close().await;
}

#[tokio::test]
async fn another_services_key_fails_at_the_first_entry() {
    let folder = folder().await;
    let other = AuditKey::of_service(&[8; 32]);
    let found = verify(&DatabaseInspection::open(&folder.path()).unwrap(), &other, None).await.unwrap();
    assert_eq!((found.head, found.fault), (None, Some(AuditFault::Changed(4))));
}

/// The chain of an older state is whole: only a head that was noted elsewhere shows that it is old.
#[tokio::test]
async fn database_that_was_set_back_differs_from_the_noted_head() {
    let folder = folder().await;
    let old = std::fs::read(folder.path()).unwrap();
    let store = folder.open();
    store.add_audit_entry(audit_entry(11)).await.unwrap();
    store.add_audit_entry(audit_entry(12)).await.unwrap();
    let noted = verify(&store, &audit_key(), None).await.unwrap().head.unwrap();
    assert_eq!(fault(&store, Some(noted)).await, None);
    let text = noted.to_string();
    assert_eq!(text.parse::<AuditHead>().unwrap(), noted);
    for wrong in ["", "12", "12:", &text[..text.len() - 1], &text.replace(':', ";"), &format!("{text}0")] {
        assert!(wrong.parse::<AuditHead>().is_err(), "{wrong}");
    }
    store.close().await;

    std::fs::write(folder.path(), old).unwrap();
    let store = folder.open();
    assert_eq!(fault(&store, None).await, None);
    assert_eq!(fault(&store, Some(noted)).await, Some(AuditFault::SetBack(12)));
    // And then it went on.
    for number in [21, 22, 23] {
        store.add_audit_entry(audit_entry(number)).await.unwrap();
    }
    assert_eq!(fault(&store, Some(noted)).await, Some(AuditFault::Rewritten(12)));
    store.close().await;
}

#[tokio::test]
async fn the_database_itself_refuses_mistakes() {
    let folder = folder().await;
    for sql in
        ["UPDATE audit_log SET actor = 'x'", "DELETE FROM audit_log", "DELETE FROM audit_log WHERE sequence = 10"]
    {
        let error = folder.raw().execute_batch(sql).unwrap_err().to_string();
        assert!(error.contains("audit log"), "{sql}: {error}");
    }
}
