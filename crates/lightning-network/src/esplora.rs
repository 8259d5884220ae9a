//! The chain as an Esplora server presents it: the endpoints that Lightning nodes use.

use std::fmt::Display;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use ldk_node::bitcoin::consensus::encode::{deserialize_hex, serialize_hex};
use ldk_node::bitcoin::hashes::{Hash as _, sha256};
use ldk_node::bitcoin::{BlockHash, MerkleBlock, OutPoint, Transaction, Txid};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::blockchain::Blockchain;

const BLOCKS: usize = 10;

/// 1 sat per virtual byte, whenever the transaction is to be confirmed.
const FEE_RATE: f64 = 1.0;

type SharedLedger = State<Arc<Mutex<Blockchain>>>;

pub(crate) fn router() -> Router<Arc<Mutex<Blockchain>>> {
    Router::new()
        .route("/blocks", get(blocks))
        .route("/blocks/tip/hash", get(async |State(blockchain): SharedLedger| blockchain.lock().tip().to_string()))
        .route(
            "/blocks/tip/height",
            get(async |State(blockchain): SharedLedger| blockchain.lock().height().to_string()),
        )
        .route("/block-height/{height}", get(block_hash))
        .route("/block/{hash}/header", get(block_header))
        .route("/block/{hash}/status", get(block_status))
        .route("/tx", post(broadcast))
        .route("/tx/{id}", get(transaction))
        .route("/tx/{id}/raw", get(raw_transaction))
        .route("/tx/{id}/status", get(transaction_status))
        .route("/tx/{id}/merkleblock-proof", get(merkle_block))
        .route("/tx/{id}/outspend/{vout}", get(output_status))
        .route("/scripthash/{hash}/txs", get(transactions_of_script))
        // The first page has them all.
        .route("/scripthash/{hash}/txs/chain/{last}", get(async || Json(Vec::<Value>::new())))
        .route("/fee-estimates", get(async || Json(json!({"1": FEE_RATE, "144": FEE_RATE, "1008": FEE_RATE}))))
}

fn found(text: Option<impl Display>) -> Response {
    text.map_or_else(not_found, |text| text.to_string().into_response())
}

fn found_json(value: Option<Value>) -> Response {
    value.map_or_else(not_found, |value| Json(value).into_response())
}

fn not_found() -> Response {
    StatusCode::NOT_FOUND.into_response()
}

async fn blocks(State(blockchain): SharedLedger) -> Response {
    let blockchain = blockchain.lock();
    let heights = (0..=blockchain.height()).rev().take(BLOCKS);
    Json(heights.filter_map(|height| block_info(&blockchain, height)).collect::<Vec<_>>()).into_response()
}

fn block_info(blockchain: &Blockchain, height: usize) -> Option<Value> {
    let hash = blockchain.hash_at(height)?;
    let (_, block) = blockchain.block(&hash)?;
    let header = block.header;
    Some(json!({
        "id": hash.to_string(),
        "height": height,
        "version": header.version.to_consensus(),
        "timestamp": header.time,
        "tx_count": block.txdata.len(),
        "size": block.total_size(),
        "weight": block.weight().to_wu(),
        "merkle_root": header.merkle_root.to_string(),
        "previousblockhash": (height > 0).then(|| header.prev_blockhash.to_string()),
        "mediantime": header.time,
        "nonce": header.nonce,
        "bits": header.bits.to_consensus(),
        "difficulty": 0.0,
    }))
}

async fn block_hash(State(blockchain): SharedLedger, Path(height): Path<usize>) -> Response {
    found(blockchain.lock().hash_at(height))
}

async fn block_header(State(blockchain): SharedLedger, Path(hash): Path<BlockHash>) -> Response {
    found(blockchain.lock().block(&hash).map(|(_, block)| serialize_hex(&block.header)))
}

async fn block_status(State(blockchain): SharedLedger, Path(hash): Path<BlockHash>) -> Response {
    let blockchain = blockchain.lock();
    let Some((height, _)) = blockchain.block(&hash) else {
        return Json(json!({"in_best_chain": false})).into_response();
    };
    let next = blockchain.hash_at(height + 1).map(|hash| hash.to_string());
    Json(json!({"in_best_chain": true, "height": height, "next_best": next})).into_response()
}

async fn broadcast(State(blockchain): SharedLedger, transaction: String) -> Response {
    let accepted = deserialize_hex::<Transaction>(transaction.trim())
        .map_err(anyhow::Error::from)
        .and_then(|transaction| blockchain.lock().accept(transaction));
    match accepted {
        Ok(id) => id.to_string().into_response(),
        Err(error) => (StatusCode::BAD_REQUEST, format!("sendrawtransaction RPC error: {error}")).into_response(),
    }
}

