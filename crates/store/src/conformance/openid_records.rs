//! Records of the OpenID Connect provider: each single-use secret can be used once.

use std::time::Duration;

use usher_engine::UnixMillis;
use usher_engine::ports::{
    NewOpenIdConsent, OfOpenIdClient, OpenIdConsent, OpenIdQuota, OpenIdRecord, OpenIdRecordId, OpenIdStep,
    OpenIdStepResult,
};

use super::{FullStore, Subject, race};

fn id(number: u8) -> OpenIdRecordId {
    OpenIdRecordId([number; 32])
}

/// The `number`th record.
pub fn record(number: u8, grant: Option<u8>) -> OpenIdRecord {
    OpenIdRecord {
        id: id(number),
        grant: grant.map(|grant| [grant; 16]),
        client_id: Some("shop".to_owned()),
        subject: Some("aa".to_owned()),
        data: format!("{{\"number\":{number},\"text\":\"'; \u{1F511}\"}}"),
        expires_at: UnixMillis(1000 + u64::from(number)),
        used: false,
        quota: OpenIdQuota::Grants,
        visitor: "network 192.0.2.1".to_owned(),
        bytes: 100,
    }
}

/// A user's consent to these scopes.
pub fn consent(client_id: &str, subject: &str, scopes: &str) -> OpenIdConsent {
    let [client_id, subject, scopes] = [client_id, subject, scopes].map(str::to_owned);
    OpenIdConsent { client_id, subject, scopes, at: UnixMillis(7) }
}

/// The use of this record, which adds records and a consent.
pub fn step(of: u8, add: Vec<OpenIdRecord>, consent: Option<OpenIdConsent>) -> OpenIdStep {
    let visitor = "network 192.0.2.1".to_owned();
    let consent = consent.map(|consent| NewOpenIdConsent { consent, visitor, most_of_visitor: 1_000, most: 1_000 });
    OpenIdStep { id: id(of), at: UnixMillis(5_000), grace: Duration::ZERO, add, consent }
}

async fn uses(store: &dyn FullStore, step: OpenIdStep) -> OpenIdStepResult {
    store.use_openid_record(step).await.unwrap()
}

async fn stored(store: &dyn FullStore, number: u8) -> Option<OpenIdRecord> {
    store.openid_record(id(number)).await.unwrap()
}

/// With and without optional fields, also after reopening.
pub async fn openid_records_round_trip(mut subject: impl Subject) {
    let store = subject.store();
    assert_eq!(stored(&*store, 1).await, None);
    let bare = OpenIdRecord { grant: None, client_id: None, subject: None, ..record(2, None) };
    store.add_openid_records(vec![record(1, Some(9)), bare.clone()]).await.unwrap();
    let store = subject.reopened(store).await;
    assert_eq!(stored(&*store, 1).await, Some(record(1, Some(9))));
    assert_eq!(stored(&*store, 2).await, Some(bare));
    let newer = OpenIdRecord { data: "{}".to_owned(), ..record(1, None) };
    store.add_openid_records(vec![newer.clone()]).await.unwrap();
    assert_eq!(stored(&*store, 1).await, Some(newer));
    store.drop_openid_records(vec![id(1), id(3)]).await.unwrap();
    store.drop_openid_records(vec![id(1)]).await.unwrap();
    assert_eq!(stored(&*store, 1).await, None);
}

/// The second use of a code revokes what the first one issued.
pub async fn second_use_removes_the_grant(mut subject: impl Subject) {
    let store = subject.store();
    store.add_openid_records(vec![record(1, Some(9)), record(5, Some(8)), record(6, None)]).await.unwrap();
    let tokens = vec![record(2, Some(9)), record(3, Some(9))];
    assert_eq!(uses(&*store, step(4, tokens.clone(), None)).await, OpenIdStepResult::Unknown);
    assert_eq!(stored(&*store, 2).await, None);
    assert_eq!(uses(&*store, step(1, tokens, None)).await, OpenIdStepResult::Done);
    let store = subject.reopened(store).await;
    assert!(stored(&*store, 1).await.unwrap().used);
    assert!(!stored(&*store, 2).await.unwrap().used);
    let more = step(1, vec![record(4, Some(9))], Some(consent("shop", "aa", "openid")));
    assert_eq!(uses(&*store, more).await, OpenIdStepResult::Replayed);
    for removed in 1..=4 {
        assert_eq!(stored(&*store, removed).await, None, "{removed}");
    }
    assert_eq!(store.openid_consent("shop", "aa").await.unwrap(), None);
    assert_eq!(stored(&*store, 5).await, Some(record(5, Some(8))), "of another grant");

    // One without a grant stays, and revokes nothing.
    assert_eq!(uses(&*store, step(6, Vec::new(), None)).await, OpenIdStepResult::Done);
    assert_eq!(uses(&*store, step(6, Vec::new(), None)).await, OpenIdStepResult::Replayed);
    assert!(stored(&*store, 6).await.unwrap().used);
}

