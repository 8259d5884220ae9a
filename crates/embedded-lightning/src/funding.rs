//! Republishes transactions until they are in a block: those that fund channels, and on-chain payments (`sends.rs`),
//! which nothing else publishes. The library passes a funding transaction to the chain source once, and relies on it
//! reaching a block (LDK's `BroadcasterInterface`). That can fail: the process is killed, the chain source does not
//! answer, or drops it in favour of higher fees. The channel would never open.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use ldk_node::bitcoin::consensus::encode::{deserialize_partial, serialize};
use ldk_node::bitcoin::{OutPoint, Transaction, Txid};

use crate::node_context::NodeContext;
use crate::options::ChainAccess;

/// How often unconfirmed transactions are published.
const INTERVAL: Duration = Duration::from_secs(30);

/// The bytes of a transaction after its first version byte: three zero bytes, and marker and flag of one with witnesses
/// (BIP 144).
const START: [u8; 5] = [0, 0, 0, 0, 1];

/// Publishes unconfirmed transactions, at once and then periodically.
pub(crate) async fn publish(inner: Arc<NodeContext>, chain: Arc<dyn ChainAccess>) {
    let mut due = tokio::time::interval(INTERVAL);
    let mut refusals: HashMap<Txid, String> = HashMap::new();
    loop {
        tokio::select! {
            _ = due.tick() => {}
            () = inner.to_publish.notified() => {}
        }
        let looking = Arc::clone(&inner);
        let found = tokio::task::spawn_blocking(move || looking.unconfirmed()).await;
        // The library panicked; there is nothing to publish.
        let Ok(found) = found else { return };
        let found = found.unwrap_or_else(|error| {
            tracing::warn!(%error, "the transactions to publish cannot be read");
            Vec::new()
        });
        refusals.retain(|id, _| found.iter().any(|(known, _)| known == id));
        for (id, bytes) in found {
            match chain.publish(&bytes).await {
                Ok(()) => _ = refusals.remove(&id),
                Err(problem) if refusals.get(&id) == Some(&problem) => {}
                Err(problem) => {
                    tracing::warn!(transaction = %id, problem, "the chain source does not take a transaction of the node");
                    refusals.insert(id, problem);
                }
            }
        }
    }
}

impl NodeContext {
    fn unconfirmed(&self) -> std::io::Result<Vec<(Txid, Vec<u8>)>> {
        let mut found = self.unconfirmed_fundings()?;
        let sends = self.store.publishing()?.into_iter();
        found.extend(sends.map(|send| (send.transaction.compute_txid(), serialize(&send.transaction))));
        Ok(found)
    }

    /// The unconfirmed funding transactions of channels that this node opened. Blocks.
    ///
    /// They are read from the store, and only if the channel's monitor is stored: the peer has then signed the
    /// commitment transaction, by which the money can return.
    fn unconfirmed_fundings(&self) -> std::io::Result<Vec<(Txid, Vec<u8>)>> {
        let unconfirmed: HashSet<OutPoint> = self
            .node()
            .list_channels()
            .into_iter()
            .filter(|channel| channel.is_outbound && channel.confirmations.unwrap_or(0) == 0)
            .filter_map(|channel| channel.funding_txo)
            .collect();
        if unconfirmed.is_empty() {
            return Ok(Vec::new());
        }
        let monitors = self.store.monitors()?;
        let wanted: HashSet<Txid> = unconfirmed
            .into_iter()
            .filter(|output| monitors.contains(&monitor(*output)))
            .map(|output| output.txid)
            .collect();
        let Some(channels) = self.store.channel_manager()? else { return Ok(Vec::new()) };
        Ok(transactions(&channels, &wanted))
    }
}

/// The library's key for the monitor of the channel funded by this output.
pub(crate) fn monitor(output: OutPoint) -> String {
    format!("{}_{}", output.txid, output.vout)
}

/// The wanted transactions, found in the library's serialised list of channels, because the library does not expose
/// them. The surrounding format does not matter: a transaction is recognised by its id.
fn transactions(stored: &[u8], wanted: &HashSet<Txid>) -> Vec<(Txid, Vec<u8>)> {
    let mut found = HashMap::new();
    for version in 0..stored.len() {
        let Some(rest) = stored.get(version..) else { break };
        if !rest.get(1..).is_some_and(|after| after.starts_with(&START)) {
            continue;
        }
        let Ok((transaction, length)) = deserialize_partial::<Transaction>(rest) else { continue };
        let id = transaction.compute_txid();
        if wanted.contains(&id) {
            found.insert(id, rest.get(..length).unwrap_or_default().to_vec());
        }
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use ldk_node::bitcoin::absolute::LockTime;
    use ldk_node::bitcoin::hashes::Hash as _;
    use ldk_node::bitcoin::transaction::Version;
    use ldk_node::bitcoin::{Amount, ScriptBuf, Sequence, TxIn, TxOut, Witness};

    use super::*;

    fn transaction(sats: u64) -> Transaction {
        Transaction {
            version: Version::TWO,
            lock_time: LockTime::ZERO,
            input: vec![TxIn {
                previous_output: OutPoint::new(Txid::all_zeros(), 3),
                script_sig: ScriptBuf::new(),
                sequence: Sequence::MAX,
                witness: Witness::from_slice(&[[0u8, 0, 0, 0, 1, 2]]),
            }],
            output: vec![TxOut { value: Amount::from_sat(sats), script_pubkey: ScriptBuf::new() }],
        }
    }

    #[test]
    fn only_wanted_transactions_are_found_among_other_bytes() {
        let (one, other, absent) = (transaction(1), transaction(2), transaction(3));
        let mut stored = vec![0; 20];
        stored.extend(serialize(&one));
        stored.extend([2, 0, 0, 0, 0, 1, 0xff]);
        stored.extend(serialize(&other));
        stored.extend(serialize(&one));
        // Truncated.
        stored.extend(serialize(&absent));
        stored.pop();

        let wanted = HashSet::from([one.compute_txid(), absent.compute_txid()]);
        assert_eq!(transactions(&stored, &wanted), vec![(one.compute_txid(), serialize(&one))]);
        assert!(transactions(&stored, &HashSet::new()).is_empty());
        assert!(transactions(&[], &wanted).is_empty());
    }
}
