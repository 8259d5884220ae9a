//! API keys: each is stored as a whole, and a removed one never returns.

use usher_engine::UnixMillis;
use usher_engine::ports::{KeyId, SecretDigest, StoredKey};

use super::{FullStore, Subject};

/// The `number`th key.
pub fn api_key(number: u64) -> StoredKey {
    StoredKey {
        id: KeyId::from_parts(number, [7; 10]),
        digest: SecretDigest(super::builders::bytes(number)),
        previous: (number.is_multiple_of(2))
            .then(|| (SecretDigest(super::builders::bytes(1_000 + number)), UnixMillis(number))),
        terms: format!(r#"{{"name":"ü{number}"}}"#),
        created_at: UnixMillis(number),
        used_at: [(number.is_multiple_of(3)).then_some(UnixMillis(number)), None],
    }
}

async fn keys(store: &dyn FullStore) -> Vec<StoredKey> {
    store.keys().await.unwrap().into_iter().map(Result::unwrap).collect()
}

/// Oldest first, also after reopening.
pub async fn api_keys_are_stored_replaced_and_removed(mut subject: impl Subject) {
    let store = subject.store();
    assert_eq!(keys(&*store).await, []);
    for n in [3, 1, 2, 6] {
        store.put_key(api_key(n)).await.unwrap();
    }
    let replaced = StoredKey { id: api_key(2).id, ..api_key(5) };
    store.put_key(replaced.clone()).await.unwrap();
    assert!(store.remove_key(api_key(3).id).await.unwrap());
    assert!(!store.remove_key(api_key(3).id).await.unwrap());
    drop(store);
    subject.reopen().await;
    assert_eq!(keys(&*subject.store()).await, [api_key(1), replaced, api_key(6)]);
}

/// Only the time of use, and only of existing keys.
pub async fn uses_of_api_keys_are_noted(store: &dyn FullStore) {
    store.put_key(api_key(1)).await.unwrap();
    store.put_key(api_key(2)).await.unwrap();
    let used = [Some(UnixMillis(9)), None];
    let both = [Some(UnixMillis(11)), Some(UnixMillis(10))];
    store.note_key_uses(vec![(api_key(1).id, used), (api_key(2).id, both), (api_key(3).id, used)]).await.unwrap();
    store.note_key_uses(Vec::new()).await.unwrap();
    let expected = [StoredKey { used_at: used, ..api_key(1) }, StoredKey { used_at: both, ..api_key(2) }];
    assert_eq!(keys(store).await, expected);
}
