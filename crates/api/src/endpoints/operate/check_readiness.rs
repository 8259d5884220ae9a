//! `GET /health/ready`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::ApiState;
use crate::problem::{ErrorCode, Problem, RETRY_SECONDS};
use crate::service_status::Readiness;

/// The service cannot do its work.
#[derive(Debug)]
pub(crate) struct NotReady {
    code: ErrorCode,
    detail: &'static str,
    state: Ready,
}

impl IntoResponse for NotReady {
    fn into_response(self) -> Response {
        let problem = Problem::new(self.code, self.detail).retry_after(RETRY_SECONDS);
        // The same members as when it is ready: whoever watches the parts has one form to read.
        match json!(self.state) {
            Value::Object(members) => problem.with_members(members),
            _ => problem,
        }
        .into_response()
    }
}

/// Whether the service, and each of its parts, can work.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Ready, example = json!({
    "ready": true,
    "relays": { "ready": true, "connected": 2, "total": 3 },
    "store": { "ready": true, "damaged_rows": 0, "damaged": [] },
    "wallet": { "ready": true, "backend": "none" },
}))]
pub(crate) struct Ready {
    /// Whether the service can work.
    ready: bool,
    /// The operator's relays: one connected relay is enough.
    relays: Relays,
    /// The database: it was read and written for this response.
    store: Store,
    /// The Lightning backend. Without it only payments fail, so it does not affect `ready` of the service. `none` is
    /// always ready.
    wallet: Wallet,
}

/// The operator's relays.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReadyRelays)]
pub(crate) struct Relays {
    ready: bool,
    /// How many are connected.
    connected: usize,
    /// How many relays there are.
    total: usize,
}

/// The database.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReadyStore)]
pub(crate) struct Store {
    ready: bool,
    /// How many rows are damaged and were set aside. Nothing else is affected, so they do not affect `ready`.
    damaged_rows: usize,
    /// The first 100 damaged rows.
    damaged: Vec<DamagedRow>,
}

/// A row of the database that cannot be read.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DamagedRow)]
pub(crate) struct DamagedRow {
    /// `operations`, `events`, `outbox`, `deliveries` or `user_relays`.
    #[schema(example = "operations")]
    table: &'static str,
    /// A stream, an event or delivery as `<stream>:<index>`, or a user's public key.
    #[schema(example = "0193a1b2-5c4d-7e8f-9a0b-1c2d3e4f5a6b")]
    id: String,
}

/// Most damaged rows that are listed.
const LISTED: usize = 100;

/// The Lightning backend.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReadyWallet)]
pub(crate) struct Wallet {
    ready: bool,
    /// Which one.
    backend: &'static str,
}

impl From<Readiness> for Ready {
    fn from(Readiness { relays, store, damaged, wallet }: Readiness) -> Self {
        let damaged_rows = damaged.len();
        let rows = damaged.into_iter().take(LISTED);
        let damaged = rows.map(|row| DamagedRow { table: row.table.as_str(), id: row.id }).collect();
        let connected = relays.connected > 0;
        Self {
            ready: connected && store,
            relays: Relays { ready: connected, connected: relays.connected, total: relays.total },
            store: Store { ready: store, damaged_rows, damaged },
            wallet: Wallet { ready: wallet.connected, backend: wallet.backend },
        }
    }
}

/// Checks whether the service can work.
///
/// It can if it can read and write its database and at least one of its relays is connected. A service that is not
/// ready recovers by itself once the cause is gone. So use this for a load balancer, a start-up check or monitoring,
/// and `GET /health` for a supervisor that restarts the service.
#[utoipa::path(
    get,
    path = "/health/ready",
    responses(
        (status = 200, description = "The service is ready.", body = Ready),
        (status = 503, description = "`storage_unavailable`: The database does not read or write.\n\n\
            `no_relay_connected`: No relay is connected, so no wallet can be reached.\n\n\
            The body also has the members of the 200 response."),
    ),
)]
pub(crate) async fn check_readiness(State(state): State<ApiState>) -> Result<Json<Ready>, NotReady> {
    let state = Ready::from(state.status.readiness().await);
    if !state.store.ready {
        let detail = "the database cannot be read or written; the log tells why";
        return Err(NotReady { code: ErrorCode::StorageUnavailable, detail, state });
    }
    if !state.relays.ready {
        let detail = "none of the service's relays is connected; GET /relays tells why";
        return Err(NotReady { code: ErrorCode::NoRelayConnected, detail, state });
    }
    Ok(Json(state))
}
