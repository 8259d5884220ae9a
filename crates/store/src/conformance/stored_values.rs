//! Stored values: any text and number is returned unchanged.

use usher_engine::event::NewEvent;
use usher_engine::ports::{
    Commit, Committed, Conflict, OutboxChange, OutboxMessage, Passkey, PasskeyChange, SignerSession,
    SignerSessionUpdate, State,
};
use usher_engine::{StreamId, UnixMillis};

use super::{
    FullStore, commit_conflicts, commit_done, create, event, id, key, message, passkey, public_key, step, user_relays,
    user_signer,
};

/// Each user's own, in order; a later list replaces the previous one unless it is empty, and an empty one records the
/// user.
pub async fn user_relays_are_replaced(store: &dyn FullStore) {
    let relays = |user, names: &[&str]| vec![user_relays(user, names)];
    commit_done(store, Commit { user_relays: relays(1, &["wss://b", "wss://a", "wss://b"]), ..create(id(1)) }).await;
    commit_done(store, Commit { user_relays: relays(2, &["wss://\"quoted\"\\ü"]), ..step(id(1), 1) }).await;
    assert_eq!(store.user_relays(&public_key(1)).await.unwrap(), ["wss://b", "wss://a", "wss://b"]);
    assert_eq!(store.user_relays(&public_key(2)).await.unwrap(), ["wss://\"quoted\"\\ü"]);

    commit_done(store, Commit { user_relays: relays(1, &["wss://c"]), finished: true, ..step(id(1), 2) }).await;
    assert_eq!(store.user_relays(&public_key(1)).await.unwrap(), ["wss://c"]);
    store.remove_finished(UnixMillis(u64::MAX), 10).await.unwrap();
    assert_eq!(store.user_relays(&public_key(1)).await.unwrap(), ["wss://c"], "outlive the operation");
    commit_done(store, Commit { user_relays: relays(1, &[]), ..create(id(2)) }).await;
    assert_eq!(store.user_relays(&public_key(1)).await.unwrap(), ["wss://c"]);
    commit_done(store, Commit { user_relays: relays(3, &[]), ..step(id(2), 1) }).await;
    assert!(store.user_relays(&public_key(3)).await.unwrap().is_empty());
}

