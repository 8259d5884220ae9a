//! Tampering with the audit log by an attacker with write access to the database, without the key.

use usher_engine::audit::{AuditFault, verify};
use usher_engine::ports::{AuditReader, AuditStore as _};
use usher_store::PostgresInspection;
use usher_store::conformance::{audit_entry, audit_key};

use super::Place;

async fn fault(log: &dyn AuditReader) -> Option<AuditFault> {
    verify(log, &audit_key(), None).await.unwrap().fault
}

#[tokio::test]
async fn every_change_is_found_and_the_first_wrong_entry_is_named() {
    let place = Place::new().await;
    let (_, store) = place.open(&place.options()).await;
    for number in 1..=10 {
        store.add_audit_entry(audit_entry(number)).await.unwrap();
    }
    for refused in ["UPDATE audit_log SET actor = 'x'", "DELETE FROM audit_log WHERE sequence = 10"] {
        let (server, database) = (place.server, place.database.clone());
        assert!(tokio::task::spawn_blocking(move || server.psql(&database, refused)).await.is_err(), "{refused}");
    }
    assert_eq!(fault(&*store).await, None);
    place.psql("ALTER TABLE audit_log DISABLE TRIGGER audit_log_kept").await;
    place.psql("DELETE FROM audit_log WHERE sequence > 9").await;
    assert_eq!(fault(&*store).await, Some(AuditFault::CutAtEnd(10, 10)));
    place.psql("DELETE FROM audit_log WHERE sequence = 7").await;
    assert_eq!(fault(&*store).await, Some(AuditFault::Missing(7)));
    place.psql("UPDATE audit_log SET at = at - 1 WHERE sequence = 5").await;
    let inspection = PostgresInspection::open(&place.options()).await.unwrap().unwrap();
    assert_eq!(fault(&inspection).await, Some(AuditFault::Changed(5)));
    store.close().await;
}
