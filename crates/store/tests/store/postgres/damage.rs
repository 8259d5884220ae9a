//! Damaged rows: each concerns only who needs it.

use usher_engine::UnixMillis;
use usher_engine::ports::{Commit, DeliveryStatus, DeliveryStore as _, OpenIdStore as _, Store as _, StoreError};
use usher_store::conformance::{commit_done, create, event, id, key, step};

use super::Place;

#[tokio::test]
async fn damaged_rows_concern_only_who_needs_them() {
    let place = Place::new().await;
    let (_, store) = place.open(&place.options()).await;
    for number in 1..=4 {
        let claims = vec![key(&number.to_string())];
        let commit = Commit { claims, deliver: true, events: vec![event(0), event(1)], ..create(id(number)) };
        commit_done(&*store, commit).await;
    }
    place
        .psql("UPDATE operations SET kind = 200 WHERE id = (SELECT id FROM operations ORDER BY id DESC LIMIT 1)")
        .await;
    place
        .psql(
            "UPDATE operations SET correlations = '\\x01' WHERE id =
            (SELECT id FROM operations ORDER BY id DESC LIMIT 1 OFFSET 1)",
        )
        .await;
    place.psql("DELETE FROM events WHERE stream = (SELECT stream FROM events ORDER BY 1 LIMIT 1) AND idx = 0").await;
    place
        .psql("INSERT INTO operations SELECT '\\x05', kind, state, revision, 0, NULL, 0, '' FROM operations LIMIT 1")
        .await;

    for number in [3, 4] {
        let read = store.operation(id(number)).await;
        assert!(matches!(read, Err(StoreError::Unreadable(_))), "{read:?}");
    }
    let damaged: Vec<_> = store.open_operations(None, 10).await.unwrap().iter().map(|open| open.damaged).collect();
    assert_eq!(damaged, [false, false, false, true, true], "the reserved stream first");

    // In one group.
    let (good, bad) = tokio::join!(store.commit(step(id(2), 1)), store.commit(step(id(3), 1)));
    assert!(good.is_ok(), "{good:?}");
    assert!(matches!(bad, Err(StoreError::Unreadable(_))), "{bad:?}");

    let next = store.next_delivery(id(1)).await;
    assert!(matches!(next, Err(StoreError::Unreadable(_))), "{next:?}");
    assert_eq!(store.deliveries(DeliveryStatus::Pending, None, 3).await.unwrap().len(), 3, "without that one");
    assert_eq!(store.set_aside_delivery(id(1), UnixMillis(9)).await.unwrap(), Some((id(1), 0)));
    assert_eq!(store.next_delivery(id(1)).await.unwrap().unwrap().event.index, 1);

    place.psql("INSERT INTO openid_consents VALUES ('a', 'b', 'c', -1)").await;
    assert!(matches!(store.openid_consent("a", "b").await, Err(StoreError::Unreadable(_))));
}
