//! A user's stored data, and nothing else, is found and removed.

use usher_engine::event::NewEvent;
use usher_engine::ports::{
    Commit, EventMatch, ForgottenUser, LoginFilter, LoginRecordStatus, OpenIdRecord, OpenIdRecordId, PasskeyChange,
    SignerSessionUpdate, State, StreamMatches, UserRecords,
};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::PublicKey;

use super::{
    FullStore, accepted, commit_done, create, ended_login, event, id, new_record, openid_consent, openid_record,
    openid_step, passkey, public_key, step, user_relays, user_signer,
};

fn record(number: u8, client_id: Option<&str>, subject: Option<&PublicKey>) -> OpenIdRecord {
    let (client_id, subject) = (client_id.map(str::to_owned), subject.map(PublicKey::to_hex));
    OpenIdRecord { client_id, subject, ..openid_record(number, None) }
}

/// Of that one user; relays separately.
pub async fn what_is_stored_under_a_users_key_is_forgotten(store: &dyn FullStore) {
    let (user, other) = (public_key(1), public_key(2));
    let passkeys = [(1, 1), (2, 1), (3, 2)].map(|(id, user)| PasskeyChange::Add(Box::new(passkey(&[id], user))));
    let commit = Commit {
        passkeys: passkeys.into(),
        user_relays: [1, 2].map(|user| user_relays(user, &["wss://a"])).into(),
        user_signers: [1, 2].map(|user| user_signer(user, "session", SignerSessionUpdate::Store)).into(),
        ..create(id(1))
    };
    commit_done(store, commit).await;
    for n in [1, 2] {
        let login_record = Some(ended_login(n, LoginRecordStatus::Approved));
        commit_done(store, Commit { login_record, finished: true, ..create(id(20 + n)) }).await;
    }
    let records = [record(1, None, Some(&user)), record(2, Some("app"), Some(&user)), record(3, Some("app"), None)];
    let records = records.into_iter().chain([record(4, None, Some(&other)), record(5, Some("app"), None)]);
    store.add_openid_records(records.collect()).await.unwrap();
    for (number, client, user) in [(3, "app", &user), (5, "app", &other)] {
        let consent = openid_consent(client, &user.to_hex(), "");
        let step = openid_step(number, Vec::new(), Some(consent));
        store.use_openid_record(step).await.unwrap();
    }

    let records = store.user_records(&user).await.unwrap();
    assert_eq!(records.passkeys.iter().map(|passkey| passkey.id.as_slice()).collect::<Vec<_>>(), [[1], [2]]);
    assert_eq!(records.consents.iter().map(|consent| consent.client_id.as_str()).collect::<Vec<_>>(), ["app"]);
    assert!(records.signer && records.relays_at.is_some());
    assert_eq!(store.user_records(&public_key(3)).await.unwrap(), UserRecords::default());

    let forgotten = ForgottenUser { signer: true, passkeys: 2, logins: 1, consents: 1, openid_records: 2 };
    assert_eq!(store.forget_user(&user).await.unwrap(), forgotten);
    assert_eq!(store.forget_user(&user).await.unwrap(), ForgottenUser::default(), "once");
    assert_eq!(store.user_signer(&user).await.unwrap(), None);
    assert_eq!(store.user_relays(&user).await.unwrap(), ["wss://a"]);
    assert!(store.forget_relays_of(&user).await.unwrap());
    assert!(!store.forget_relays_of(&user).await.unwrap());
    assert!(store.user_relays(&user).await.unwrap().is_empty());

    let logins = store.login_records(LoginFilter::default(), None, 9).await.unwrap().found;
    assert_eq!(logins.iter().map(|login| login.record.main_key).collect::<Vec<_>>(), [Some(other)]);
    assert!(store.user_signer(&other).await.unwrap().is_some());
    assert_eq!(store.user_relays(&other).await.unwrap(), ["wss://a"]);
    assert_eq!(store.passkey_count(&other).await.unwrap().of_user, 1);
    assert_eq!(store.openid_consents(None, 9).await.unwrap().len(), 1);
    for (number, stays) in [(1, false), (2, false), (3, true), (4, true), (5, true)] {
        assert_eq!(store.openid_record(OpenIdRecordId([number; 32])).await.unwrap().is_some(), stays, "{number}");
    }
    // Relays are removed with the signer's session.
    assert!(store.forget_relays_of(&other).await.unwrap());
    assert_eq!(store.user_signer(&other).await.unwrap(), None);
}

