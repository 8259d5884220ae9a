//! The adapter's records of on-chain payments. A transaction is stored before it is published, and republished until
//! it, or another that spends its coins, has six confirmations.

use std::io;

use ldk_node::bitcoin::Transaction;
use ldk_node::bitcoin::consensus::{deserialize, serialize};
use rusqlite::{Row, params};
use usher_engine::StreamId;

use crate::store::Store;

/// A transaction of an on-chain payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Send {
    pub(crate) transaction: Transaction,
    /// Sats that the payee gets.
    pub(crate) amount: u64,
    /// Sats.
    pub(crate) fee: u64,
    pub(crate) state: SendState,
}

usher_protocol::words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SendState {
        /// It has fewer than six confirmations.
        Publishing = "publishing",
        /// It has six.
        Confirmed = "confirmed",
        /// Another transaction that spends its coins has six.
        Replaced = "replaced",
    }
}

impl Store {
    /// Records a transaction before it is published. An order has one transaction.
    pub(crate) fn begin_send(&self, id: StreamId, send: &Send, now: u64) -> io::Result<()> {
        let raw = serialize(&send.transaction);
        // A copy of the data without it is detected as outdated (`rollback_guard.rs`).
        self.advance_stamp(0)?;
        self.execute(
            "INSERT INTO sends VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![id.to_string(), raw, send.amount, send.fee, send.state.as_str(), now],
        )?;
        Ok(())
    }

    pub(crate) fn send(&self, id: StreamId) -> io::Result<Option<Send>> {
        self.first("SELECT raw, amount, fee, state FROM sends WHERE id = ?1", [id.to_string()], read)
    }

    /// The transactions that have fewer than six confirmations.
    pub(crate) fn publishing(&self) -> io::Result<Vec<Send>> {
        self.all("SELECT raw, amount, fee, state FROM sends WHERE state = 'publishing' ORDER BY rowid", [], read)
    }

    pub(crate) fn end_send(&self, id: StreamId, state: SendState, now: u64) -> io::Result<()> {
        self.execute(
            "UPDATE sends SET state = ?2, changed_at = ?3 WHERE id = ?1",
            params![id.to_string(), state.as_str(), now],
        )?;
        Ok(())
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Send> {
    let raw: Vec<u8> = row.get(0)?;
    let transaction = deserialize(&raw)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Blob, Box::new(error)))?;
    let state = SendState::parse(&row.get::<_, String>(3)?).unwrap_or(SendState::Publishing);
    Ok(Send { transaction, amount: row.get(1)?, fee: row.get(2)?, state })
}

#[cfg(test)]
mod tests {
    use ldk_node::bitcoin::absolute::LockTime;
    use ldk_node::bitcoin::transaction::Version;
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn an_order_has_one_transaction_until_it_ends() {
        let folder = TempDir::new().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let send = |sats| Send {
            transaction: Transaction {
                version: Version::TWO,
                lock_time: LockTime::from_consensus(7),
                input: Vec::new(),
                output: vec![ldk_node::bitcoin::TxOut {
                    value: ldk_node::bitcoin::Amount::from_sat(sats),
                    script_pubkey: ldk_node::bitcoin::ScriptBuf::new(),
                }],
            },
            amount: sats,
            fee: 141,
            state: SendState::Publishing,
        };
        let (id, other) = (StreamId::SUBSCRIPTIONS, "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11".parse().unwrap());
        assert_eq!(store.send(id).unwrap(), None);
        store.begin_send(id, &send(5), 1).unwrap();
        store.begin_send(other, &send(6), 1).unwrap();
        assert_eq!(store.publishing().unwrap(), [send(5), send(6)]);
        store.end_send(id, SendState::Confirmed, 2).unwrap();
        assert_eq!(store.send(id).unwrap(), Some(Send { state: SendState::Confirmed, ..send(5) }));
        assert_eq!(store.publishing().unwrap(), [send(6)]);
        assert!(store.begin_send(id, &send(7), 3).is_err(), "an order is carried out once");
    }
}
