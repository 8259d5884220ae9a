//! The relays of users, cached while they are in use.

use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;
use usher_places::bounded;
use usher_protocol::PublicKey;

use crate::kernel::damaged_rows::DamagedRows;
use crate::kernel::requested_store::RequestedStore;
use crate::ports::{StoreError, Table, UserRelays};

const USERS: usize = 4_096;

pub(super) struct UserRelayCache {
    store: RequestedStore,
    damaged_rows: Arc<DamagedRows>,
    users: Mutex<Users>,
}

struct Users {
    relays: LruCache<PublicKey, Cached>,
    /// The number of changes of any user's relays, so that a value read before a change is not cached after it.
    changes: u64,
}

enum Cached {
    Relays(Arc<[String]>),
    /// The number of the change whose commit is under way. What the store has meanwhile is not cached.
    Changing(u64),
}

impl Users {
    fn change(&mut self) -> u64 {
        self.changes += 1;
        self.changes
    }
}

/// Relays that a commit stores. Unless it is [`done`](Self::done), they are read again.
pub(crate) struct RelayChanges<'a> {
    cache: &'a UserRelayCache,
    changes: Vec<(u64, UserRelays)>,
}

impl UserRelayCache {
    pub(super) fn new(store: RequestedStore, damaged_rows: Arc<DamagedRows>) -> Self {
        Self { store, damaged_rows, users: Mutex::new(Users { relays: bounded(USERS), changes: 0 }) }
    }

    pub(super) fn forget(&self, main_key: &PublicKey) {
        let mut users = self.users.lock();
        users.change();
        users.relays.pop(main_key);
    }

    pub(super) fn put(&self, user: UserRelays) {
        let mut users = self.users.lock();
        users.change();
        users.relays.put(user.main_key, Cached::Relays(user.relays.into()));
    }

    /// Begins a change of these users' relays, before its commit.
    pub(super) fn begin(&self, named: Vec<UserRelays>) -> RelayChanges<'_> {
        let mut users = self.users.lock();
        let begin = |user: UserRelays| {
            let change = users.change();
            users.relays.put(user.main_key, Cached::Changing(change));
            (change, user)
        };
        RelayChanges { cache: self, changes: named.into_iter().map(begin).collect() }
    }

    /// The user's relays; none if they are damaged.
    pub(super) async fn get(&self, main_key: &PublicKey) -> Result<Arc<[String]>, StoreError> {
        let changes = {
            let mut users = self.users.lock();
            if let Some(Cached::Relays(relays)) = users.relays.get(main_key) {
                return Ok(Arc::clone(relays));
            }
            users.changes
        };
        let relays: Arc<[String]> = match self.store.user_relays(main_key).await {
            Err(StoreError::Unreadable(_)) => {
                self.damaged_rows.set_aside(Table::UserRelays, main_key.to_hex());
                Arc::default()
            }
            relays => relays?.into(),
        };
        let mut users = self.users.lock();
        if users.changes == changes && !users.relays.contains(main_key) {
            users.relays.put(*main_key, Cached::Relays(Arc::clone(&relays)));
        }
        drop(users);
        Ok(relays)
    }
}

impl RelayChanges<'_> {
    /// The commit is done: its relays are the user's, unless another commit changed them at the same time.
    pub(crate) fn done(mut self) {
        let mut users = self.cache.users.lock();
        for (number, user) in std::mem::take(&mut self.changes) {
            users.change();
            if matches!(users.relays.pop(&user.main_key), Some(Cached::Changing(only)) if only == number) {
                users.relays.put(user.main_key, Cached::Relays(user.relays.into()));
            }
        }
    }
}

impl Drop for RelayChanges<'_> {
    fn drop(&mut self) {
        for (_, user) in &self.changes {
            self.cache.forget(&user.main_key);
        }
    }
}
