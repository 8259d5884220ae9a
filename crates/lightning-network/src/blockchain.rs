//! Blocks and unconfirmed transactions of the private chain.

use std::collections::{HashMap, HashSet};

use anyhow::{Context as _, ensure};
use ldk_node::bitcoin::absolute::LockTime;
use ldk_node::bitcoin::block::{Header, Version};
use ldk_node::bitcoin::consensus::{Decodable as _, encode::serialize};
use ldk_node::bitcoin::constants::genesis_block;
use ldk_node::bitcoin::hashes::Hash as _;
use ldk_node::bitcoin::opcodes::all::OP_RETURN;
use ldk_node::bitcoin::script::{Builder, PushBytesBuf};
use ldk_node::bitcoin::transaction::Version as TransactionVersion;
use ldk_node::bitcoin::{
    Address, Amount, Block, BlockHash, Network, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxMerkleNode, TxOut,
    Txid, Witness,
};
use usher_engine::ports::{Clock as _, SystemClock};

/// The block subsidy that the coinbase transactions claim: nobody spends it.
const SUBSIDY: Amount = Amount::from_sat(50 * 100_000_000);

pub(crate) struct Unconfirmed {
    pub(crate) transaction: Transaction,
    /// When it arrived, in Unix seconds.
    pub(crate) time: u64,
    /// The height of the chain at that time.
    pub(crate) height: usize,
}

/// The chain, from its genesis, and what the next block will confirm.
pub(crate) struct Blockchain {
    blocks: Vec<(BlockHash, Block)>,
    heights: HashMap<BlockHash, usize>,
    confirmed: HashSet<Txid>,
    /// Every transaction that was ever accepted: nodes that spend a coin twice by mistake go on with both.
    seen: HashSet<Txid>,
    spent: HashSet<OutPoint>,
    /// In the order of arrival, so that a parent is before its child.
    unconfirmed: Vec<(Txid, Unconfirmed)>,
    pub(crate) takes_transactions: bool,
}

impl Blockchain {
    pub(crate) fn new() -> Self {
        let genesis = genesis_block(Network::Regtest);
        let hash = genesis.block_hash();
        Self {
            blocks: vec![(hash, genesis)],
            heights: HashMap::from([(hash, 0)]),
            confirmed: HashSet::new(),
            seen: HashSet::new(),
            spent: HashSet::new(),
            unconfirmed: Vec::new(),
            takes_transactions: true,
        }
    }

    /// The same chain as the one whose blocks [`encoded_blocks`](Self::encoded_blocks) returned.
    pub(crate) fn of_blocks(mut encoded: &[u8]) -> anyhow::Result<Self> {
        let mut blockchain = Self::new();
        while !encoded.is_empty() {
            blockchain.append(Block::consensus_decode_from_finite_reader(&mut encoded)?);
        }
        Ok(blockchain)
    }

    /// All blocks after the first.
    pub(crate) fn encoded_blocks(&self) -> Vec<u8> {
        self.blocks.iter().skip(1).flat_map(|(_, block)| serialize(block)).collect()
    }

    pub(crate) fn height(&self) -> usize {
        self.blocks.len() - 1
    }

    pub(crate) fn tip(&self) -> BlockHash {
        self.blocks.last().map_or_else(BlockHash::all_zeros, |(hash, _)| *hash)
    }

    pub(crate) fn hash_at(&self, height: usize) -> Option<BlockHash> {
        self.blocks.get(height).map(|(hash, _)| *hash)
    }

    pub(crate) fn block(&self, hash: &BlockHash) -> Option<(usize, &Block)> {
        let height = *self.heights.get(hash)?;
        self.blocks.get(height).map(|(_, block)| (height, block))
    }

    pub(crate) fn unconfirmed(&self) -> impl Iterator<Item = &(Txid, Unconfirmed)> {
        self.unconfirmed.iter()
    }

    pub(crate) fn unconfirmed_by_id(&self, id: &Txid) -> Option<&Unconfirmed> {
        self.unconfirmed.iter().find(|(known, _)| known == id).map(|(_, unconfirmed)| unconfirmed)
    }

    /// Every transaction, with the height of its block if it is confirmed.
    pub(crate) fn transactions(&self) -> impl Iterator<Item = (Option<usize>, &Transaction)> {
        let confirmed = self.blocks.iter().enumerate();
        confirmed
            .flat_map(|(height, (_, block))| block.txdata.iter().map(move |transaction| (Some(height), transaction)))
            .chain(self.unconfirmed.iter().map(|(_, unconfirmed)| (None, &unconfirmed.transaction)))
    }

    pub(crate) fn find(&self, id: &Txid) -> Option<(Option<usize>, &Transaction)> {
        self.transactions().find(|(_, transaction)| transaction.compute_txid() == *id)
    }

    pub(crate) fn is_unspent(&self, outpoint: &OutPoint) -> bool {
        self.confirmed.contains(&outpoint.txid) && !self.spent.contains(outpoint)
    }