/// Two requests with one code.
pub async fn one_of_two_concurrent_uses_wins(subject: impl Subject) {
    let store = subject.store();
    for round in 0..20 {
        store.add_openid_records(vec![record(1, Some(9))]).await.unwrap();
        let (a, b) = (subject.store(), subject.store());
        let (a, b) = race(
            async move { a.use_openid_record(step(1, vec![record(2, Some(9))], None)).await.unwrap() },
            async move { b.use_openid_record(step(1, vec![record(3, Some(9))], None)).await.unwrap() },
        )
        .await;
        let mut uses = [a, b].map(|of| of == OpenIdStepResult::Done);
        uses.sort_unstable();
        assert_eq!(uses, [false, true], "round {round}");
        for removed in 1..=3 {
            assert_eq!(stored(&*store, removed).await, None);
        }
    }
}

/// Consents are replaced, listed in pages, and revoked with all records of that client and user.
pub async fn consents_are_kept_and_revoked(store: &dyn FullStore) {
    let others = OpenIdRecord { subject: Some("bb".to_owned()), ..record(6, None) };
    store
        .add_openid_records((1..=5).map(|number| record(number, None)).chain([others.clone()]).collect())
        .await
        .unwrap();
    for (number, (client, user, scopes)) in
        [("shop", "aa", "openid"), ("shop", "bb", "openid"), ("forum", "aa", "openid"), ("shop", "aa", "openid email")]
            .into_iter()
            .enumerate()
    {
        let number = u8::try_from(number).unwrap() + 1;
        let used = store.use_openid_record(step(number, Vec::new(), Some(consent(client, user, scopes)))).await;
        assert_eq!(used.unwrap(), OpenIdStepResult::Done);
    }
    let all =
        [consent("forum", "aa", "openid"), consent("shop", "aa", "openid email"), consent("shop", "bb", "openid")];
    assert_eq!(store.openid_consents(None, 10).await.unwrap(), all);
    assert_eq!(store.openid_consents(None, 1).await.unwrap(), all[..1]);
    let after = Some(("forum".to_owned(), "aa".to_owned()));
    assert_eq!(store.openid_consents(after, 1).await.unwrap(), all[1..2]);
    assert_eq!(store.openid_consent("shop", "aa").await.unwrap().as_ref(), Some(&all[1]));
    assert!(store.revoke_openid_consent("shop", "aa").await.unwrap());
    assert!(!store.revoke_openid_consent("shop", "aa").await.unwrap());
    assert_eq!(store.openid_consent("shop", "aa").await.unwrap(), None);
    assert_eq!(stored(store, 5).await, None);
    assert_eq!(stored(store, 6).await, Some(others));
    assert_eq!(store.openid_consents(None, 10).await.unwrap(), [all[0].clone(), all[2].clone()]);
}

/// The setting and what ends of a client change together.
pub async fn what_a_client_has_ends_with_a_change_of_clients(store: &dyn FullStore) {
    let request = OpenIdRecord { quota: OpenIdQuota::Requests, subject: None, ..record(2, None) };
    let other = OpenIdRecord { client_id: Some("forum".to_owned()), ..record(3, None) };
    store.add_openid_records(vec![record(1, None), request, other, record(4, None)]).await.unwrap();
    for (number, client) in [(3, "forum"), (4, "shop")] {
        uses(store, step(number, Vec::new(), Some(consent(client, "aa", "openid")))).await;
    }
    let left = async || {
        let mut left = Vec::new();
        for number in 1..=4 {
            left.extend(stored(store, number).await.map(|_| number));
        }
        (left, store.openid_consents(None, 9).await.unwrap().len())
    };
    for (removed, expected) in [
        (OfOpenIdClient::Nothing, (vec![1, 2, 3, 4], 2)),
        (OfOpenIdClient::Requests, (vec![1, 3, 4], 2)),
        (OfOpenIdClient::Everything, (vec![3], 1)),
    ] {
        let value = format!("\"{removed:?}\"");
        store.set_openid_clients("clients", &value, "shop", removed).await.unwrap();
        assert_eq!(left().await, expected, "{removed:?}");
        assert_eq!(store.setting("clients").await.unwrap(), Some(value));
    }
}

