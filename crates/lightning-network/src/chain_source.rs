//! The chain source: what Lightning nodes ask of bitcoind or of an Esplora server, over HTTP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use ldk_node::bitcoin::consensus::encode::{deserialize_hex, serialize_hex};
use ldk_node::bitcoin::hashes::Hash as _;
use ldk_node::bitcoin::{Address, Amount, BlockHash, OutPoint, Transaction, Txid};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use crate::blockchain::Blockchain;
use crate::esplora;

/// 1 sat per virtual byte, in bitcoin per 1,000 virtual bytes.
const FEE_RATE: f64 = 0.000_01;

/// How to reach the chain: what an operator would configure for bitcoind.
#[derive(Clone, Debug)]
pub struct RpcAccess {
    /// The host, without a port.
    pub host: String,
    pub port: u16,
    /// The user; the chain lets everybody in.
    pub user: String,
    pub password: String,
}

/// A private Bitcoin chain, behind the parts of bitcoind's RPC and of Esplora that Lightning nodes use.
pub struct Chain {
    blockchain: Arc<Mutex<Blockchain>>,
    reachable: Arc<AtomicBool>,
    address: SocketAddr,
    server: AbortHandle,
}

struct RpcError {
    code: i64,
    message: String,
}

impl Drop for Chain {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Chain {
    /// Starts a chain that has nothing but its first block.
    pub async fn start() -> anyhow::Result<Self> {
        Self::serve(Blockchain::new()).await
    }

    /// Starts a chain with blocks that [`encoded_blocks`](Self::encoded_blocks) returned.
    pub(crate) async fn start_with(blocks: &[u8]) -> anyhow::Result<Self> {
        Self::serve(Blockchain::of_blocks(blocks)?).await
    }

    pub(crate) fn encoded_blocks(&self) -> Vec<u8> {
        self.blockchain.lock().encoded_blocks()
    }

    async fn serve(blockchain: Blockchain) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (blockchain, reachable) = (Arc::new(Mutex::new(blockchain)), Arc::new(AtomicBool::new(true)));
        let router = esplora::router()
            .route("/", post(respond))
            .layer(middleware::from_fn_with_state(Arc::clone(&reachable), fail_if_unreachable))
            .with_state(Arc::clone(&blockchain));
        #[expect(clippy::disallowed_methods, reason = "the server lives as long as the chain, which ends it")]
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { blockchain, reachable, address, server: server.abort_handle() })
    }

    pub fn rpc(&self) -> RpcAccess {
        RpcAccess {
            host: self.address.ip().to_string(),
            port: self.address.port(),
            user: "user".to_owned(),
            password: "password".to_owned(),
        }
    }

    pub fn esplora_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds blocks; the first confirms everything unconfirmed.
    pub fn mine(&self, blocks: usize) -> anyhow::Result<()> {
        let mut blockchain = self.blockchain.lock();
        (0..blocks).try_for_each(|_| blockchain.mine())
    }

    /// Pays an address with a coin made of nothing, in a block of its own. The chain checks no signature: whoever knows the coin
    /// can spend it.
    pub fn fund(&self, address: &Address, amount: Amount) -> anyhow::Result<OutPoint> {
        let mut blockchain = self.blockchain.lock();
        let coin = blockchain.fund(address, amount);
        blockchain.mine()?;
        Ok(coin)
    }

    /// The height of the last block.
    pub fn height(&self) -> usize {
        self.blockchain.lock().height()
    }

    /// How many transactions wait for a block.
    pub fn unconfirmed(&self) -> usize {
        self.blockchain.lock().unconfirmed().count()
    }

    /// The transactions that pay to an address, in a block or not.
    pub fn payments_to(&self, address: &Address) -> Vec<Transaction> {
        let (script, blockchain) = (address.script_pubkey(), self.blockchain.lock());
        let pays = |transaction: &&Transaction| transaction.output.iter().any(|output| output.script_pubkey == script);
        blockchain.transactions().map(|(_, transaction)| transaction).filter(pays).cloned().collect()
    }

    /// Refuses transactions, as if all of them paid too little, or takes them again.
    pub fn set_takes_transactions(&self, takes: bool) {
        self.blockchain.lock().takes_transactions = takes;
    }

    /// Lets every request fail, or succeed again.
    pub fn set_reachable(&self, reachable: bool) {
        self.reachable.store(reachable, Ordering::Relaxed);
    }
}

