//! A copy of the node's data, written only by a single commit: the node can be inspected before it starts, and building
//! it changes nothing.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use ldk_node::lightning::io as ldk_io;
use ldk_node::lightning::util::persist::{KVStore, KVStoreSync};
use parking_lot::Mutex;

use crate::store::{Ready, Store, ready};

/// Primary namespace, secondary namespace, key.
type Entry = (String, String, String);

pub(crate) struct DraftStore {
    store: Arc<Store>,
    /// Changes since the copy; `None` is a removal.
    changes: Mutex<BTreeMap<Entry, Option<Vec<u8>>>>,
}

impl DraftStore {
    pub(crate) fn of(store: Arc<Store>) -> Self {
        Self { store, changes: Mutex::default() }
    }

    /// Stores all changes in one transaction.
    pub(crate) fn commit(&self) -> io::Result<()> {
        let changes = self.changes.lock();
        let entries = changes.iter().map(|((primary, secondary, key), value)| {
            (primary.as_str(), secondary.as_str(), key.as_str(), value.as_deref())
        });
        self.store.change_entries(entries)
    }

    fn change(&self, primary: &str, secondary: &str, key: &str, value: Option<Vec<u8>>) {
        self.changes.lock().insert((primary.to_owned(), secondary.to_owned(), key.to_owned()), value);
    }
}

impl KVStoreSync for DraftStore {
    fn read(&self, primary: &str, secondary: &str, key: &str) -> Result<Vec<u8>, ldk_io::Error> {
        // Skipped: they are large and not needed, and the library never frees a node.
        if primary.is_empty() && secondary.is_empty() && matches!(key, "network_graph" | "scorer") {
            return Err(io::Error::from(io::ErrorKind::NotFound).into());
        }
        let changed = self.changes.lock().get(&(primary.to_owned(), secondary.to_owned(), key.to_owned())).cloned();
        match changed {
            Some(Some(value)) => Ok(value),
            Some(None) => Err(io::Error::from(io::ErrorKind::NotFound).into()),
            None => self.store.value(primary, secondary, key),
        }
    }

    fn write(&self, primary: &str, secondary: &str, key: &str, value: Vec<u8>) -> Result<(), ldk_io::Error> {
        self.change(primary, secondary, key, Some(value));
        Ok(())
    }

    fn remove(&self, primary: &str, secondary: &str, key: &str, _lazy: bool) -> Result<(), ldk_io::Error> {
        self.change(primary, secondary, key, None);
        Ok(())
    }

    fn list(&self, primary: &str, secondary: &str) -> Result<Vec<String>, ldk_io::Error> {
        let mut keys = self.store.keys(primary, secondary)?;
        let changes = self.changes.lock();
        let here = changes.iter().filter(|((first, second, _), _)| first == primary && second == secondary);
        for ((_, _, key), value) in here {
            keys.retain(|known| known != key);
            if value.is_some() {
                keys.push(key.clone());
            }
        }
        Ok(keys)
    }
}

impl KVStore for DraftStore {
    fn read(&self, primary: &str, secondary: &str, key: &str) -> Ready<Vec<u8>> {
        ready(KVStoreSync::read(self, primary, secondary, key))
    }

    fn write(&self, primary: &str, secondary: &str, key: &str, value: Vec<u8>) -> Ready<()> {
        ready(KVStoreSync::write(self, primary, secondary, key, value))
    }

    fn remove(&self, primary: &str, secondary: &str, key: &str, lazy: bool) -> Ready<()> {
        ready(KVStoreSync::remove(self, primary, secondary, key, lazy))
    }

    fn list(&self, primary: &str, secondary: &str) -> Ready<Vec<String>> {
        ready(KVStoreSync::list(self, primary, secondary))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_shows_what_is_stored_and_stores_nothing_before_it_is_committed() {
        let folder = tempfile::TempDir::new().unwrap();
        let store = Arc::new(Store::open(folder.path()).unwrap());
        for key in ["kept", "changed", "removed"] {
            KVStoreSync::write(&*store, "a", "b", key, b"old".to_vec()).unwrap();
        }
        let draft = DraftStore::of(Arc::clone(&store));
        KVStoreSync::write(&draft, "a", "b", "changed", b"new".to_vec()).unwrap();
        KVStoreSync::write(&draft, "a", "b", "added", b"new".to_vec()).unwrap();
        KVStoreSync::write(&draft, "a", "c", "elsewhere", b"new".to_vec()).unwrap();
        KVStoreSync::remove(&draft, "a", "b", "removed", false).unwrap();
        let read = |key| KVStoreSync::read(&draft, "a", "b", key).ok();
        assert_eq!(
            ["kept", "changed", "added", "removed"].map(read),
            [Some(b"old".to_vec()), Some(b"new".to_vec()), Some(b"new".to_vec()), None]
        );
        let sorted = |store: &dyn KVStoreSync| {
            let mut keys = store.list("a", "b").unwrap();
            keys.sort();
            keys
        };
        assert_eq!(sorted(&draft), ["added", "changed", "kept"]);
        assert_eq!(sorted(&*store), ["changed", "kept", "removed"]);
        assert_eq!(KVStoreSync::read(&*store, "a", "b", "changed").unwrap(), b"old");

        draft.commit().unwrap();
        assert_eq!(sorted(&*store), ["added", "changed", "kept"]);
        assert_eq!(KVStoreSync::read(&*store, "a", "b", "changed").unwrap(), b"new");
    }
}