/// The oldest first, in batches.
pub async fn expired_openid_records_are_removed_in_batches(store: &dyn FullStore) {
    store.add_openid_records((1..=5).map(|number| record(number, None)).collect()).await.unwrap();
    let before = UnixMillis(1004);
    let data = |number| record(number, None).data;
    assert_eq!(store.remove_openid_records(before, 2).await.unwrap(), [data(1), data(2)]);
    assert_eq!(stored(store, 2).await, None);
    assert_eq!(stored(store, 3).await, Some(record(3, None)));
    assert_eq!(store.remove_openid_records(before, 2).await.unwrap(), [data(3)]);
    assert!(store.remove_openid_records(before, 2).await.unwrap().is_empty());
    assert_eq!(stored(store, 4).await, Some(record(4, None)));
}

/// The excess is counted by quota and visitor, also after reopening; used records first, then the oldest.
pub async fn openid_records_are_bounded_in_bytes(mut subject: impl Subject) {
    let store = subject.store();
    let of = |number, visitor: &str, bytes| OpenIdRecord { visitor: visitor.to_owned(), bytes, ..record(number, None) };
    let request = OpenIdRecord { quota: OpenIdQuota::Requests, bytes: 1_000, ..record(9, None) };
    store.add_openid_records(vec![of(1, "a", 10), of(2, "b", 20), of(3, "a", 30), of(4, "b", 40)]).await.unwrap();
    store.add_openid_records(vec![request]).await.unwrap();
    // The counts match the stored records after replacing, removing and using them.
    store.add_openid_records(vec![of(1, "a", 11), of(5, "a", 500)]).await.unwrap();
    store.drop_openid_records(vec![id(5), id(5)]).await.unwrap();
    assert_eq!(uses(&*store, step(4, vec![of(6, "b", 60)], None)).await, OpenIdStepResult::Done);
    let store = subject.reopened(store).await;
    let after = async |quota, visitor, most, skip, limit| {
        let over = store.openid_records_over(quota, visitor, most, skip, limit).await.unwrap();
        (over.bytes, over.oldest.into_iter().map(|old| old.id.0[0]).collect::<Vec<_>>())
    };
    let over = async |quota, visitor, most, limit| after(quota, visitor, most, 0, limit).await;
    let fits = (0, Vec::<u8>::new());
    // Of a: 3 (30), 1 (11, added anew). Of b: 4 (40, used), 2 (20), 6 (60).
    let grants = OpenIdQuota::Grants;
    assert_eq!(over(grants, Some("a"), 41, 9).await, fits);
    assert_eq!(over(grants, Some("a"), 40, 9).await, (1, vec![3, 1]));
    assert_eq!(over(grants, Some("a"), 0, 1).await, (41, vec![3]));
    assert_eq!(after(grants, Some("a"), 0, 1, 1).await, (41, vec![1]));
    assert_eq!(after(grants, Some("a"), 0, 2, 1).await, (41, vec![]));
    assert_eq!(over(grants, Some("b"), 60, 9).await, (60, vec![4, 2, 6]));
    assert_eq!(over(grants, Some("c"), 0, 9).await, fits);
    assert_eq!(over(grants, None, 161, 9).await, fits);
    // Of b, which has the most.
    assert_eq!(over(grants, None, 0, 9).await, (161, vec![4, 2, 6]));
    assert_eq!(after(grants, None, 0, 2, 9).await, (161, vec![6]));
    assert_eq!(over(OpenIdQuota::Requests, None, 999, 9).await, (1, vec![9]));
    let oldest = store.openid_records_over(grants, Some("a"), 0, 1, 1).await.unwrap().oldest;
    assert_eq!((oldest[0].bytes, oldest[0].data.clone()), (11, record(1, None).data));

    // Removed with a consent, and by expiry.
    assert!(!store.revoke_openid_consent("shop", "aa").await.unwrap());
    assert_eq!(over(grants, None, 0, 9).await, fits);
    assert_eq!(over(OpenIdQuota::Requests, None, 0, 9).await, fits);
    store.add_openid_records(vec![of(1, "a", 10), of(2, "a", 20)]).await.unwrap();
    assert_eq!(store.remove_openid_records(UnixMillis(1_002), 9).await.unwrap().len(), 1);
    assert_eq!(over(grants, Some("a"), 19, 9).await, (1, vec![2]));
    assert_eq!(over(grants, Some("a"), 20, 9).await, fits);
}

