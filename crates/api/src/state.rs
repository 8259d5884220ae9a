//! The state that is available to every endpoint.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::Engine;
use usher_engine::access::KeyRing;
use usher_engine::ports::{Clock, Directory, OpenIdControl, Randomness, RelayRegistry};
use usher_places::limit;
use usher_protocol::jwt::JwtIssuer;

use crate::auth::ApiTokens;
use crate::auth_failure_throttle::AuthFailureThrottle;
use crate::client_places::ClientPlaces;
use crate::connection_table::ConnectionTable;
use crate::global_rate_limit::GlobalRateLimit;
use crate::idempotency_queue::IdempotencyQueue;
use crate::key_rate_limit::KeyRateLimits;
use crate::metrics::HttpMetrics;
use crate::service_status::ServiceStatus;

/// What errors call the requests that change something and run or wait.
const CHANGES: &str = "the number of requests that may run";

/// What errors call the requests that wait for a mint.
const MINT_CALLS: &str = "the number of requests that may wait for mints";

/// What errors call the subscriptions of WebSockets.
const SUBSCRIPTIONS: &str = "the number of subscriptions of all connections together";

/// When the store is asked again to decline the requests of revoked keys.
const DECLINED_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// The limits of the API (`limits.*` in the configuration).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest request body, in bytes; the largest usual one, a Cashu token of 1,000 proofs, has about 200 KB.
    pub body_bytes: usize,
    /// How long a body may take to arrive.
    pub body_timeout: Duration,
    /// How long a request may take; a long poll may take that much longer than its `wait`.
    pub request_timeout: Duration,
    /// How long a request may wait for a Cashu mint; shorter than `request_timeout`, so that its response says so.
    pub mint_timeout: Duration,
    /// Requests per second of all clients together; `None` is no limit.
    pub requests_per_second: Option<NonZeroU32>,
    /// Most long polls that wait at a time.
    pub max_long_polls: usize,
    /// Most server-sent event streams at a time.
    pub max_event_streams: usize,
    /// Most WebSockets at a time.
    pub max_websockets: usize,
    /// Most requests that change something and run at a time; more wait, within [`Self::request_timeout`].
    pub max_changes: usize,
    /// Most requests that wait for a mint at a time.
    pub max_mint_calls: usize,
    /// After how long without an event an event stream gets a comment, so that no proxy closes it as idle.
    pub keep_alive: Duration,
    /// How long a WebSocket that was opened without the token may take to send it.
    pub socket_auth_timeout: Duration,
    /// How long the client of a WebSocket may take to accept a message; a large one gets a second more for each 16 KiB.
    pub socket_send_timeout: Duration,
    /// How long after the last message a WebSocket's client gets a ping, and how long it may take to respond.
    pub ping_interval: Duration,
    /// Most requests of one WebSocket that run at a time.
    pub calls_per_socket: usize,
    /// Most subscriptions of one WebSocket.
    pub subscriptions_per_socket: usize,
    /// Most subscriptions of all WebSockets together.
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
            // Shorter than what cuts the connection without a word (`ServeOptions::write_timeout`).
            socket_send_timeout: Duration::from_secs(20),
            ping_interval: Duration::from_secs(30),
            calls_per_socket: 128,
            subscriptions_per_socket: 1_000,
            max_subscriptions: limit::WATCHED_STREAMS.most,
        }
    }
}

/// Who may read `/docs` and `/openapi.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocsAccess {
    /// Clients with the token; a browser asks for it (HTTP Basic, with the token as the password).
    WithToken,
    /// Without the token also a browser on the machine itself: for development. A reverse proxy on this machine that adds
    /// no header and rewrites `Host` to a loopback name cannot be told from such a browser.
    WithTokenOrLocal,
}