fn saying(number: u64, text: &str) -> NewEvent {
    NewEvent { data: format!(r#"{{"text":"{text}"}}"#).into(), ..event(number) }
}

async fn pages<T, P>(page: impl AsyncFn(Option<P>) -> (Vec<T>, Option<P>)) -> Vec<T> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let (found, next) = page(after).await;
        all.extend(found);
        if next.is_none() {
            return all;
        }
        after = next;
    }
}

/// Every row is visited once, whatever the page size.
pub async fn searches_continue_where_they_ended(store: &dyn FullStore) {
    const TEXT: &str = "a_b%'";
    for n in 1..=5 {
        let text = if n % 2 == 0 { "" } else { TEXT };
        let events = vec![saying(1, ""), saying(2, text), saying(3, text)];
        let state = State(format!(r#"{{"text":"{text}"}}"#));
        let mut record = new_record(n, n, 0);
        record.record.body = text.as_bytes().to_vec();
        commit_done(store, Commit { state, events, idempotency_record: Some(record), ..create(id(n)) }).await;
    }
    commit_done(store, Commit { finished: true, state: State(TEXT.to_owned()), ..step(id(4), 1) }).await;
    let announcement = vec![saying(1, TEXT)];
    let state = State(TEXT.to_owned());
    commit_done(store, Commit { state, events: announcement, ..step(StreamId::SUBSCRIPTIONS, 1) }).await;
    for limit in [1, 2, 3, 100] {
        let operations = pages(async |after| {
            let page = store.streams_with(TEXT, after, limit).await.unwrap();
            (page.operations, page.next)
        });
        assert_eq!(operations.await, [1, 3, 4, 5].map(id), "{limit}: without the reserved one");
        let events = pages(async |after| {
            let page = store.streams_with(TEXT, after, limit).await.unwrap();
            (page.events.into_iter().map(|EventMatch { stream, at, data }| (stream, at, data)).collect(), page.next)
        });
        let expected = |stream: StreamId| [2, 3].map(|n| (stream, event(n).at, saying(n, TEXT).data.to_string()));
        let announced = (StreamId::SUBSCRIPTIONS, event(1).at, saying(1, TEXT).data.to_string());
        let expected = [vec![announced], [1, 3, 5].map(|n| expected(id(n))).concat()].concat();
        assert_eq!(events.await, expected, "{limit}");
        let records = pages(async |after| {
            let page = store.idempotency_records_with(TEXT, after, limit).await.unwrap();
            (page.found, page.next)
        });
        assert_eq!(records.await, [1, 3, 5].map(UnixMillis), "{limit}");
    }
    assert_eq!(store.streams_with("none", None, 100).await.unwrap(), StreamMatches::default());
}

/// Completely, except open ones and those with undelivered events.
pub async fn finished_operations_of_a_user_are_removed(store: &dyn FullStore) {
    for n in 1..=4 {
        let deliver = n == 3 || n == 4;
        commit_done(store, Commit { events: vec![event(0)], deliver, ..create(id(n)) }).await;
        commit_done(store, Commit { finished: n != 1, ..step(id(n), 1) }).await;
    }
    store.record_attempt(accepted(id(4), 0, 5)).await.unwrap();
    let mut removed = store.remove_finished_of([1, 2, 3, 4, 9].map(id).to_vec()).await.unwrap();
    removed.sort_unstable();
    assert_eq!(removed, [2, 4].map(id));
    for (n, stays) in [(1, true), (2, false), (3, true), (4, false)] {
        assert_eq!(store.operation(id(n)).await.unwrap().is_some(), stays, "{n}");
        assert_eq!(store.events(id(n), 0, 9).await.unwrap().len(), usize::from(stays), "{n}");
        assert_eq!(store.delivery(id(n), 0).await.unwrap().is_some(), n == 3, "{n}");
    }
    store.record_attempt(accepted(id(3), 0, 5)).await.unwrap();
    assert_eq!(store.remove_finished_of(vec![id(3), id(3)]).await.unwrap(), [id(3)]);
    assert!(store.remove_finished_of(Vec::new()).await.unwrap().is_empty());
    let reserved = store.remove_finished_of(vec![StreamId::SUBSCRIPTIONS]).await.unwrap();
    assert!(reserved.is_empty());
}
