//! The provider: its options, its parts and its routes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use axum::{Router, middleware};
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::ports::{Clock, Directory, OpenIdKeyError, OpenIdStore, Randomness};

use crate::bounds::VisitorKey;
use crate::client::Client;
use crate::keys::SigningKeys;
use crate::logins::Logins;
use crate::{authorize, cleanup, consent, discovery, end_session, login_return, token, userinfo, visit};

/// Largest body of a request; the largest that a client sends is a refresh token with its credentials.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// Logins that begin at the same time; others wait their turn, and none is refused. Anybody can begin one: so a flood of them
/// has a small part of the database's time.
const BEGINNING: usize = 16;

/// How the provider is reached and whom it serves.
#[derive(Clone, Debug)]
pub struct OpenIdOptions {
    /// Its issuer identifier: how a browser reaches the service, without a trailing slash (`pages.public_url`).
    pub issuer: String,
    /// The clients.
    pub clients: Vec<Client>,
    /// The domain of the addresses in the claim `email`; none: there is no such claim.
    pub email_domain: Option<String>,
    /// For how long a browser stays logged in, so that further apps need no new login; at least a few minutes, in which the
    /// user agrees.
    pub session_ttl: Duration,
    /// Hides the addresses of visitors in the database.
    pub visitor_key: VisitorKey,
}

/// What the provider uses.
pub struct OpenIdParts {
    /// Keeps its records.
    pub store: Arc<dyn OpenIdStore>,
    /// Logs users in.
    pub logins: Arc<dyn Logins>,
    /// Knows users' profiles.
    pub directory: Arc<dyn Directory>,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// Makes secrets.
    pub randomness: Arc<dyn Randomness>,
}

/// The provider.
pub struct OpenIdProvider(pub(crate) SharedProvider);

/// The provider as its handlers see it.
pub(crate) type SharedProvider = Arc<Provider>;

pub(crate) struct Provider {
    pub(crate) options: OpenIdOptions,
    /// The path of the issuer, without a trailing slash: a proxy may serve the pages below a path.
    pub(crate) base: String,
    pub(crate) clients: BTreeMap<String, Client>,
    pub(crate) store: Arc<dyn OpenIdStore>,
    pub(crate) logins: Arc<dyn Logins>,
    pub(crate) directory: Arc<dyn Directory>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) randomness: Arc<dyn Randomness>,
    pub(crate) keys: SigningKeys,
    /// Logins that may begin now.
    pub(crate) beginning: Arc<Semaphore>,
    /// Requests that change something and must not be cut off.
    pub(crate) tasks: TaskTracker,
    /// Held by who removes what is too much.
    pub(crate) making_room: Mutex<()>,
}

impl OpenIdProvider {
    /// Reads the signing keys, or makes them, and begins to remove expired records.
    ///
    /// # Errors
    /// [`OpenIdKeyError`].
    pub async fn start(
        options: OpenIdOptions,
        parts: OpenIdParts,
        tasks: &TaskTracker,
        stop: CancellationToken,
    ) -> Result<Self, OpenIdKeyError> {
        let OpenIdParts { store, logins, directory, clock, randomness } = parts;
        let keys = SigningKeys::load(Arc::clone(&store), Arc::clone(&clock)).await?;
        let base = url::Url::parse(&options.issuer);
        let base = base.map(|url| url.path().trim_end_matches('/').to_owned()).unwrap_or_default();
        let clients = options.clients.iter().map(|client| (client.id.clone(), client.clone())).collect();
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
            making_room: Mutex::new(()),
        });
        tasks.spawn(cleanup::run(Arc::clone(&provider), stop));
        Ok(Self(provider))
    }

    /// All routes.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/oauth/authorize", get(authorize::by_get).post(authorize::by_post))
            .route("/oauth/login-return", get(login_return::show))
            .route("/oauth/end-session", get(end_session::by_get).post(end_session::by_post))
            .route_layer(middleware::from_fn(visit::visits_only))
            // These change nothing by GET.
            .route("/.well-known/openid-configuration", get(discovery::configuration))
            .route("/oauth/jwks", get(discovery::jwks))
            .route("/oauth/consent", get(consent::show).post(consent::decide))
            .route("/oauth/token", post(token::exchange).options(discovery::preflight))
            .route("/oauth/userinfo", get(userinfo::by_get).post(userinfo::by_post).options(discovery::preflight))
            .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
            .with_state(Arc::clone(&self.0))
    }
}

impl Provider {
    /// A path of the provider as browsers know it.
    pub(crate) fn path(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}
