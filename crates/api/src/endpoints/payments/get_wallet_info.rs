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
    node: Option<NodeState>,
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
        node,
    }))
}
