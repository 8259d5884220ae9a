//! `GET /health/ready`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::ApiState;
use crate::problem::{ErrorCode, Problem, RETRY_SECONDS};
use crate::service_status::{MintReadiness, RateReadiness, Readiness, WalletReadiness};

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
        // The same members as when it is ready, so that a monitor reads one format.
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
    "instance": "active",
    "relays": { "ready": true, "connected": 2, "total": 3 },
    "store": { "ready": true, "damaged_rows": 0, "damaged": [] },
    "wallet": { "ready": true, "backend": "none", "warnings": [] },
    "tickets": {
        "ready": true,
        "mints": [{ "mint_url": "https://mint.example", "responds": true, "unfinished_jobs": 0 }],
    },
    "rates": {
        "ready": true,
        "currencies": [{
            "currency": "EUR",
            "problem": null,
            "sources": [{ "name": "kraken", "age_seconds": 12, "problem": null }],
        }],
    },
    "last_backup_at": 1732137600,
}))]
pub(crate) struct Ready {
    /// Whether the service can work.
    ready: bool,
    /// `active`, or `standby` when another instance is active and has answered: docs/instances.md.
    instance: &'static str,
    /// The operator's relays: one connected relay is enough.
    relays: Relays,
    /// The database: it was read and written for this response.
    store: Store,
    /// The Lightning backend. Without it only payments fail, so it does not affect `ready` of the service. `none` is
    /// always ready.
    wallet: WalletReadiness,
    /// The mints. A mint that is away holds up only its own tickets, so it does not affect `ready` of the service.
    tickets: Tickets,
    /// The exchange rates. Without one only requests with amounts in its currency fail, so they do not affect `ready` of the
    /// service.
    rates: Rates,
    /// When `usher backup` has made the last backup, in Unix seconds; `null` if it has made none. It does not affect `ready`.
    #[schema(required = true)]
    last_backup_at: Option<u64>,
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

/// Most damaged rows, and most mints, that are listed.
const LISTED: usize = 100;

/// The mints.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReadyTickets)]
pub(crate) struct Tickets {
    /// Whether no mint failed to respond to the last request.
    ready: bool,
    /// The first 100 mints at which the service has a balance or unfinished jobs, those that do not respond first.
    mints: Vec<MintReadiness>,
}

/// The exchange rates.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReadyRates)]
pub(crate) struct Rates {
    /// Whether there is a rate of every configured currency.
    ready: bool,
    /// The configured currencies (`rates.currencies`).
    currencies: Vec<RateReadiness>,
}

impl From<Vec<RateReadiness>> for Rates {
    fn from(currencies: Vec<RateReadiness>) -> Self {
        Self { ready: currencies.iter().all(|rate| rate.problem.is_none()), currencies }
    }
}

impl From<Vec<MintReadiness>> for Tickets {
    fn from(mut mints: Vec<MintReadiness>) -> Self {
        mints.sort_by_key(|mint| mint.responds != Some(false));
        let ready = mints.iter().all(|mint| mint.responds != Some(false));
        mints.truncate(LISTED);
        Self { ready, mints }
    }
}

impl From<Readiness> for Ready {
    fn from(Readiness { relays, store, damaged, wallet, mints, rates, last_backup }: Readiness) -> Self {
        let damaged_rows = damaged.len();
        let rows = damaged.into_iter().take(LISTED);
        let damaged = rows.map(|row| DamagedRow { table: row.table.as_str(), id: row.id }).collect();
        let connected = relays.connected > 0;
        Self {
            ready: connected && store,
            instance: "active",
            relays: Relays { ready: connected, connected: relays.connected, total: relays.total },
            store: Store { ready: store, damaged_rows, damaged },
            wallet,
            tickets: mints.into(),
            rates: rates.into(),
            last_backup_at: last_backup.map(usher_engine::UnixMillis::secs),
        }
    }
}

/// Checks whether the service can work.
///
/// It can if it can read and write its database and at least one of its relays is connected. A service that is not
/// ready recovers once the cause is gone. So use this for a load balancer, a start-up check or monitoring,
/// and `GET /health` for a supervisor that restarts the service.
#[utoipa::path(
    get,
    path = "/health/ready",
    responses(
        (status = 200, description = "The service is ready.", body = Ready),
        (status = 503, description = "`storage_unavailable`: The database does not read or write.\n\n\
            `no_relay_connected`: No relay is connected, so no wallet can be reached.\n\n\
            `no_active_instance`: This instance is a standby, and none is active.\n\n\
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
