//! The relays of users, cached while they are in use.

use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;
use usher_protocol::PublicKey;

use crate::kernel::damaged_rows::DamagedRows;
use crate::kernel::requested_store::RequestedStore;
use crate::ports::{StoreError, Table, UserRelays};

const USERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4095);

pub(super) struct UserRelayCache {
    store: RequestedStore,
    damaged_rows: Arc<DamagedRows>,
    users: Mutex<Users>,
}

struct Users {
    relays: LruCache<PublicKey, Arc<[String]>>,
    /// The number of changes of any user's relays, so that a value read before a change is not cached after it.
    changes: u64,
}

impl UserRelayCache {
    pub(super) fn new(store: RequestedStore, damaged_rows: Arc<DamagedRows>) -> Self {
        Self { store, damaged_rows, users: Mutex::new(Users { relays: LruCache::new(USERS), changes: 0 }) }
    }

    pub(super) fn forget(&self, main_key: &PublicKey) {
        let mut users = self.users.lock();
        users.changes += 1;
        users.relays.pop(main_key);
    }

    pub(super) fn put(&self, user: UserRelays) {
        let mut users = self.users.lock();
        users.changes += 1;
        users.relays.put(user.main_key, user.relays.into());
    }

    /// The user's relays; none if they are damaged.
    pub(super) async fn get(&self, main_key: &PublicKey) -> Result<Arc<[String]>, StoreError> {
        let changes = {
            let mut users = self.users.lock();
            if let Some(relays) = users.relays.get(main_key) {
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
        if users.changes == changes {
            users.relays.put(*main_key, Arc::clone(&relays));
        }
        drop(users);
        Ok(relays)
    }
}
