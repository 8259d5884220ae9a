//! The provider's routes, and its start.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use http::StatusCode;
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::ports::OpenIdKeyError;
use usher_page_layout::{PageRunner, preflight, run_changes, run_to_end};

use crate::clients::Clients;
use crate::keys::SigningKeys;
use crate::provider::{OpenIdOptions, OpenIdParts, Provider, SharedProvider};
use crate::{authorize, cleanup, consent, discovery, end_session, login_return, prefetch_guard, token, userinfo};

/// Largest request body; the largest legitimate one is a refresh token with client credentials.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// Logins that begin at the same time; others wait, and none is refused. Anybody can begin one, so this bounds the
/// share of the database's time that a flood takes.
const BEGINNING: usize = 16;

/// The provider.
pub struct OpenIdProvider(pub(crate) SharedProvider);

impl OpenIdProvider {
    /// Reads the stored clients, reads or generates the signing keys if there are any clients, and starts removing expired records.
    pub async fn start(
        mut options: OpenIdOptions,
        parts: OpenIdParts,
        tasks: &TaskTracker,
        stop: CancellationToken,
    ) -> Result<Self, OpenIdKeyError> {
        let OpenIdParts { store, logins, directory, clock, randomness } = parts;
        let clients = Clients::load(std::mem::take(&mut options.clients), &*store).await?;
        let keys = SigningKeys::new(Arc::clone(&store), Arc::clone(&clock));
        if !clients.is_empty() {
            keys.ensure().await?;
        }
        let base = url::Url::parse(&options.issuer);
        let base = base.map(|url| url.path().trim_end_matches('/').to_owned()).unwrap_or_default();
        let provider = Arc::new(Provider {
            options,
            base,
            clients,
            store,
            logins,
            directory,
            clock,
            randomness,
            keys,
            beginning: Arc::new(Semaphore::new(BEGINNING)),
            tasks: tasks.clone(),
            making_room_for_requests: Mutex::new(()),
            making_room_for_grants: Mutex::new(()),
        });
        tasks.spawn(cleanup::run(Arc::clone(&provider), stop));
        Ok(Self(provider))
    }

    /// All routes. While there is no client, they are not found.
    pub fn router(&self) -> Router {
        let runner = PageRunner::new(self.0.tasks.clone());
        Router::new()
            .route("/oauth/authorize", get(authorize::by_get).post(authorize::by_post))
            .route(
                "/oauth/login-return",
                get(login_return::show).route_layer(from_fn_with_state(runner.clone(), run_to_end)),
            )
            .route("/oauth/end-session", get(end_session::by_get).post(end_session::by_post))
            .route_layer(from_fn(prefetch_guard::visits_only))
            // GET requests to these change nothing.
            .route("/.well-known/openid-configuration", get(discovery::configuration).options(preflight))
            .route("/oauth/jwks", get(discovery::jwks).options(preflight))
            .route("/oauth/consent", get(consent::show).post(consent::decide))
            .route("/oauth/token", post(token::exchange).options(preflight))
            .route("/oauth/userinfo", get(userinfo::by_get).post(userinfo::by_post).options(preflight))
            .layer(from_fn_with_state(runner, run_changes))
            .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
            .layer(from_fn_with_state(Arc::clone(&self.0), only_with_clients))
            .with_state(Arc::clone(&self.0))
    }
}

async fn only_with_clients(State(provider): State<SharedProvider>, request: Request, next: Next) -> Response {
    if provider.clients.is_empty() { StatusCode::NOT_FOUND.into_response() } else { next.run(request).await }
}