/// Stored and used in the commit of their login; owned by the user who registered them first.
pub async fn passkeys_are_kept_used_and_forgotten(store: &dyn FullStore) {
    let count = async |user| {
        let count = store.passkey_count(&public_key(user)).await.unwrap();
        (count.in_all, count.of_user)
    };
    let passkey = |id: &[u8], user, wrapped_key| Passkey { wrapped_key, ..passkey(id, user) };
    let (first, second) = (passkey(&[9, 0, 9], 1, None), passkey(&[8; 1_023], 1, Some(vec![3; 73])));
    assert_eq!((store.passkey(&[9, 0, 9]).await.unwrap(), count(1).await), (None, (0, 0)));

    let add = |passkey: &Passkey| PasskeyChange::Add(Box::new(passkey.clone()));
    let adds = vec![add(&first), add(&second), add(&passkey(&[7], 2, None))];
    commit_done(store, Commit { passkeys: adds, ..create(id(1)) }).await;
    assert_eq!(store.passkey(&first.credential.id).await.unwrap().as_ref(), Some(&first));
    assert_eq!(store.passkey(&second.credential.id).await.unwrap().as_ref(), Some(&second));
    assert_eq!((count(1).await, count(2).await, count(3).await), ((3, 2), (3, 1), (3, 0)));

    let taken = vec![add(&passkey(&[9, 0, 9], 3, Some(vec![4]))), add(&passkey(&[6], 3, None))];
    commit_done(store, Commit { passkeys: taken, ..create(id(2)) }).await;
    assert_eq!(store.passkey(&first.credential.id).await.unwrap().as_ref(), Some(&first), "the first one has it");
    assert_eq!(count(3).await, (4, 1));

    let uses = [vec![5; 7], vec![6; 7]];
    let uses = uses.map(|state| PasskeyChange::Use { credential_id: vec![9, 0, 9], state });
    let unknown = PasskeyChange::Use { credential_id: vec![1, 2], state: vec![1] };
    let used = Commit { passkeys: uses.into_iter().chain([unknown]).collect(), finished: true, ..step(id(2), 1) };
    let at = used.at;
    commit_done(store, used).await;
    let mut expected = first.clone();
    expected.credential.state = vec![6; 7];
    expected.used_at = at;
    assert_eq!(store.passkey(&first.credential.id).await.unwrap(), Some(expected));
    assert_eq!(store.passkey(&[1, 2]).await.unwrap(), None);

    // Those never used again are removed, only the oldest ones.
    let newer = Passkey { created_at: UnixMillis(2_000), used_at: UnixMillis(2_000), ..passkey(&[5], 4, None) };
    let unused = [passkey(&[3], 4, None), passkey(&[4], 4, None), newer.clone()].map(|passkey| add(&passkey));
    commit_done(store, Commit { passkeys: unused.into(), ..create(id(3)) }).await;
    assert_eq!(store.forget_unused_passkeys(UnixMillis(1_000), 9).await.unwrap(), 0);
    assert_eq!(store.forget_unused_passkeys(UnixMillis(2_000), 2).await.unwrap(), 2, "at most as many as was said");
    assert_eq!(store.forget_unused_passkeys(UnixMillis(2_000), 9).await.unwrap(), 3);
    assert_eq!((count(1).await, count(4).await), ((2, 1), (2, 1)), "one was used, one is newer");
    assert_eq!(store.passkey(&newer.credential.id).await.unwrap(), Some(newer));
    let again = vec![add(&second), add(&passkey(&[7], 2, None))];
    commit_done(store, Commit { passkeys: again, ..create(id(4)) }).await;

    store.remove_finished(UnixMillis(u64::MAX), 10).await.unwrap();
    assert_eq!(count(1).await, (4, 2), "the login does not take its passkey with it");
    assert_eq!(store.forget_passkeys(&public_key(1)).await.unwrap(), 2);
    assert_eq!((store.forget_passkeys(&public_key(1)).await.unwrap(), count(1).await), (0, (2, 0)));

    // A conflicting commit changes nothing.
    let conflict = Commit { passkeys: vec![add(&first)], ..create(id(1)) };
    assert!(matches!(store.commit(conflict).await.unwrap(), Committed::Conflict(_)));
    assert_eq!(store.passkey(&first.credential.id).await.unwrap(), None);
}

/// The last one is stored, and its user is known from then on; only that session is forgotten.
pub async fn user_signers_are_kept_and_forgotten(store: &dyn FullStore) {
    let user = public_key(1);
    let change = |session: &str, update| vec![user_signer(1, session, update)];
    let kept = async || store.user_signer(&user).await.unwrap().map(|session| session.0);
    assert_eq!(kept().await, None);
    assert!(!store.forget_user_signer(&user).await.unwrap());

    commit_done(store, Commit { user_signers: change("a", SignerSessionUpdate::Store), ..create(id(1)) }).await;
    commit_done(
        store,
        Commit { user_signers: change("b", SignerSessionUpdate::Store), finished: true, ..step(id(1), 1) },
    )
    .await;
    store.remove_finished(UnixMillis(u64::MAX), 10).await.unwrap();
    assert_eq!(kept().await.as_deref(), Some("b"));
    assert_eq!(store.user_signer(&public_key(2)).await.unwrap(), None);
    assert!(store.user_relays(&user).await.unwrap().is_empty());

    commit_done(store, Commit { user_relays: vec![user_relays(1, &["wss://a"])], ..create(id(2)) }).await;
    assert_eq!(kept().await.as_deref(), Some("b"));
    commit_done(store, Commit { user_signers: change("a", SignerSessionUpdate::Remove), ..step(id(2), 1) }).await;
    assert_eq!(kept().await.as_deref(), Some("b"), "another took its place");
    let instead_of = |last: &str| SignerSessionUpdate::Replace(SignerSession(last.to_owned()));
    for (number, last, new, expected) in
        [(10, "a", "c", Some("b")), (11, "b", "c", Some("c")), (12, "c", "b", Some("b"))]
    {
        commit_done(store, Commit { user_signers: change(new, instead_of(last)), ..create(id(number)) }).await;
        assert_eq!(kept().await.as_deref(), expected, "{new} instead of {last}");
    }
    commit_done(store, Commit { user_signers: change("b", SignerSessionUpdate::Remove), ..step(id(2), 2) }).await;
    assert_eq!(kept().await, None);

    commit_done(store, Commit { user_signers: change("c", SignerSessionUpdate::Store), ..step(id(2), 3) }).await;
    assert!(store.forget_user_signer(&user).await.unwrap());
    assert_eq!(kept().await, None);
    assert_eq!(store.user_relays(&user).await.unwrap(), ["wss://a"]);
    commit_done(store, Commit { user_signers: change("d", SignerSessionUpdate::Store), ..step(id(2), 4) }).await;
    assert_eq!(store.forget_user_relays(UnixMillis(u64::MAX), 10).await.unwrap(), 1);
    assert_eq!(kept().await, None, "the retention of a user's relays is its retention");
}