/// What [`ApiState::new`] is made of.
pub struct ApiParts {
    /// Runs the operations.
    pub engine: Arc<Engine>,
    /// The bearer tokens that are accepted (`auth.auth_token`, `auth.previous_token`). Keep a clone to replace them.
    pub tokens: ApiTokens,
    /// The keys that are accepted beside them.
    pub keys: Arc<KeyRing>,
    /// The `version` in the response of `GET /version`.
    pub version: String,
    /// The `commit` in the response of `GET /version`.
    pub commit: String,
    /// Issues JWTs in the service's name.
    pub jwt: JwtIssuer,
    /// Limits.
    pub limits: Limits,
    /// Who may read the interface's documentation.
    pub docs: DocsAccess,
    /// Looks up profiles, and publishes the service's own.
    pub directory: Arc<dyn Directory>,
    /// Shows and changes the service's relays.
    pub relays: Arc<dyn RelayRegistry>,
    /// The status of the service's other parts.
    pub status: Arc<dyn ServiceStatus>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes request ids.
    pub randomness: Arc<dyn Randomness>,
    /// Requests that change something run here; wait for it after [`serve`](crate::serve) and before the store closes.
    pub tasks: TaskTracker,
    /// When it is cancelled, long polls respond and event streams end. Cancel it no later than the engine's.
    pub stop: CancellationToken,
    /// Manages the OpenID Connect provider; none: the service is none.
    pub openid: Option<Arc<dyn OpenIdControl>>,
    /// The pages for users' browsers. Anybody may open them.
    pub pages: Router,
}

/// What every endpoint has at hand; cheap to clone.
#[derive(Clone)]
pub struct ApiState(Arc<Shared>);

/// What [`ApiState`] points at; nothing in it is public.
pub struct Shared {
    pub(crate) engine: Arc<Engine>,
    pub(crate) tokens: ApiTokens,
    pub(crate) keys: Arc<KeyRing>,
    pub(crate) version: String,
    pub(crate) commit: String,
    pub(crate) jwt: JwtIssuer,
    pub(crate) limits: Limits,
    pub(crate) docs: DocsAccess,
    pub(crate) rate: Option<GlobalRateLimit>,
    pub(crate) key_rates: KeyRateLimits,
    /// Refusals of keys in the audit log.
    pub(crate) recorded_refusals: KeyRateLimits,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) randomness: Arc<dyn Randomness>,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
    pub(crate) pages: Router,
    pub(crate) directory: Arc<dyn Directory>,
    pub(crate) relays: Arc<dyn RelayRegistry>,
    pub(crate) openid: Option<Arc<dyn OpenIdControl>>,
    pub(crate) status: Arc<dyn ServiceStatus>,
    pub(crate) metrics: HttpMetrics,
    pub(crate) connections: ConnectionTable,
    pub(crate) auth_failure_throttle: AuthFailureThrottle,
    pub(crate) changes: Arc<Semaphore>,
    /// Of keys, also those that wait for a permit, or, with an idempotency key, for their turn.
    pub(crate) changes_of_keys: ClientPlaces,
    /// Requests that wait for a mint: they need no permit for changes, so that mints that do not respond hold up nothing else.
    pub(crate) mint_calls: ClientPlaces,
    pub(crate) long_polls: ClientPlaces,
    pub(crate) event_streams: ClientPlaces,
    pub(crate) websockets: ClientPlaces,
    pub(crate) subscriptions: Arc<ClientPlaces>,
    pub(crate) idempotency_queue: Arc<IdempotencyQueue>,
}

impl ApiState {
    /// Declines, in the background, the payments that wait for an approval and were asked for by keys that are revoked. There may be
    /// thousands. While the store fails it is tried again.
    pub fn decline_requests_of_revoked_keys(&self) {
        let state = self.clone();
        self.tasks.spawn(async move {
            let is_revoked = |origin| state.keys.of_origin(origin).is_none();
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
        let ApiParts {
            engine,
            tokens,
            keys,
            version,
            commit,
            jwt,
            limits,
            docs,
            directory,
            relays,
            status,
            clock,
            randomness,
            tasks,
            stop,
            openid,
            pages,
        } = parts;
        Self(Arc::new(Shared {
            engine,
            tokens: tokens.and_keys(Arc::clone(&keys)),
            keys,
            version,
            commit,
            jwt,
            docs,
            rate: limits.requests_per_second.map(GlobalRateLimit::new),
            key_rates: KeyRateLimits::default(),
            recorded_refusals: KeyRateLimits::default(),
            clock,
            randomness,
            tasks,
            stop,
            pages,
            directory,
            relays,
            openid,
            status,
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
            limits,
        }))
    }

    pub(crate) fn long_lived_connections(&self) -> LongLivedConnections {
        LongLivedConnections {
            long_polls: self.long_polls.taken(),
            event_streams: self.event_streams.taken(),
            websockets: self.websockets.taken(),
            subscriptions: self.subscriptions.taken(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LongLivedConnections {
    pub(crate) long_polls: usize,
    pub(crate) event_streams: usize,
    pub(crate) websockets: usize,
    /// Subscriptions of these.
    pub(crate) subscriptions: usize,
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