    /// Accepts a transaction for the next block. One that spends the same coin as an unconfirmed one replaces it.
    pub(crate) fn accept(&mut self, transaction: Transaction) -> anyhow::Result<Txid> {
        let id = transaction.compute_txid();
        ensure!(!self.confirmed.contains(&id), "transaction already in block chain");
        if self.unconfirmed_by_id(&id).is_some() {
            return Ok(id);
        }
        ensure!(self.takes_transactions, "mempool min fee not met");
        let inputs: HashSet<_> = transaction.input.iter().map(|input| input.previous_output).collect();
        ensure!(inputs.iter().all(|input| self.seen.contains(&input.txid)), "bad-txns-inputs-missingorspent");
        ensure!(inputs.is_disjoint(&self.spent), "bad-txns-inputs-missingorspent");
        let last = transaction.input.iter().all(|input| input.sequence == Sequence::MAX);
        if let LockTime::Blocks(height) = transaction.lock_time {
            ensure!(last || height.to_consensus_u32() as usize <= self.height(), "non-final");
        }
        self.unconfirmed
            .retain(|(_, other)| other.transaction.input.iter().all(|input| !inputs.contains(&input.previous_output)));
        let (time, height) = (now(), self.height());
        self.seen.insert(id);
        self.unconfirmed.push((id, Unconfirmed { transaction, time, height }));
        Ok(id)
    }

    /// Makes a coin of nothing for the next block.
    pub(crate) fn fund(&mut self, address: &Address, amount: Amount) -> OutPoint {
        // As different as the number of transactions before it.
        let nowhere = Txid::from_byte_array(
            ldk_node::bitcoin::hashes::sha256d::Hash::hash(&self.seen.len().to_be_bytes()).to_byte_array(),
        );
        let transaction = Transaction {
            version: TransactionVersion::TWO,
            lock_time: LockTime::ZERO,
            input: vec![TxIn { previous_output: OutPoint::new(nowhere, 0), ..TxIn::default() }],
            output: vec![TxOut { value: amount, script_pubkey: address.script_pubkey() }],
        };
        let (id, time, height) = (transaction.compute_txid(), now(), self.height());
        self.seen.insert(id);
        self.unconfirmed.push((id, Unconfirmed { transaction, time, height }));
        OutPoint::new(id, 0)
    }

    pub(crate) fn mine(&mut self) -> anyhow::Result<()> {
        let mut transactions = vec![coinbase(self.blocks.len())?];
        transactions.extend(self.unconfirmed.drain(..).map(|(_, unconfirmed)| unconfirmed.transaction));
        let previous = self.blocks.last().context("a chain has a first block")?;
        let mut block = Block {
            header: Header {
                version: Version::TWO,
                prev_blockhash: previous.0,
                merkle_root: TxMerkleNode::all_zeros(),
                time: previous.1.header.time.saturating_add(1).max(u32::try_from(now()).unwrap_or(u32::MAX)),
                bits: previous.1.header.bits,
                nonce: 0,
            },
            txdata: transactions,
        };
        commit_to_witnesses(&mut block)?;
        block.header.merkle_root = block.compute_merkle_root().context("a block has transactions")?;
        let target = block.header.target();
        while block.header.validate_pow(target).is_err() {
            block.header.nonce = block.header.nonce.wrapping_add(1);
        }
        self.append(block);
        Ok(())
    }

    fn append(&mut self, block: Block) {
        for transaction in block.txdata.iter().skip(1) {
            let id = transaction.compute_txid();
            self.confirmed.insert(id);
            self.seen.insert(id);
            self.spent.extend(transaction.input.iter().map(|input| input.previous_output));
        }
        let hash = block.block_hash();
        self.heights.insert(hash, self.blocks.len());
        self.blocks.push((hash, block));
    }
}

/// The first transaction of a block, which names its height (BIP 34).
fn coinbase(height: usize) -> anyhow::Result<Transaction> {
    Ok(Transaction {
        version: TransactionVersion::TWO,
        lock_time: LockTime::ZERO,
        input: vec![TxIn {
            previous_output: OutPoint::null(),
            script_sig: Builder::new().push_int(i64::try_from(height)?).push_int(0).into_script(),
            sequence: Sequence::MAX,
            witness: Witness::from_slice(&[[0u8; 32]]),
        }],
        output: vec![TxOut { value: SUBSIDY, script_pubkey: Builder::new().push_int(1).into_script() }],
    })
}

/// Adds the output in which a coinbase commits to the witnesses (BIP 141).
fn commit_to_witnesses(block: &mut Block) -> anyhow::Result<()> {
    let root = block.witness_root().context("a block has transactions")?;
    let commitment = Block::compute_witness_commitment(&root, &[0u8; 32]);
    let mut data = PushBytesBuf::from([0xaa, 0x21, 0xa9, 0xed]);
    data.extend_from_slice(&commitment.to_byte_array())?;
    let script: ScriptBuf = Builder::new().push_opcode(OP_RETURN).push_slice(data).into_script();
    let coinbase = block.txdata.first_mut().context("a block has transactions")?;
    coinbase.output.push(TxOut { value: Amount::ZERO, script_pubkey: script });
    Ok(())
}

fn now() -> u64 {
    SystemClock.now().secs()
}