/// Visitors are counted by shared prefixes: the widest network that has the most, then within it the narrower one, and
/// so on.
pub async fn largest_network_makes_room(store: &dyn FullStore) {
    let of = |number: u8, networks: [u8; 3], bytes| {
        let visitor: String = networks.iter().map(|network| format!("{network:016}")).collect();
        OpenIdRecord { visitor: format!("network {visitor}"), bytes, ..record(number, None) }
    };
    let largest = async || {
        let over = store.openid_records_over(OpenIdQuota::Grants, None, 0, 0, 9).await.unwrap();
        over.oldest.into_iter().map(|old| (old.id.0[0], old.visitor)).collect::<Vec<_>>()
    };
    let alone = of(1, [1, 1, 1], 50);
    // Each has less than that one, but together they have more.
    let many = [of(2, [2, 1, 1], 30), of(3, [2, 2, 1], 20), of(4, [2, 2, 2], 21), of(5, [2, 2, 2], 1)];
    store.add_openid_records(vec![alone.clone(), many[0].clone()]).await.unwrap();
    assert_eq!(largest().await, [(1, alone.visitor.clone())]);
    store.add_openid_records(many[1..].to_vec()).await.unwrap();
    assert_eq!(largest().await, [(4, many[2].visitor.clone()), (5, many[3].visitor.clone())]);
    store.drop_openid_records(vec![id(4), id(5)]).await.unwrap();
    store.drop_openid_records(vec![id(2)]).await.unwrap();
    assert_eq!(largest().await, [(1, alone.visitor)]);
}

/// A second use within the grace changes nothing.
pub async fn second_use_within_the_grace_is_harmless(mut subject: impl Subject) {
    let store = subject.store();
    store.add_openid_records(vec![record(1, Some(9))]).await.unwrap();
    let at = |at| OpenIdStep {
        at: UnixMillis(at),
        grace: Duration::from_millis(100),
        ..step(1, vec![record(2, Some(9))], Some(consent("shop", "aa", "openid")))
    };
    assert_eq!(uses(&*store, OpenIdStep { consent: None, ..at(5_000) }).await, OpenIdStepResult::Done);
    let store = subject.reopened(store).await;
    // Also when the clock was set back.
    for again in [5_000, 5_099, 4_000] {
        assert_eq!(uses(&*store, at(again)).await, OpenIdStepResult::UsedJustNow, "{again}");
    }
    assert_eq!(store.openid_consent("shop", "aa").await.unwrap(), None);
    assert!(stored(&*store, 2).await.is_some());
    assert_eq!(uses(&*store, at(5_100)).await, OpenIdStepResult::Replayed);
    assert_eq!(stored(&*store, 2).await, None);
}

/// The visitor's oldest make room, then the oldest of all.
pub async fn consents_are_bounded(store: &dyn FullStore) {
    let agree = async |number: u8, visitor: &str, user: &str| {
        store.add_openid_records(vec![record(number, None)]).await.unwrap();
        let consent = OpenIdConsent { at: UnixMillis(u64::from(number)), ..consent("shop", user, "openid") };
        let new = NewOpenIdConsent { consent, visitor: visitor.to_owned(), most_of_visitor: 2, most: 3 };
        let used = store.use_openid_record(OpenIdStep { consent: Some(new), ..step(number, Vec::new(), None) }).await;
        assert_eq!(used.unwrap(), OpenIdStepResult::Done);
        let all = store.openid_consents(None, 10).await.unwrap();
        all.into_iter().map(|consent| consent.subject).collect::<Vec<_>>().concat()
    };
    assert_eq!(agree(1, "honest", "a").await, "a");
    assert_eq!(agree(2, "flood", "b").await, "ab");
    assert_eq!(agree(3, "flood", "c").await, "abc");
    assert_eq!(agree(4, "flood", "d").await, "acd");
    assert_eq!(agree(5, "flood", "c").await, "acd", "replaced");
    assert_eq!(agree(6, "other", "e").await, "cde");
}
