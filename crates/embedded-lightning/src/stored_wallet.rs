//! The library's on-chain wallet, read from what the library has stored.
//!
//! The library's call for on-chain payments creates a transaction, passes it to the chain source once, and stores
//! nothing: after a kill it is unknown whether it was sent. So the adapter creates transactions itself (`sends.rs`),
//! from a copy of the wallet that is read each time and never stored. The wallet is BDK's, with keys of BIP 84.

#![allow(clippy::drop_non_drop, reason = "the library's macros do that")]

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use bdk_wallet::chain::keychain_txout::ChangeSet as Indexer;
use bdk_wallet::chain::local_chain::ChangeSet as LocalChain;
use bdk_wallet::chain::tx_graph::ChangeSet as TxGraph;
use bdk_wallet::chain::{BlockId, ConfirmationBlockTime, DescriptorId};
use bdk_wallet::descriptor::IntoWalletDescriptor as _;
use bdk_wallet::template::Bip84;
use bdk_wallet::{ChangeSet, KeychainKind, Wallet};
use ldk_node::bitcoin::bip32::Xpriv;
use ldk_node::bitcoin::hashes::{Hash as _, sha256};
use ldk_node::bitcoin::secp256k1::Secp256k1;
use ldk_node::bitcoin::{BlockHash, Network, OutPoint, Transaction, TxOut, Txid};
use ldk_node::lightning::io::Read;
use ldk_node::lightning::ln::msgs::DecodeError;
use ldk_node::lightning::util::ser::{BigSize, Readable, RequiredWrapper};
use ldk_node::lightning::{decode_tlv_stream, read_tlv_fields};

use crate::store::Store;

/// The library's namespace for its wallet, which has several entries.
const WALLET: &str = "bdk_wallet";

const VERSION: u8 = 1;

/// Reads the wallet as last stored by the library.
pub(crate) fn load(store: &Store, root: Xpriv, network: Network) -> io::Result<Wallet> {
    let (external, internal) = (Bip84(root, KeychainKind::External), Bip84(root, KeychainKind::Internal));
    let secp = Secp256k1::new();
    let public = |template: Bip84<Xpriv>| {
        template.into_wallet_descriptor(&secp, network).map(|(descriptor, _)| descriptor).map_err(io::Error::other)
    };
    let stored = ChangeSet {
        descriptor: Some(public(external.clone())?),
        change_descriptor: Some(public(internal.clone())?),
        network: Some(network),
        local_chain: read::<LocalChain>(store, "local_chain")?.unwrap_or_default(),
        tx_graph: read::<TxGraph<ConfirmationBlockTime>>(store, "tx_graph")?.unwrap_or_default(),
        indexer: read::<Indexer>(store, "indexer")?.unwrap_or_default(),
    };
    let loaded = Wallet::load()
        .descriptor(KeychainKind::External, Some(external))
        .descriptor(KeychainKind::Internal, Some(internal))
        .extract_keys()
        .check_network(network)
        .load_wallet_no_persist(stored)
        .map_err(io::Error::other)?;
    loaded.ok_or_else(|| io::Error::other("the library has stored no on-chain wallet"))
}

fn read<T>(store: &Store, key: &str) -> io::Result<Option<T>>
where
    Stored<T>: Readable,
{
    let bytes = match store.value(WALLET, "", key) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ldk_node::lightning::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut rest = bytes.as_slice();
    let read = |error| io::Error::other(format!("the stored on-chain wallet ({key}) cannot be read: {error:?}"));
    let version: u8 = Readable::read(&mut rest).map_err(read)?;
    if version != VERSION {
        return Err(io::Error::other(format!("the stored on-chain wallet ({key}) has the unknown version {version}")));
    }
    Stored::<T>::read(&mut rest).map(|Stored(value)| Some(value)).map_err(read)
}

/// A value as the library serialises it: streams of types, lengths and values (BOLT 1).
struct Stored<T>(T);

impl Readable for Stored<LocalChain> {
    fn read<R: Read>(reader: &mut R) -> Result<Self, DecodeError> {
        let mut blocks: RequiredWrapper<BTreeMap<u32, Option<BlockHash>>> = RequiredWrapper(None);
        decode_tlv_stream!(reader, { (0, blocks, required) });
        Ok(Self(LocalChain { blocks: blocks.0.ok_or(DecodeError::InvalidValue)? }))
    }
}

impl Readable for Stored<TxGraph<ConfirmationBlockTime>> {
    fn read<R: Read>(reader: &mut R) -> Result<Self, DecodeError> {
        let mut transactions: RequiredWrapper<Stored<Vec<Transaction>>> = RequiredWrapper(None);
        let mut outputs: RequiredWrapper<BTreeMap<OutPoint, TxOut>> = RequiredWrapper(None);
        let mut anchors: RequiredWrapper<Stored<BTreeSet<(ConfirmationBlockTime, Txid)>>> = RequiredWrapper(None);
        let mut last_seen: RequiredWrapper<BTreeMap<Txid, u64>> = RequiredWrapper(None);
        let mut first_seen: Option<BTreeMap<Txid, u64>> = None;
        let mut last_evicted: Option<BTreeMap<Txid, u64>> = None;
        decode_tlv_stream!(reader, {
            (0, transactions, required),
            (1, first_seen, option),
            (2, outputs, required),
            (3, last_evicted, option),
            (4, anchors, required),
            (6, last_seen, required),
        });
        let missing = DecodeError::InvalidValue;
        Ok(Self(TxGraph {
            txs: transactions.0.ok_or(missing)?.0.into_iter().map(Arc::new).collect(),
            txouts: outputs.0.ok_or(DecodeError::InvalidValue)?,
            anchors: anchors.0.ok_or(DecodeError::InvalidValue)?.0,
            last_seen: last_seen.0.ok_or(DecodeError::InvalidValue)?,
            first_seen: first_seen.unwrap_or_default(),
            last_evicted: last_evicted.unwrap_or_default(),
        }))
    }
}

