//! The state shared by all endpoints.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;
use usher_engine::Engine;
use usher_engine::access::KeyRing;
use usher_engine::ports::{Clock, Directory, OpenIdControl, Randomness, RelayRegistry};
use usher_places::limit;
use usher_protocol::jwt::JwtIssuer;

use crate::auth::ApiTokens;
use crate::auth_failure_throttle::AuthFailureThrottle;
use crate::client_places::ClientPlaces;
use crate::connection_table::ConnectionTable;
use crate::console_options::ConsoleOptions;
use crate::global_rate_limit::GlobalRateLimit;
use crate::idempotency_queue::IdempotencyQueue;
use crate::key_rate_limit::KeyRateLimits;
use crate::metrics::HttpMetrics;
use crate::problem::Problem;
use crate::service_status::ServiceStatus;

/// The name of this limit in errors: requests that change something and run or wait.
const CHANGES: &str = "the number of requests that may run";

/// The name of this limit in errors: requests that wait for a mint.
const MINT_CALLS: &str = "the number of requests that may wait for mints";

/// The name of this limit in errors: subscriptions of WebSockets.
const SUBSCRIPTIONS: &str = "the number of subscriptions of all connections together";

/// The delay after a failure of the store before the requests of revoked keys are declined again.
const DECLINED_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// The limits of the API (`limits.*` in the configuration).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest request body, in bytes. The largest usual one, a Cashu token of 1,000 proofs, has about 200 KB.
    pub body_bytes: usize,
    /// The time limit for a body to arrive.
    pub body_timeout: Duration,
    /// The time limit for a request; a long poll has its `wait` in addition.
    pub request_timeout: Duration,
    /// The time limit for a Cashu mint; shorter than `request_timeout`, so that the response names the cause.
    pub mint_timeout: Duration,
    /// Requests per second of all clients together; `None` for no limit.
    pub requests_per_second: Option<NonZeroU32>,
    /// The most concurrent long polls.
    pub max_long_polls: usize,
    /// The most concurrent server-sent event streams.
    pub max_event_streams: usize,
    /// The most concurrent WebSockets.
    pub max_websockets: usize,
    /// The most concurrent requests that change something; others wait, within [`Self::request_timeout`].
    pub max_changes: usize,
    /// The most concurrent requests that wait for a mint.
    pub max_mint_calls: usize,
    /// The interval without an event after which an event stream gets a comment, so that no proxy closes it as idle.
    pub keep_alive: Duration,
    /// How long a WebSocket opened without the token may take to send it.
    pub socket_auth_timeout: Duration,
    /// How long the client of a WebSocket may take to accept a message; a large message gets another second per 16 KiB.
    pub socket_send_timeout: Duration,
    /// When a WebSocket's client gets a ping after the last message, and the time limit for its response.
    pub ping_interval: Duration,
    /// The most concurrent requests of one WebSocket.
    pub calls_per_socket: usize,
    /// The most subscriptions of one WebSocket.
    pub subscriptions_per_socket: usize,
    /// The most subscriptions of all WebSockets together.
    pub max_subscriptions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 256 * 1024,
            body_timeout: Duration::from_secs(15),
            request_timeout: Duration::from_secs(30),
            mint_timeout: Duration::from_secs(25),
            requests_per_second: None,
            max_long_polls: 10_000,
            max_event_streams: 10_000,
            max_websockets: 10_000,
            max_changes: limit::CHANGES.most,
            max_mint_calls: limit::MINT_CALLS.most,
            // Half of the shortest idle limit in common use (30 s: some mobile gateways; proxies have 60 s).
            keep_alive: Duration::from_secs(15),
            socket_auth_timeout: Duration::from_secs(10),
            // Shorter than the time after which the connection is closed silently (`ServeOptions::write_timeout`).
            socket_send_timeout: Duration::from_secs(20),
            ping_interval: Duration::from_secs(30),
            calls_per_socket: 128,
            subscriptions_per_socket: 1_000,
            max_subscriptions: limit::WATCHED_STREAMS.most,
        }
    }
}

