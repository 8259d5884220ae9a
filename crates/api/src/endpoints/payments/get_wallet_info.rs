//! `GET /wallet/info`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use usher_engine::ports::{LightningError, LightningInfo, NodeState};
use utoipa::ToSchema;

use crate::ApiState;
use crate::problem::{ErrorCode, Problem};

impl From<LightningError> for Problem {
    fn from(error: LightningError) -> Self {
        match error {
            LightningError::Unknown(_) => {
                Self::new(ErrorCode::WalletTimeout, "the Lightning backend did not reply, or its reply is invalid")
            }
            LightningError::Refused { .. } | LightningError::Failed(_) | LightningError::NotSent => {
                Self::new(ErrorCode::WalletError, error.to_string())
            }
        }
    }
}

/// The service's Lightning backend.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WalletInfo)]
pub(crate) struct Info {
    /// Which backend it is: `wallet.ln_backend`.
    #[schema(example = "nwc")]
    backend: &'static str,
    /// What it can spend, in millisats; `null` if it does not tell. Of a node of the service: what its channels can send.
    #[schema(example = 250000)]
    balance: Option<u64>,
    /// Its name.
    #[schema(example = "My hub")]
    alias: Option<String>,
    /// Its network, if it tells: `bitcoin`, `testnet`, `signet` or `regtest`.
    #[schema(example = "bitcoin")]
    network: Option<&'static str>,
    /// Whether it sends notifications of settlements; otherwise invoices are looked up.
    #[schema(example = true)]
    notifications: bool,
    /// The state of the node, if the service runs it itself (`embedded`).
    #[schema(nullable = false)]
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<Node>,
}

/// The state of the Lightning node that the service runs itself. All amounts are millisats.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LightningNode)]
pub(crate) struct Node {
    /// Its public key.
    #[schema(example = "02eec7245d6b7d2ccb30380bfbe2a3648cd7a942653f5aa340edcea1f283686619")]
    node_id: String,
    /// When it last processed the chain, in Unix seconds; `null` before the first time.
    #[schema(required = true, example = 1732137600)]
    synced_at: Option<u64>,
    /// The height of the last block that it has processed.
    #[schema(example = 870000)]
    height: u32,
    /// Its channels (`GET /wallet/channels`).
    channels: NodeChannels,
    /// The largest payment that it can receive without a new channel.
    #[schema(example = 50000000)]
    inbound: u64,
    /// Its balance on the chain.
    on_chain: OnChain,
    /// What is on its way.
    pending: Pending,
    /// What liquidity providers have kept for opening channels, in all.
    #[schema(example = 2000000)]
    skimmed_fees: u64,
    /// How many channels were closed, in all.
    closures: Closures,
    /// What the operator should know.
    warnings: Vec<Warning>,
}

/// How many channels there are.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LightningNodeChannels)]
pub(crate) struct NodeChannels {
    /// Those that can be used now.
    #[schema(example = 1)]
    usable: usize,
    /// The others: not confirmed yet, or without a connection to the peer.
    #[schema(example = 0)]
    unusable: usize,
    /// What all channels hold on both sides.
    #[schema(example = 100000000)]
    capacity: u64,
}

/// A balance on the chain.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LightningNodeOnChain)]
pub(crate) struct OnChain {
    /// All of it, unconfirmed transactions included.
    #[schema(example = 30000000)]
    total: u64,
    /// What the node can spend.
    #[schema(example = 5000000)]
    spendable: u64,
    /// What the node keeps for closing channels.
    #[schema(example = 25000000)]
    reserved: u64,
}

/// What is on its way.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LightningNodePending)]
pub(crate) struct Pending {
    /// How many payments by the service are under way.
    #[schema(example = 0)]
    payments: u64,
    /// Millisats on their way from closed channels to the chain.
    #[schema(example = 0)]
    closing: u64,
    /// Millisats, fees included, that are sent on chain by transactions in no block yet: no part of the balance any more.
    #[schema(example = 0)]
    sending: u64,
}

/// How many channels were closed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LightningNodeClosures)]
pub(crate) struct Closures {
    /// With the peer's agreement.
    #[schema(example = 0)]
    cooperative: u64,
    /// By one side alone.
    #[schema(example = 0)]
    forced: u64,
    /// Of those: because the service was killed between two writes.
    #[schema(example = 0)]
    after_kill: u64,
}

/// What the operator should know.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LightningNodeWarning)]
pub(crate) struct Warning {
    /// For programs: `not_running`, `not_synced`, `provider_away`, `cannot_receive`, `low_inbound`, `forced_closure` or
    /// `cannot_close`. Later versions may add codes.
    #[schema(example = "low_inbound")]
    code: &'static str,
    /// For people.
    #[schema(example = "the channels can receive 1000000 msat in one payment: …")]
    text: String,
}

impl From<NodeState> for Node {
    fn from(state: NodeState) -> Self {
        Self {
            node_id: state.node_id,
            synced_at: state.synced_at,
            height: state.height,
            channels: NodeChannels {
                usable: state.channels.usable,
                unusable: state.channels.unusable,
                capacity: state.capacity,
            },
            inbound: state.inbound,
            on_chain: OnChain {
                total: state.on_chain,
                spendable: state.on_chain_spendable,
                reserved: state.on_chain_reserved,
            },
            pending: Pending { payments: state.payments_under_way, closing: state.closing, sending: state.sending },
            skimmed_fees: state.skimmed_fees,
            closures: Closures {
                cooperative: state.closures.cooperative,
                forced: state.closures.forced,
                after_kill: state.closures.after_kill,
            },
            warnings: state
                .warnings
                .into_iter()
                .map(|warning| Warning { code: warning.code, text: warning.text })
                .collect(),
        }
    }
}

/// Describes the service's Lightning backend and its balance.
///
/// A wallet of somebody else is asked, and the request waits for its reply; a node of the service itself is described also
/// while it waits for its chain source. Use it to check whether the backend works, not every second.
#[utoipa::path(
    get,
    path = "/wallet/info",
    responses(
        (status = 200, description = "The state of the Lightning backend.", body = Info),
        (status = 502, description = "`wallet_error`: The Lightning backend refuses, or cannot be reached."),
        (status = 503, description = "`wallet_not_configured`"),
        (status = 504, description = "`wallet_timeout`: The Lightning backend did not reply in time."),
    ),
)]
pub(crate) async fn get_wallet_info(State(state): State<ApiState>) -> Result<Json<Info>, Problem> {
    let node = match state.engine.lightning_node() {
        Some(node) => Some(node.state().await?),
        None => None,
    };
    let (backend, info) = state.engine.lightning_info().await.ok_or_else(Problem::wallet_not_configured)?;
    let info = match (info, &node) {
        (Ok(info), _) => info,
        // It says of itself why it does not run.
        (Err(_), Some(node)) => {
            let (network, balance) = (Some(node.network), Some(node.outbound));
            LightningInfo { alias: None, network, balance, methods: Vec::new() }
        }
        (Err(error), None) => return Err(error.into()),
    };
    let notifications = state.engine.lightning_status().is_some_and(|(_, status)| status.sends_notifications);
    Ok(Json(Info {
        backend,
        balance: info.balance,
        alias: info.alias,
        network: info.network.map(usher_protocol::bolt11::Network::as_str),
        notifications,
        node: node.map(Node::from),
    }))
}