impl Readable for Stored<Indexer> {
    fn read<R: Read>(reader: &mut R) -> Result<Self, DecodeError> {
        let mut last_revealed: RequiredWrapper<Stored<BTreeMap<DescriptorId, u32>>> = RequiredWrapper(None);
        decode_tlv_stream!(reader, { (0, last_revealed, required) });
        let last_revealed = last_revealed.0.ok_or(DecodeError::InvalidValue)?.0;
        Ok(Self(Indexer { last_revealed, ..Indexer::default() }))
    }
}

impl Readable for Stored<Vec<Transaction>> {
    fn read<R: Read>(reader: &mut R) -> Result<Self, DecodeError> {
        let count: BigSize = Readable::read(reader)?;
        let mut transactions = Vec::new();
        for _ in 0..count.0 {
            let mut transaction: RequiredWrapper<Transaction> = RequiredWrapper(None);
            read_tlv_fields!(reader, { (0, transaction, required) });
            transactions.push(transaction.0.ok_or(DecodeError::InvalidValue)?);
        }
        Ok(Self(transactions))
    }
}

impl Readable for Stored<BTreeSet<(ConfirmationBlockTime, Txid)>> {
    fn read<R: Read>(reader: &mut R) -> Result<Self, DecodeError> {
        let count: BigSize = Readable::read(reader)?;
        let mut anchors = BTreeSet::new();
        for _ in 0..count.0 {
            let mut block: RequiredWrapper<Stored<ConfirmationBlockTime>> = RequiredWrapper(None);
            let mut id: RequiredWrapper<Txid> = RequiredWrapper(None);
            read_tlv_fields!(reader, { (0, block, required), (2, id, required) });
            let block = block.0.ok_or(DecodeError::InvalidValue)?;
            anchors.insert((block.0, id.0.ok_or(DecodeError::InvalidValue)?));
        }
        Ok(Self(anchors))
    }
}

impl Readable for Stored<ConfirmationBlockTime> {
    fn read<R: Read>(reader: &mut R) -> Result<Self, DecodeError> {
        let mut block_id: RequiredWrapper<Stored<BlockId>> = RequiredWrapper(None);
        let mut confirmation_time: RequiredWrapper<u64> = RequiredWrapper(None);
        decode_tlv_stream!(reader, { (0, block_id, required), (2, confirmation_time, required) });
        Ok(Self(ConfirmationBlockTime {
            block_id: block_id.0.ok_or(DecodeError::InvalidValue)?.0,
            confirmation_time: confirmation_time.0.ok_or(DecodeError::InvalidValue)?,
        }))
    }
}

impl Readable for Stored<BlockId> {
    fn read<R: Read>(reader: &mut R) -> Result<Self, DecodeError> {
        let mut height: RequiredWrapper<u32> = RequiredWrapper(None);
        let mut hash: RequiredWrapper<BlockHash> = RequiredWrapper(None);
        decode_tlv_stream!(reader, { (0, height, required), (2, hash, required) });
        Ok(Self(BlockId {
            height: height.0.ok_or(DecodeError::InvalidValue)?,
            hash: hash.0.ok_or(DecodeError::InvalidValue)?,
        }))
    }
}

impl Readable for Stored<BTreeMap<DescriptorId, u32>> {
    fn read<R: Read>(reader: &mut R) -> Result<Self, DecodeError> {
        let count: BigSize = Readable::read(reader)?;
        let mut indexes = BTreeMap::new();
        for _ in 0..count.0 {
            let mut id: RequiredWrapper<Stored<DescriptorId>> = RequiredWrapper(None);
            let mut index: RequiredWrapper<u32> = RequiredWrapper(None);
            read_tlv_fields!(reader, { (0, id, required), (2, index, required) });
            let id = id.0.ok_or(DecodeError::InvalidValue)?;
            indexes.insert(id.0, index.0.ok_or(DecodeError::InvalidValue)?);
        }
        Ok(Self(indexes))
    }
}

impl Readable for Stored<DescriptorId> {
    fn read<R: Read>(reader: &mut R) -> Result<Self, DecodeError> {
        let mut hash: RequiredWrapper<[u8; 32]> = RequiredWrapper(None);
        decode_tlv_stream!(reader, { (0, hash, required) });
        let hash = hash.0.ok_or(DecodeError::InvalidValue)?;
        Ok(Self(DescriptorId(sha256::Hash::from_byte_array(hash))))
    }
}
