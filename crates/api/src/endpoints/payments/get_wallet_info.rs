//! `GET /wallet/info`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use usher_engine::ports::LightningError;
use utoipa::ToSchema;

use crate::ApiState;
use crate::problem::{ErrorCode, Problem};

/// Why there is no reply from the Lightning backend.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("no wallet is configured")]
    NotConfigured,
    #[error(transparent)]
    Wallet(#[from] LightningError),
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let problem = match self {
            Self::NotConfigured => Problem::wallet_not_configured(),
            Self::Wallet(LightningError::Unknown(_)) => {
                Problem::new(ErrorCode::WalletTimeout, "the Lightning backend did not reply, or its reply is invalid")
            }
            Self::Wallet(
                error @ (LightningError::Refused { .. } | LightningError::Failed(_) | LightningError::NotSent),
            ) => Problem::new(ErrorCode::WalletError, error.to_string()),
        };
        problem.into_response()
    }
}

/// The service's Lightning backend.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WalletInfo)]
pub(crate) struct Info {
    /// Which backend it is: `wallet.ln_backend`.
    #[schema(example = "nwc")]
    backend: &'static str,
    /// Its balance in millisats; `null` if it does not tell.
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
}

/// Describes the service's Lightning backend and its balance.
///
/// Each request queries the backend and waits for its reply. Use it to check whether the backend works, not every
/// second.
#[utoipa::path(
    get,
    path = "/wallet/info",
    responses(
        (status = 200, description = "The state of the Lightning backend.", body = Info),
        (status = 502, description = "`wallet_error`: The Lightning backend refuses, or cannot be reached."),
        (status = 503, description = "`wallet_not_configured`: `wallet.ln_backend` is `none`."),
        (status = 504, description = "`wallet_timeout`: The Lightning backend did not reply in time."),
    ),
)]
pub(crate) async fn get_wallet_info(State(state): State<ApiState>) -> Result<Json<Info>, Error> {
    let (backend, info) = state.engine.lightning_info().await.ok_or(Error::NotConfigured)?;
    let info = info?;
    let notifications = state.engine.lightning_status().is_some_and(|(_, status)| status.sends_notifications);
    Ok(Json(Info {
        backend,
        balance: info.balance,
        alias: info.alias,
        network: info.network.map(usher_protocol::bolt11::Network::as_str),
        notifications,
    }))
}