async fn fail_if_unreachable(State(reachable): State<Arc<AtomicBool>>, request: Request, next: Next) -> Response {
    if reachable.load(Ordering::Relaxed) {
        next.run(request).await
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "Work queue depth exceeded").into_response()
    }
}

async fn respond(State(blockchain): State<Arc<Mutex<Blockchain>>>, Json(request): Json<Value>) -> Response {
    let result = call(&mut blockchain.lock(), &request["method"], &request["params"]);
    let id = &request["id"];
    match result {
        Ok(result) => Json(json!({"result": result, "error": null, "id": id})).into_response(),
        Err(RpcError { code, message }) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            Json(json!({"result": null, "error": {"code": code, "message": message}, "id": id})),
        )
            .into_response(),
    }
}

fn call(blockchain: &mut Blockchain, method: &Value, params: &Value) -> Result<Value, RpcError> {
    let not_found = || RpcError { code: -5, message: "not found".to_owned() };
    let text = |index: usize| params[index].as_str().unwrap_or_default();
    match method.as_str().unwrap_or_default() {
        "getblockchaininfo" => Ok(json!({
            "chain": "regtest",
            "blocks": blockchain.height(),
            "bestblockhash": blockchain.tip().to_string(),
        })),
        "getblockhash" => {
            let height = params[0].as_u64().and_then(|height| usize::try_from(height).ok());
            let hash = height.and_then(|height| blockchain.hash_at(height)).ok_or_else(not_found)?;
            Ok(json!(hash.to_string()))
        }
        "getblockheader" => {
            let hash = text(0).parse().map_err(|_| not_found())?;
            header(blockchain, &hash).ok_or_else(not_found)
        }
        "getblock" => {
            let hash = text(0).parse().map_err(|_| not_found())?;
            blockchain.block(&hash).map(|(_, block)| json!(serialize_hex(block))).ok_or_else(not_found)
        }
        "estimatesmartfee" => Ok(json!({"feerate": FEE_RATE, "blocks": 1})),
        "getmempoolinfo" => Ok(json!({"mempoolminfee": FEE_RATE})),
        "getrawmempool" => {
            Ok(blockchain.unconfirmed().map(|(id, _)| Value::String(id.to_string())).collect::<Vec<_>>().into())
        }
        "getmempoolentry" => {
            let id: Txid = text(0).parse().map_err(|_| not_found())?;
            let entry = blockchain.unconfirmed_by_id(&id).ok_or_else(not_found)?;
            Ok(json!({"time": entry.time, "height": entry.height}))
        }
        "getrawtransaction" => {
            let id: Txid = text(0).parse().map_err(|_| not_found())?;
            let entry = blockchain.unconfirmed_by_id(&id).ok_or_else(not_found)?;
            Ok(json!(serialize_hex(&entry.transaction)))
        }
        "gettxout" => {
            let txid = text(0).parse().map_err(|_| not_found())?;
            let vout = params[1].as_u64().and_then(|vout| u32::try_from(vout).ok()).ok_or_else(not_found)?;
            Ok(if blockchain.is_unspent(&OutPoint { txid, vout }) { json!({}) } else { Value::Null })
        }
        "sendrawtransaction" => {
            let transaction =
                deserialize_hex(text(0)).map_err(|error| RpcError { code: -22, message: error.to_string() })?;
            let id =
                blockchain.accept(transaction).map_err(|error| RpcError { code: -26, message: error.to_string() })?;
            Ok(json!(id.to_string()))
        }
        unknown => Err(RpcError { code: -32601, message: format!("method not found: {unknown}") }),
    }
}

/// A header in the form of bitcoind. Each block of a private chain takes two attempts on average.
fn header(blockchain: &Blockchain, hash: &BlockHash) -> Option<Value> {
    let (height, block) = blockchain.block(hash)?;
    let header = block.header;
    let mut value = json!({
        "hash": hash.to_string(),
        "height": height,
        "version": header.version.to_consensus(),
        "merkleroot": header.merkle_root.to_string(),
        "time": header.time,
        "nonce": header.nonce,
        "bits": format!("{:08x}", header.bits.to_consensus()),
        "chainwork": format!("{:064x}", (height + 1) * 2),
    });
    if header.prev_blockhash != BlockHash::all_zeros() {
        value["previousblockhash"] = json!(header.prev_blockhash.to_string());
    }
    Some(value)
}
