//! The audit log: a chain without gaps, and the results of verification after tampering.

use serde_json::json;
use usher_engine::UnixMillis;
use usher_engine::audit::{AuditHead, verify};
use usher_engine::ports::{AuditBounds, AuditKey, AuditLink, AuditRecord, Commit, Committed, NewAuditEntry};

use super::{FullStore, Subject, commit_done, create, id, step};

/// The key of these tests.
pub fn audit_key() -> AuditKey {
    AuditKey::of_service(&[7; 32])
}

/// The entry of the `number`th request, made at this time.
pub fn audit_entry(number: u64) -> NewAuditEntry {
    let record = AuditRecord {
        at: UnixMillis(number),
        actor: "token".to_owned(),
        address: "203.0.113.7".to_owned(),
        action: "requestPayment".to_owned(),
        details: String::new(),
        outcome: "ok".to_owned(),
        request_id: format!("request-{number}, \u{1F511}"),
    };
    let details = json!({ "amount_millisats": number }).as_object().cloned().unwrap_or_default();
    NewAuditEntry { record, details, key: audit_key() }
}

async fn head(store: &dyn FullStore, expected: u64) -> AuditHead {
    let found = verify(store, &audit_key(), None).await.unwrap();
    assert_eq!(found.fault, None);
    let head = found.head.unwrap();
    assert_eq!(head.sequence, expected);
    head
}

/// Entries of commits, and others.
pub async fn entries_are_chained_in_order(mut subject: impl Subject) {
    let store = subject.store();
    let start = AuditLink::START;
    assert_eq!(store.audit_bounds().await.unwrap(), AuditBounds { first: start, last: start });
    assert_eq!(store.audit_entries(0, 10).await.unwrap(), []);
    store.add_audit_entry(audit_entry(1)).await.unwrap();
    commit_done(&*store, Commit { audit: Some(audit_entry(2)), ..create(id(1)) }).await;
    commit_done(&*store, create(id(2))).await;
    commit_done(&*store, Commit { audit: Some(audit_entry(3)), ..step(id(1), 1) }).await;
    let store = subject.reopened(store).await;
    store.add_audit_entry(audit_entry(4)).await.unwrap();
    let entries = store.audit_entries(0, 10).await.unwrap();
    assert_eq!(entries.iter().map(|entry| entry.sequence).collect::<Vec<_>>(), [1, 2, 3, 4]);
    for (number, entry) in (1..).zip(&entries) {
        let expected = audit_entry(number).record;
        let details = format!(r#"{{"amount_millisats":{number}}}"#);
        assert_eq!(entry.record, AuditRecord { details, ..expected });
    }
    assert_eq!(store.audit_entries(1, 2).await.unwrap(), entries[1..3]);
    assert_eq!(store.audit_entries(4, 2).await.unwrap(), []);
    assert_eq!(head(&*store, 4).await.hash, entries[3].hash);
}

/// An entry is stored only if its commit is.
pub async fn an_entry_is_added_with_its_commit_or_not_at_all(store: &dyn FullStore) {
    commit_done(store, create(id(1))).await;
    let conflict = Commit { audit: Some(audit_entry(1)), ..create(id(1)) };
    assert!(matches!(store.commit(conflict).await.unwrap(), Committed::Conflict(_)));
    let both = vec![Commit { audit: Some(audit_entry(1)), ..create(id(2)) }, create(id(1))];
    store.commit_all(both).await.unwrap();
    assert_eq!(store.audit_entries(0, 10).await.unwrap(), []);
    let both = vec![Commit { audit: Some(audit_entry(1)), ..create(id(2)) }, create(id(3))];
    store.commit_all(both).await.unwrap();
    head(store, 1).await;
}

/// Many at once, in shared transactions.
pub async fn concurrent_entries_are_chained(subject: impl Subject) {
    let store = subject.store();
    let commits = (100..300_u64).map(|number| {
        let store = store.clone();
        let commit = Commit { audit: Some(audit_entry(number)), ..create(id(number)) };
        super::task(async move {
            store.commit(commit).await.unwrap();
            store.add_audit_entry(audit_entry(number)).await.unwrap();
        })
    });
    for commit in commits.collect::<Vec<_>>() {
        commit.await.unwrap();
    }
    head(&*store, 400).await;
}

/// The rest still verifies.
pub async fn old_entries_are_removed_from_the_beginning(store: &dyn FullStore) {
    for number in [10, 20, 30, 25, 40, 50] {
        store.add_audit_entry(audit_entry(number)).await.unwrap();
    }
    let key = audit_key();
    assert_eq!(store.forget_audit_entries(UnixMillis(10), 10, &key).await.unwrap(), 0);
    assert_eq!(store.forget_audit_entries(UnixMillis(30), 1, &key).await.unwrap(), 1);
    assert_eq!(store.forget_audit_entries(UnixMillis(30), 10, &key).await.unwrap(), 1, "none after one that stays");
    let first = store.audit_bounds().await.unwrap().first;
    assert_eq!(first.sequence, 2);
    let found = verify(store, &key, None).await.unwrap();
    assert_eq!((found.removed, found.fault), (2, None));
    let other = AuditKey::of_service(&[8; 32]);
    assert_eq!(store.forget_audit_entries(UnixMillis(99), 10, &other).await.unwrap(), 0, "not what does not verify");
    assert_eq!(store.forget_audit_entries(UnixMillis(99), 10, &key).await.unwrap(), 4);
    assert_eq!(store.audit_entries(0, 10).await.unwrap(), []);
    let found = verify(store, &key, None).await.unwrap();
    assert_eq!((found.removed, found.head, found.fault), (6, None, None));
    store.add_audit_entry(audit_entry(60)).await.unwrap();
    head(store, 7).await;
}
