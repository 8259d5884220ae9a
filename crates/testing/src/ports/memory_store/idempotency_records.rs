//! The memory store's idempotency records and settings.

use std::collections::HashMap;

use async_trait::async_trait;
use usher_engine::UnixMillis;
use usher_engine::ports::{
    IdempotencyKey, IdempotencyRecord, IdempotencyStore, KeyId, KeyStore, NewIdempotencyRecord, SettingStore,
    StoreError, StoredKey,
};

use super::{MemoryStore, Rows, oldest};

impl Rows {
    /// Whether there is a record of the request that may not be replaced.
    pub(super) fn is_recorded(&self, new: &NewIdempotencyRecord) -> bool {
        self.idempotency_records.get(&new.record.key).is_some_and(|kept| kept.at >= new.replace_before)
    }
}

#[async_trait]
impl IdempotencyStore for MemoryStore {
    async fn idempotency_record(&self, key: &IdempotencyKey) -> Result<Option<IdempotencyRecord>, StoreError> {
        Ok(self.rows.lock().idempotency_records.get(key).cloned())
    }

    async fn add_idempotency_record(&self, new: NewIdempotencyRecord) -> Result<bool, StoreError> {
        let mut rows = self.rows.lock();
        let free = !rows.is_recorded(&new);
        if free {
            rows.idempotency_records.insert(new.record.key, new.record);
        }
        Ok(free)
    }

    async fn remove_idempotency_records(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        let mut rows = self.rows.lock();
        let old = oldest(rows.idempotency_records.iter().map(|(key, record)| (record.at, *key)), before, limit);
        for key in &old {
            rows.idempotency_records.remove(key);
        }
        Ok(old.len())
    }
}

#[async_trait]
impl KeyStore for MemoryStore {
    async fn keys(&self) -> Result<Vec<Result<StoredKey, StoreError>>, StoreError> {
        Ok(self.rows.lock().api_keys.values().cloned().map(Ok).collect())
    }

    async fn put_key(&self, key: StoredKey) -> Result<(), StoreError> {
        self.rows.lock().api_keys.insert(key.id, key);
        Ok(())
    }

    async fn remove_key(&self, id: KeyId) -> Result<bool, StoreError> {
        Ok(self.rows.lock().api_keys.remove(&id).is_some())
    }

    async fn note_key_uses(&self, uses: Vec<(KeyId, [Option<UnixMillis>; 2])>) -> Result<(), StoreError> {
        let mut rows = self.rows.lock();
        for (id, used_at) in uses {
            if let Some(key) = rows.api_keys.get_mut(&id) {
                key.used_at = used_at;
            }
        }
        Ok(())
    }
}

impl MemoryStore {
    /// All settings.
    pub fn settings(&self) -> HashMap<String, String> {
        self.rows.lock().settings.clone()
    }
}

#[async_trait]
impl SettingStore for MemoryStore {
    async fn setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        Ok(self.rows.lock().settings.get(name).cloned())
    }

    async fn set_setting(&self, name: &str, value: Option<&str>) -> Result<(), StoreError> {
        let mut rows = self.rows.lock();
        match value {
            Some(value) => rows.settings.insert(name.to_owned(), value.to_owned()),
            None => rows.settings.remove(name),
        };
        Ok(())
    }
}
