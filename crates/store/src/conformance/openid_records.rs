//! Records of the OpenID Connect provider: each secret that can be used once is used once.

use usher_engine::UnixMillis;
use usher_engine::ports::{OpenIdConsent, OpenIdRecord, OpenIdRecordId, OpenIdStep, OpenIdUse};

use super::{Subject, race};

fn id(number: u8) -> OpenIdRecordId {
    OpenIdRecordId([number; 32])
}

fn record(number: u8, grant: Option<u8>) -> OpenIdRecord {
    OpenIdRecord {
        id: id(number),
        grant: grant.map(|grant| [grant; 16]),
        client_id: Some("shop".to_owned()),
        subject: Some("aa".to_owned()),
        data: format!("{{\"number\":{number},\"text\":\"'; \u{1F511}\"}}"),
        expires_at: UnixMillis(1000 + u64::from(number)),
        used: false,
    }
}

fn consent(client_id: &str, subject: &str, scopes: &str) -> OpenIdConsent {
    OpenIdConsent {
        client_id: client_id.to_owned(),
        subject: subject.to_owned(),
        scopes: scopes.to_owned(),
        at: UnixMillis(7),
    }
}

fn step(of: u8, add: Vec<OpenIdRecord>, consent: Option<OpenIdConsent>) -> OpenIdStep {
    OpenIdStep { id: id(of), add, consent }
}

/// Records with and without the fields that may be missing, also after the store was opened again.
pub async fn openid_records_round_trip(mut subject: impl Subject) {
    let store = subject.store();
    assert_eq!(store.openid_record(id(1)).await.unwrap(), None);
    let bare = OpenIdRecord { grant: None, client_id: None, subject: None, ..record(2, None) };
    store.add_openid_records(vec![record(1, Some(9)), bare.clone()]).await.unwrap();
    drop(store);
    subject.reopen().await;
    let store = subject.store();
    assert_eq!(store.openid_record(id(1)).await.unwrap(), Some(record(1, Some(9))));
    assert_eq!(store.openid_record(id(2)).await.unwrap(), Some(bare));
    let newer = OpenIdRecord { data: "{}".to_owned(), ..record(1, None) };
    store.add_openid_records(vec![newer.clone()]).await.unwrap();
    assert_eq!(store.openid_record(id(1)).await.unwrap(), Some(newer));
    store.remove_openid_record(id(1)).await.unwrap();
    store.remove_openid_record(id(1)).await.unwrap();
    assert_eq!(store.openid_record(id(1)).await.unwrap(), None);
}

/// The second use of a code takes away what came of the first.
pub async fn second_use_removes_the_grant(mut subject: impl Subject) {
    let store = subject.store();
    store.add_openid_records(vec![record(1, Some(9)), record(5, Some(8)), record(6, None)]).await.unwrap();
    let tokens = vec![record(2, Some(9)), record(3, Some(9))];
    assert_eq!(store.use_openid_record(step(4, tokens.clone(), None)).await.unwrap(), OpenIdUse::Unknown);
    assert_eq!(store.openid_record(id(2)).await.unwrap(), None);
    assert_eq!(store.use_openid_record(step(1, tokens, None)).await.unwrap(), OpenIdUse::Done);
    drop(store);
    subject.reopen().await;
    let store = subject.store();
    assert!(store.openid_record(id(1)).await.unwrap().unwrap().used);
    assert!(!store.openid_record(id(2)).await.unwrap().unwrap().used);
    let more = step(1, vec![record(4, Some(9))], Some(consent("shop", "aa", "openid")));
    assert_eq!(store.use_openid_record(more).await.unwrap(), OpenIdUse::UsedBefore);
    for removed in 1..=4 {
        assert_eq!(store.openid_record(id(removed)).await.unwrap(), None, "{removed}");
    }
    assert_eq!(store.openid_consent("shop", "aa").await.unwrap(), None);
    assert_eq!(store.openid_record(id(5)).await.unwrap(), Some(record(5, Some(8))), "of another grant");

    // One without a grant stays, and takes nothing along.
    assert_eq!(store.use_openid_record(step(6, Vec::new(), None)).await.unwrap(), OpenIdUse::Done);
    assert_eq!(store.use_openid_record(step(6, Vec::new(), None)).await.unwrap(), OpenIdUse::UsedBefore);
    assert!(store.openid_record(id(6)).await.unwrap().unwrap().used);
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
        let mut uses = [a, b].map(|of| of == OpenIdUse::Done);
        uses.sort_unstable();
        assert_eq!(uses, [false, true], "round {round}");
        for removed in 1..=3 {
            assert_eq!(store.openid_record(id(removed)).await.unwrap(), None);
        }
    }
}

/// Consents are replaced, listed in pages, and revoked with everything of that client and user.
pub async fn consents_are_kept_and_revoked(subject: impl Subject) {
    let store = subject.store();
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
        assert_eq!(used.unwrap(), OpenIdUse::Done);
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
    assert_eq!(store.openid_record(id(5)).await.unwrap(), None);
    assert_eq!(store.openid_record(id(6)).await.unwrap(), Some(others));
    assert_eq!(store.openid_consents(None, 10).await.unwrap(), [all[0].clone(), all[2].clone()]);
}

/// The oldest first, in batches.
pub async fn expired_openid_records_are_removed_in_batches(subject: impl Subject) {
    let store = subject.store();
    store.add_openid_records((1..=5).map(|number| record(number, None)).collect()).await.unwrap();
    let before = UnixMillis(1004);
    assert_eq!(store.remove_openid_records(before, 2).await.unwrap(), 2);
    assert_eq!(store.openid_record(id(2)).await.unwrap(), None);
    assert_eq!(store.openid_record(id(3)).await.unwrap(), Some(record(3, None)));
    assert_eq!(store.remove_openid_records(before, 2).await.unwrap(), 1);
    assert_eq!(store.remove_openid_records(before, 2).await.unwrap(), 0);
    assert_eq!(store.openid_record(id(4)).await.unwrap(), Some(record(4, None)));
}