/// The parts of [`ApiState::new`].
pub struct ApiParts {
    /// Runs the operations.
    pub engine: Arc<Engine>,
    /// The accepted bearer tokens (`auth.auth_token`, `auth.previous_token`). Keep a clone to replace them.
    pub tokens: ApiTokens,
    /// The accepted API keys.
    pub keys: Arc<KeyRing>,
    /// The `version` in the response of `GET /version`.
    pub version: String,
    /// The `commit` in the response of `GET /version`.
    pub commit: String,
    /// Issues JWTs for the service.
    pub jwt: JwtIssuer,
    /// Limits.
    pub limits: Limits,
    /// For development: browsers on this machine may read `/docs` and `/openapi.json` without the token, and the log warns
    /// of what requests contain in vain. A reverse proxy on this machine that adds no header and rewrites `Host` to a
    /// loopback name is indistinguishable from such a browser.
    pub is_development: bool,
    /// Looks up profiles, and publishes the service's profile.
    pub directory: Arc<dyn Directory>,
    /// Shows and changes the service's relays.
    pub relays: Arc<dyn RelayRegistry>,
    /// The status of the service's other parts.
    pub status: Arc<dyn ServiceStatus>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes request ids.
    pub randomness: Arc<dyn Randomness>,
    /// Runs requests that change something; wait for it after [`serve`](crate::serve) and before the store closes.
    pub tasks: TaskTracker,
    /// On cancellation, long polls respond and event streams end. Cancel it no later than the engine's.
    pub stop: CancellationToken,
    /// Manages the OpenID Connect provider. `None`: the service has none.
    pub openid: Option<Arc<dyn OpenIdControl>>,
    /// The pages for users' browsers, open to anybody.
    pub pages: Router,
    /// The console of operators. `None`: the service has none.
    pub console: Option<ConsoleOptions>,
    /// The domain whose pages can ask for users' passkeys, unless that does no harm there.
    pub passkey_domain: Option<String>,
    /// More routes without a token, at the address of the API only: those of `usher dev`.
    pub local: Router,
    /// Further routes for clients with the token, which only a test mode has.
    pub test_routes: Router<ApiState>,
}

/// The state of every endpoint. Cheap to clone.
#[derive(Clone)]
pub struct ApiState(Arc<Shared>);

/// The parts, and what all requests have in common.
pub struct Shared {
    parts: ApiParts,
    pub(crate) rate: Option<GlobalRateLimit>,
    pub(crate) key_rates: KeyRateLimits,
    /// Limits the refusals of keys in the audit log.
    pub(crate) recorded_refusals: KeyRateLimits,
    pub(crate) metrics: HttpMetrics,
    pub(crate) connections: ConnectionTable,
    pub(crate) auth_failure_throttle: AuthFailureThrottle,
    pub(crate) changes: Arc<Semaphore>,
    /// Places of clients' changes, running or waiting, also for a turn with an idempotency key.
    pub(crate) changes_of_keys: ClientPlaces,
    /// Places of requests that wait for a mint. They need no permit for changes, so that unresponsive mints block no
    /// other request.
    pub(crate) mint_calls: ClientPlaces,
    pub(crate) long_polls: ClientPlaces,
    pub(crate) event_streams: ClientPlaces,
    pub(crate) websockets: ClientPlaces,
    pub(crate) subscriptions: Arc<ClientPlaces>,
    pub(crate) idempotency_queue: Arc<IdempotencyQueue>,
}

impl ApiState {
    /// Runs work on a task that the shutdown waits for, even if its caller is dropped.
    ///
    /// # Errors
    /// If it panics.
    pub async fn run_to_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Problem> {
        self.tasks.spawn(work.in_current_span()).await.map_err(Problem::internal)
    }

    /// Declines, in the background, the payments of revoked keys that wait for an approval. There may be thousands.
    /// Retries while the store fails.
    pub fn decline_requests_of_revoked_keys(&self) {
        let state = self.clone();
        self.tasks.spawn(async move {
            let is_revoked = |origin| state.keys.is_revoked(origin);
            while let Err(error) = state.engine.payments().decline_requests_of_revoked(is_revoked).await {
                tracing::warn!(%error, "what a revoked key has asked for still waits for an approval; trying again in 5 s");
                tokio::select! {
                    () = state.stop.cancelled() => break,
                    () = state.clock.sleep(DECLINED_AGAIN_AFTER) => {}
                }
            }
        });
    }

    /// Puts the parts together.
    pub fn new(parts: ApiParts) -> Self {
        let limits = &parts.limits;
        Self(Arc::new(Shared {
            rate: limits.requests_per_second.map(GlobalRateLimit::new),
            key_rates: KeyRateLimits::default(),
            recorded_refusals: KeyRateLimits::default(),
            metrics: HttpMetrics::new(),
            connections: ConnectionTable::default(),
            auth_failure_throttle: AuthFailureThrottle::default(),
            changes: permits(limits.max_changes),
            changes_of_keys: ClientPlaces::new(&limit::CHANGES, limits.max_changes, CHANGES),
            mint_calls: ClientPlaces::new(&limit::MINT_CALLS, limits.max_mint_calls, MINT_CALLS),
            long_polls: ClientPlaces::new(&limit::LONG_POLLS, limits.max_long_polls, "limits.max_long_polls"),
            event_streams: ClientPlaces::new(
                &limit::EVENT_STREAMS,
                limits.max_event_streams,
                "limits.max_event_streams",
            ),
            websockets: ClientPlaces::new(&limit::WEBSOCKETS, limits.max_websockets, "limits.max_websockets"),
            subscriptions: Arc::new(ClientPlaces::new(
                &limit::WATCHED_STREAMS,
                limits.max_subscriptions,
                SUBSCRIPTIONS,
            )),
            idempotency_queue: Arc::default(),
            parts: ApiParts { tokens: parts.tokens.and_keys(Arc::clone(&parts.keys)), ..parts },
        }))
    }
}

fn permits(count: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)))
}

impl std::ops::Deref for ApiState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl std::ops::Deref for Shared {
    type Target = ApiParts;

    fn deref(&self) -> &ApiParts {
        &self.parts
    }
}