/// Empty text, zeros, quotes, and multi-byte characters.
pub async fn unusual_text_round_trips(store: &dyn FullStore) {
    for (n, text) in (1..).zip(["", "\0", "a\0b", "'; DROP TABLE operations; --", "?1 :a @b $c", "\u{1F511}\u{FFFF}"]) {
        // An event's data is a JSON object, stored unchanged.
        let data = format!("{{ \"text\" : {} }}", serde_json::Value::from(text));
        let commit = Commit {
            state: State(text.to_owned()),
            claims: vec![key(text)],
            events: vec![NewEvent { data: data.as_str().into(), ..event(0) }],
            outbox: OutboxChange::Replace(vec![OutboxMessage { content: text.to_owned(), ..message(0) }]),
            user_relays: vec![user_relays(n, &[text])],
            ..create(id(n))
        };
        commit_done(store, commit).await;
        assert_eq!(store.operation(id(n)).await.unwrap().unwrap().state.0, text);
        assert_eq!(&*store.events(id(n), 0, 1).await.unwrap()[0].data, data);
        assert_eq!(store.outbox(id(n)).await.unwrap()[0].content, text);
        assert_eq!(store.user_relays(&public_key(n)).await.unwrap(), [text]);
    }
}

/// "Never" is the largest time and must stay in the future. The smallest are valid too.
pub async fn extreme_numbers_are_handled(store: &dyn FullStore) {
    let far = UnixMillis(u64::MAX);
    let centuries = UnixMillis(1 << 60);
    let commit = Commit {
        at: far,
        wake_at: Some(far),
        events: vec![NewEvent { at: far, ..event(0) }, NewEvent { at: UnixMillis(0), ..event(1) }],
        outbox: OutboxChange::Replace(vec![OutboxMessage { kind: 0, until: far, ..message(0) }]),
        ..create(id(1))
    };
    commit_done(store, commit).await;
    let open = store.open_operations(Some(StreamId::SUBSCRIPTIONS), 1).await.unwrap();
    assert!(open[0].wake_at.unwrap() > centuries);
    assert!(store.outbox(id(1)).await.unwrap()[0].until > centuries);
    let events = store.events(id(1), 0, 10).await.unwrap();
    assert!(events[0].timestamp > centuries.secs());
    assert_eq!(events[1].timestamp, 0);
    assert_eq!(commit_conflicts(store, step(id(1), u64::MAX)).await, Conflict::Revision);

    let smallest = StreamId::from_bytes([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    let largest = StreamId::from_bytes([0xFF; 16]);
    for operation in [smallest, largest] {
        commit_done(store, Commit { wake_at: Some(UnixMillis(0)), ..create(operation) }).await;
    }
    let open: Vec<_> = store.open_operations(None, 10).await.unwrap().iter().map(|open| open.id).collect();
    assert_eq!(open, [StreamId::SUBSCRIPTIONS, smallest, id(1), largest]);
    assert!(store.open_operations(Some(largest), 10).await.unwrap().is_empty());
    commit_done(store, Commit { at: far, finished: true, ..step(id(1), 1) }).await;
    assert_eq!(store.remove_finished(centuries, 10).await.unwrap(), 0);
}
