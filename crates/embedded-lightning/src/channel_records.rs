//! The adapter's records for the operator: channels and how they ended, requested openings, and the fees that liquidity
//! providers kept.

use std::collections::HashSet;
use std::io;

use rusqlite::params;
use usher_engine::ports::{Closures, IdempotencyKey};
use usher_protocol::message::PaymentHash;

use crate::store::{MONITORS, Store};

usher_protocol::words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Closure {
        /// With the peer's agreement.
        Cooperative = "cooperative",
        /// By one side alone (force-closed).
        Forced = "forced",
        /// By the library, because the process was killed between two writes.
        AfterKill = "after_kill",
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opening {
    pub(crate) peer: String,
    /// Sats.
    pub(crate) amount: u64,
    /// The library's id of the channel, once it has one.
    pub(crate) channel: Option<u128>,
    /// The channel monitors that the library had stored before.
    pub(crate) monitors: HashSet<String>,
}

impl Store {
    pub(crate) fn channel_funded(&self, channel: u128, now: u64) -> io::Result<()> {
        self.execute(
            "INSERT OR IGNORE INTO channels (channel, state, changed_at) VALUES (?1, 'funded', ?2)",
            params![channel.to_be_bytes(), now],
        )?;
        Ok(())
    }

    /// Records how a channel ended; `channel_id` is the peers' id of it. A channel that was never funded held no money
    /// and leaves no record.
    pub(crate) fn channel_closed(
        &self,
        channel: u128,
        channel_id: [u8; 32],
        closure: Closure,
        now: u64,
    ) -> io::Result<bool> {
        let changed = self.execute(
            "UPDATE channels SET state = ?2, changed_at = ?3, channel_id = ?4 WHERE channel = ?1 AND state = 'funded'",
            params![channel.to_be_bytes(), closure.as_str(), now, channel_id],
        )?;
        Ok(changed == 1)
    }

    /// Whether a channel was closed cooperatively.
    pub(crate) fn is_closed_with_peer(&self, channel_id: [u8; 32]) -> io::Result<bool> {
        self.value_of(
            "SELECT EXISTS (SELECT 1 FROM channels WHERE state = 'cooperative' AND channel_id = ?1)",
            [channel_id],
        )
    }

    pub(crate) fn closures(&self) -> io::Result<Closures> {
        let counts = self.first(
            "SELECT count(*) FILTER (WHERE state = 'cooperative'),
                    count(*) FILTER (WHERE state IN ('forced', 'after_kill')),
                    count(*) FILTER (WHERE state = 'after_kill') FROM channels",
            [],
            |row| Ok(Closures { cooperative: row.get(0)?, forced: row.get(1)?, after_kill: row.get(2)? }),
        );
        Ok(counts?.unwrap_or_default())
    }

    /// When a channel was last force-closed, in Unix seconds.
    pub(crate) fn last_forced_closure(&self) -> io::Result<Option<u64>> {
        self.value_of("SELECT max(changed_at) FROM channels WHERE state IN ('forced', 'after_kill')", [])
    }

    /// Records what a liquidity provider kept of a payment; a repeated event is counted once.
    pub(crate) fn record_skimmed_fee(&self, hash: PaymentHash, fee: u64) -> io::Result<()> {
        self.execute("INSERT OR IGNORE INTO skimmed_fees VALUES (?1, ?2)", params![hash.as_bytes(), fee])?;
        Ok(())
    }

    /// Total kept by liquidity providers, in millisats.
    pub(crate) fn skimmed_fees(&self) -> io::Result<u64> {
        self.value_of("SELECT coalesce(sum(fee), 0) FROM skimmed_fees", [])
    }

    pub(crate) fn opening(&self, key: &IdempotencyKey) -> io::Result<Option<Opening>> {
        self.first("SELECT peer, amount, channel, monitors FROM openings WHERE key = ?1", [key.0], |row| {
            let channel: Option<[u8; 16]> = row.get(2)?;
            let monitors: Option<String> = row.get(3)?;
            Ok(Opening {
                peer: row.get(0)?,
                amount: row.get(1)?,
                channel: channel.map(u128::from_be_bytes),
                monitors: monitors.iter().flat_map(|names| names.lines()).map(str::to_owned).collect(),
            })
        })
    }

    /// Records an opening before the library is called.
    pub(crate) fn begin_opening(&self, key: &IdempotencyKey, peer: &str, amount: u64) -> io::Result<()> {
        self.execute(
            "INSERT OR IGNORE INTO openings (key, peer, amount, monitors)
             SELECT ?1, ?2, ?3, group_concat(key, char(10)) FROM entries WHERE primary_namespace = ?4",
            params![key.0, peer, amount, MONITORS],
        )?;
        Ok(())
    }

    pub(crate) fn monitors(&self) -> io::Result<HashSet<String>> {
        self.all("SELECT key FROM entries WHERE primary_namespace = ?1", [MONITORS], |row| row.get(0))
    }

    pub(crate) fn opening_has_channel(&self, key: &IdempotencyKey, channel: u128) -> io::Result<()> {
        self.execute("UPDATE openings SET channel = ?2 WHERE key = ?1", params![key.0, channel.to_be_bytes()])?;
        Ok(())
    }

    pub(crate) fn is_of_an_opening(&self, channel: u128) -> io::Result<bool> {
        self.value_of("SELECT EXISTS (SELECT 1 FROM openings WHERE channel = ?1)", [channel.to_be_bytes()])
    }
}

#[cfg(test)]
mod tests {
    use ldk_node::lightning::util::persist::KVStoreSync as _;
    use tempfile::TempDir;

    use super::*;

    fn store() -> (TempDir, Store) {
        let folder = TempDir::new().unwrap();
        let store = Store::open(folder.path()).unwrap();
        (folder, store)
    }

    #[test]
    fn a_closure_counts_once_and_a_channel_without_money_is_none() {
        let (_folder, store) = store();
        for channel in 1..=3 {
            store.channel_funded(channel, 5).unwrap();
            store.channel_funded(channel, 6).unwrap();
        }
        assert!(store.channel_closed(1, [1; 32], Closure::Cooperative, 7).unwrap());
        assert!(store.channel_closed(2, [2; 32], Closure::Forced, 8).unwrap());
        assert!(store.channel_closed(3, [3; 32], Closure::AfterKill, 9).unwrap());
        assert!(!store.channel_closed(3, [3; 32], Closure::Forced, 10).unwrap(), "the event is repeated");
        assert!(!store.channel_closed(4, [4; 32], Closure::Forced, 11).unwrap(), "it was never funded");
        assert_eq!(store.closures().unwrap(), Closures { cooperative: 1, forced: 2, after_kill: 1 });
        assert_eq!(store.last_forced_closure().unwrap(), Some(9));
        assert_eq!([1, 2, 4].map(|id| store.is_closed_with_peer([id; 32]).unwrap()), [true, false, false]);
    }

    #[test]
    fn what_a_provider_kept_counts_once() {
        let (_folder, store) = store();
        let hash = PaymentHash::from_bytes([1; 32]);
        assert_eq!(store.skimmed_fees().unwrap(), 0);
        for _ in 0..2 {
            store.record_skimmed_fee(hash, 2_000).unwrap();
        }
        store.record_skimmed_fee(PaymentHash::from_bytes([2; 32]), 500).unwrap();
        assert_eq!(store.skimmed_fees().unwrap(), 2_500);
    }

    #[test]
    fn an_opening_is_recorded_before_it_has_a_channel() {
        let (_folder, store) = store();
        let key = IdempotencyKey([7; 32]);
        store.write(MONITORS, "", "first_0", vec![1]).unwrap();
        store.write(MONITORS, "", "second_1", vec![1]).unwrap();
        assert_eq!(store.opening(&key).unwrap(), None);
        store.begin_opening(&key, "peer", 100).unwrap();
        store.write(MONITORS, "", "third_0", vec![1]).unwrap();
        store.begin_opening(&key, "other", 200).unwrap();
        let monitors = ["first_0", "second_1"].map(str::to_owned).into();
        let begun = Opening { peer: "peer".to_owned(), amount: 100, channel: None, monitors };
        assert_eq!(store.opening(&key).unwrap(), Some(begun.clone()));
        store.opening_has_channel(&key, u128::MAX - 1).unwrap();
        assert_eq!(store.opening(&key).unwrap(), Some(Opening { channel: Some(u128::MAX - 1), ..begun }));
        assert!(store.is_of_an_opening(u128::MAX - 1).unwrap());
        assert!(!store.is_of_an_opening(1).unwrap());
    }

    #[test]
    fn data_of_the_first_version_are_migrated() {
        let (folder, store) = store();
        let key = IdempotencyKey([7; 32]);
        store.begin_opening(&key, "peer", 100).unwrap();
        let first_version = "ALTER TABLE openings DROP COLUMN monitors; DROP TABLE owner;
                             ALTER TABLE channels DROP COLUMN channel_id; DROP TABLE sends; PRAGMA user_version = 1;";
        store.connection.lock().execute_batch(first_version).unwrap();
        drop(store);
        for _ in 0..2 {
            let store = Store::open(folder.path()).unwrap();
            let opening = Opening { peer: "peer".to_owned(), amount: 100, channel: None, monitors: HashSet::new() };
            assert_eq!(store.opening(&key).unwrap(), Some(opening));
        }
    }
}