async fn transaction(State(blockchain): SharedLedger, Path(id): Path<Txid>) -> Response {
    let blockchain = blockchain.lock();
    found_json(blockchain.find(&id).map(|(height, transaction)| details(&blockchain, height, transaction)))
}

async fn raw_transaction(State(blockchain): SharedLedger, Path(id): Path<Txid>) -> Response {
    let blockchain = blockchain.lock();
    let bytes = blockchain.find(&id).map(|(_, transaction)| ldk_node::bitcoin::consensus::serialize(transaction));
    bytes.map_or_else(not_found, axum::response::IntoResponse::into_response)
}

async fn transaction_status(State(blockchain): SharedLedger, Path(id): Path<Txid>) -> Response {
    let blockchain = blockchain.lock();
    found_json(blockchain.find(&id).map(|(height, _)| status(&blockchain, height)))
}

async fn merkle_block(State(blockchain): SharedLedger, Path(id): Path<Txid>) -> Response {
    let blockchain = blockchain.lock();
    let block = blockchain.find(&id).and_then(|(height, _)| blockchain.block(&blockchain.hash_at(height?)?));
    found(block.map(|(_, block)| serialize_hex(&MerkleBlock::from_block_with_predicate(block, |other| *other == id))))
}

async fn output_status(State(blockchain): SharedLedger, Path((txid, vout)): Path<(Txid, u32)>) -> Response {
    let blockchain = blockchain.lock();
    if blockchain.find(&txid).is_none() {
        return not_found();
    }
    let outpoint = OutPoint { txid, vout };
    let spender = blockchain.transactions().find_map(|(height, transaction)| {
        let input = transaction.input.iter().position(|input| input.previous_output == outpoint)?;
        Some((height, transaction.compute_txid(), input))
    });
    let value = match spender {
        Some((height, id, input)) => {
            json!({"spent": true, "txid": id.to_string(), "vin": input, "status": status(&blockchain, height)})
        }
        None => json!({"spent": false}),
    };
    Json(value).into_response()
}

async fn transactions_of_script(State(blockchain): SharedLedger, Path(hash): Path<sha256::Hash>) -> Response {
    let blockchain = blockchain.lock();
    let is_script = |script: &ldk_node::bitcoin::Script| sha256::Hash::hash(script.as_bytes()) == hash;
    let spends = |input: &ldk_node::bitcoin::TxIn| {
        let (_, spent) = blockchain.find(&input.previous_output.txid)?;
        spent.output.get(input.previous_output.vout as usize)
    };
    let concerned = blockchain.transactions().filter(|(_, transaction)| {
        transaction.output.iter().any(|output| is_script(&output.script_pubkey))
            || transaction.input.iter().filter_map(spends).any(|output| is_script(&output.script_pubkey))
    });
    let list: Vec<_> = concerned.map(|(height, transaction)| details(&blockchain, height, transaction)).collect();
    Json(list).into_response()
}

fn status(blockchain: &Blockchain, height: Option<usize>) -> Value {
    let block = height.and_then(|height| Some((height, blockchain.hash_at(height)?)));
    let Some((height, hash)) = block else { return json!({"confirmed": false}) };
    let time = blockchain.block(&hash).map(|(_, block)| block.header.time);
    json!({"confirmed": true, "block_height": height, "block_hash": hash.to_string(), "block_time": time})
}

fn details(blockchain: &Blockchain, height: Option<usize>, transaction: &Transaction) -> Value {
    let inputs = transaction.input.iter().map(|input| {
        let spent = blockchain.find(&input.previous_output.txid);
        let output = spent.and_then(|(_, spent)| spent.output.get(input.previous_output.vout as usize));
        json!({
            "txid": input.previous_output.txid.to_string(),
            "vout": input.previous_output.vout,
            "prevout": output.map(|output| json!({
                "value": output.value.to_sat(),
                "scriptpubkey": output.script_pubkey.to_hex_string(),
            })),
            "scriptsig": input.script_sig.to_hex_string(),
            "witness": input.witness.iter().map(hex).collect::<Vec<_>>(),
            "sequence": input.sequence.to_consensus_u32(),
            "is_coinbase": transaction.is_coinbase(),
        })
    });
    let outputs = transaction
        .output
        .iter()
        .map(|output| json!({"value": output.value.to_sat(), "scriptpubkey": output.script_pubkey.to_hex_string()}));
    json!({
        "txid": transaction.compute_txid().to_string(),
        "version": transaction.version.0,
        "locktime": transaction.lock_time.to_consensus_u32(),
        "vin": inputs.collect::<Vec<_>>(),
        "vout": outputs.collect::<Vec<_>>(),
        "size": transaction.total_size(),
        "weight": transaction.weight().to_wu(),
        // Nodes pay no attention to the fees of others.
        "fee": 0,
        "status": status(blockchain, height),
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
