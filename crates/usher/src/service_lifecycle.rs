//! The service: creates its parts, and starts and stops them in the right order.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;
use usher_age_verifiers::{OidcOptions, OidcVerifier, VerificationServiceClient, VerificationServiceOptions};
use usher_api::{ApiParts, ApiState, ApiTokens, Routes, ServeOptions, Setting, Surface};
use usher_engine::access::{KeyRing, Operators};
use usher_engine::ports::{
    AgeVerifier, Clock, OsRandomness, Payees, Randomness, RemoteSigner, SystemClock, WebhookSender,
};
use usher_engine::{Engine, EngineParts, LightningBackend};
use usher_instance::{GatedLightning, GatedMessenger, GatedWebhook, LeaseGate};
use usher_lnurl::{LnurlPayees, PayeeOptions};
use usher_openid_provider::{OpenIdParts, OpenIdProvider};
use usher_pages::OperatorOptions;
use usher_protocol::jwt::JwtIssuer;
use usher_rates::MedianRates;
use usher_relays::{
    DirectoryOptions, Identity, ProfileDirectory, RelayManager, RelayOptions, RelayPool, ServiceRelays,
};
use usher_remote_signer::{NostrRemoteSigner, RemoteSignerOptions};
use usher_store::Database;
use usher_tickets::CashuWallet;
use usher_webhooks::{HttpWebhookSender, WebhookOptions};

use crate::config::setting::VerificationProvider;
use crate::config::{Config, passkey_checks};
use crate::failure::Failure;
use crate::identity::identity;
use crate::lightning_backend::{self, EmbeddedNode};
use crate::local_instance::AddressFile;
use crate::notices::Notices;
use crate::openid::{self, EngineLogins};
use crate::process::passed_on;
use crate::profile_directory;
use crate::service_mode::WebhookInRealTime;
pub use crate::service_mode::{MakeRoutes, Mode, TestMode, TestRoutes};
use crate::service_options::{
    console_options, derived_key, engine_options, limits, pages, pages_url, previous_token, rate_options,
    serve_options, service_name, site, tls, tokens, webhook_secrets,
};
use crate::service_status::Parts;
use crate::task_group::TaskGroup;
use crate::{ticket_wallet, version};

/// Wallets' messages queued for the engine: four seconds at 500 logins per second, with two messages each. A full queue
/// holds up the relays.
const INBOX: usize = 4096;

/// The running service.
pub struct Service {
    address: SocketAddr,
    pages_address: Option<SocketAddr>,
    engine: Arc<Engine>,
    http: TaskGroup,
    operations: TaskGroup,
    relays: TaskGroup,
    store: Arc<dyn Database>,
    tickets: Arc<CashuWallet>,
    tokens: ApiTokens,
    webhook: Option<Arc<HttpWebhookSender>>,
    settings: Arc<Mutex<Vec<Setting>>>,
    node: EmbeddedNode,
    _address_file: Option<AddressFile>,
}

impl Service {
    /// Starts everything; once it returns, requests are handled. Does not wait for relays or the chain.
    ///
    /// # Errors
    /// If the store cannot be read, or a configured key is invalid.
    pub async fn start(
        config: &Config,
        data_dir: &Path,
        mode: Mode,
        store: Arc<dyn Database>,
        listeners: Listeners,
        gate: LeaseGate,
    ) -> Result<Self, Failure> {
        let Listeners { api: listener, pages: pages_listener, routes } = listeners;
        let address = listener.local_addr()?;
        let pages_address = pages_listener.as_ref().map(TcpListener::local_addr).transpose()?;
        let pages_url = pages_url(config, pages_address.unwrap_or(address));
        // Prices and proofs of other services have the time of the world.
        let real: Arc<dyn Clock> = Arc::new(SystemClock);
        let clock = mode.clock().unwrap_or_else(|| Arc::clone(&real));
        let randomness: Arc<dyn Randomness> = Arc::new(OsRandomness);
        let identity = identity(config);
        let (http, operations, relays) = (TaskGroup::default(), TaskGroup::default(), TaskGroup::default());

        let roster = ServiceRelays::load(&*store, config.nostr.relays.addresses()).await?;
        let mut options = RelayOptions::new(identity.clone(), roster.relays());
        options.allow_private = config.nostr.allow_private_relays;
        options.public_only = roster.relays().into_iter().filter(|relay| roster.is_public_only(relay)).collect();
        options.gate = gate.of_connections();
        let (to_engine, inbox) = mpsc::channel(INBOX);
        let pool = RelayPool::start(options, to_engine, Arc::clone(&clock), &relays.tasks, relays.stop.clone());

        let (node, lightning) = lightning_backend::start(config, data_dir, &store, &clock, &relays, &gate).await?;
        let (lightning, lightning_notifications) = lightning.unzip();
        let lightning = lightning.map(|backend| LightningBackend {
            adapter: Arc::new(GatedLightning { backend: backend.adapter, gate: gate.clone() }),
            ..backend
        });
        let webhook = receiver(config)?;
        let tickets = Arc::new(ticket_wallet::open(config, &identity.keys, store.clone(), Arc::clone(&clock))?);
        let rates = rate_options(config)?;
        let rates =
            rates.map(|options| MedianRates::start(options, Arc::clone(&real), &relays.tasks, relays.stop.clone()));
        let parts = EngineParts {
            store: store.clone(),
            idempotency: store.clone(),
            deliveries: store.clone(),
            webhook: webhook.clone().map(|webhook| {
                let webhook = Arc::new(WebhookInRealTime(webhook));
                Arc::new(GatedWebhook { webhook, gate: gate.clone() }) as Arc<dyn WebhookSender>
            }),
            messenger: Arc::new(GatedMessenger { messenger: pool.clone(), gate: gate.clone() }),
            clock: Arc::clone(&clock),
            randomness: Arc::clone(&randomness),
            inbox,
            lightning,
            lightning_notifications,
            tickets: Some(Arc::clone(&tickets) as _),
            payees: Some(payees(config)?),
            age_verifier: age_verifier(config, &real)?,
            remote_signer: Some(remote_signer(config, &identity, &pages_url, &relays, &clock, &gate)?),
            rates: rates.clone().map(|rates| rates as _),
        };
        let engine = Engine::start(
            engine_options(config, &identity, &pages_url),
            parts,
            &operations.tasks,
            operations.stop.clone(),
        )
        .await?;
        let resumed = tickets.start().await?;
        if resumed > 0 {
            tracing::info!(resumed, "unfinished ticket jobs continue");
        }

        let directory = ProfileDirectory::start(
            DirectoryOptions { profile: profile_directory::configured(config), ..DirectoryOptions::default() },
            Arc::clone(&pool),
            store.clone(),
            profile_directory::relays_of_users(store.clone()),
            &relays.tasks,
            relays.stop.clone(),
        )
        .await
        .map_err(profile_directory::failed)?;
        let site = site(config, &mode, pages_url.clone(), directory.clone(), http.tasks.clone())?;
        let operators = config.console.operators.operators().to_vec();
        let approvers = config.wallet.approvers.keys().to_vec();
        let operators =
            Operators::load(operators, approvers, store.clone(), Arc::clone(&clock), Arc::clone(&randomness)).await?;
        let keys = KeyRing::load(store.clone(), operators, Arc::clone(&clock), Arc::clone(&randomness)).await?;
        operations.tasks.spawn(Arc::clone(&keys).run(operations.stop.clone()));
        let console = config.console.enabled.then(|| config.console.networks.networks().to_vec());
        let operators = OperatorOptions { keys: Arc::clone(&keys), clock: Arc::clone(&clock), console };
        let console = console_options(config, &pages_url);
        let running = (http.tasks.clone(), http.stop.clone());
        let options = pages(config, site.clone(), directory.clone(), operators, running);
        let mut pages = usher_pages::router(Arc::clone(&engine), options);
        let pseudonym_key = derived_key(&identity, "usher: addresses of visitors");
        let token_key = derived_key(&identity, "usher: tokens of OpenID Connect");
        let options = openid::options(config, &pages_url, &site, &pseudonym_key, &token_key);
        let parts = OpenIdParts {
            store: store.clone(),
            logins: Arc::new(EngineLogins { engine: Arc::clone(&engine), pages_url }),
            directory: directory.clone(),
            clock: Arc::clone(&clock),
            randomness: Arc::clone(&randomness),
        };
        let provider = OpenIdProvider::start(options, parts, &operations.tasks, operations.stop.clone()).await;
        let provider = provider.map_err(|error| Failure::said(format!("OpenID Connect cannot be served: {error}")))?;
        pages = pages.merge(provider.router());
        let is_development = mode.is_test();
        let added = mode.routes(&engine, &site, &keys);
        pages = pages.merge(added.pages);
        // A proxy may remove the path of `pages.public_url`, or forward it.
        let base = site.base();
        if !base.is_empty() {
            pages = pages.clone().nest(base, pages);
        }
        let tokens = tokens(config);
        let settings = Arc::new(Mutex::new(config.settings.clone()));
        let status = Arc::new(Parts {
            engine: Arc::clone(&engine),
            store: Arc::clone(&store),
            relays: Arc::clone(&pool),
            tickets: Arc::clone(&tickets),
            rates,
            webhook: webhook.clone(),
            settings: Arc::clone(&settings),
            data_dir: data_dir.to_owned(),
        });
        let (parts, data) = (Arc::clone(&status), data_dir.to_owned());
        if let Some(notices) = Notices::load(config, parts, Arc::clone(&clock), data, gate).await? {
            operations.tasks.spawn(notices.run(operations.stop.clone()));
        }
        let state = ApiState::new(ApiParts {
            engine: Arc::clone(&engine),
            tokens: tokens.clone(),
            keys,
            version: version::VERSION.to_owned(),
            commit: version::COMMIT.to_owned(),
            jwt: JwtIssuer::new(identity.keys.clone()),
            limits: limits(config),
            is_development,
            directory,
            relays: Arc::new(RelayManager::new(Arc::clone(&pool), roster, store.clone())),
            status,
            clock,
            randomness,
            tasks: http.tasks.clone(),
            stop: http.stop.clone(),
            openid: Some(Arc::new(provider)),
            pages,
            console,
            passkey_domain: passkey_checks::shared_domain(config).map(str::to_owned),
            local: added.local,
            test_routes: added.with_token,
        });
        // The service may have stopped right after a key was revoked.
        state.decline_requests_of_revoked_keys();
        let serve = |listener, routes, surface| {
            let options = ServeOptions { surface, ..serve_options(config, &identity) };
            let (tasks, stop) = (http.tasks.clone(), http.stop.clone());
            http.tasks.spawn(usher_api::serve(listener, state.clone(), routes, options, tasks, stop));
        };
        let routes = routes.await.unwrap_or_else(|_| Routes::all());
        match pages_listener {
            Some(pages) => {
                serve(listener, routes, Surface::Api);
                serve(pages, Routes::all(), Surface::Pages);
            }
            None => serve(listener, routes, Surface::Everything),
        }
        let _address_file = AddressFile::write(data_dir, address);
        Ok(Self {
            address,
            pages_address,
            engine,
            http,
            operations,
            relays,
            store,
            tickets,
            tokens,
            webhook,
            settings,
            node,
            _address_file,
        })
    }

    /// The address of the pages' own listener, if there is one.
    pub const fn pages_address(&self) -> Option<SocketAddr> {
        self.pages_address
    }

    /// The listening address.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns when an essential part has failed: the process should then restart, which loses nothing.
    pub fn failed(&self) -> impl Future<Output = ()> + use<> {
        let (engine, store) = (Arc::clone(&self.engine), Arc::clone(&self.store));
        async move {
            tokio::select! {
                () = engine.failed() => {}
                () = store.failed() => {}
            }
        }
    }

    /// Applies the API tokens and the webhook's secrets of `config` without a restart, and nothing else.
    ///
    /// # Errors
    /// If the webhook's secrets are invalid; nothing has changed then.
    pub fn reload(&self, config: &Config) -> Result<(), Failure> {
        if let Some(webhook) = &self.webhook {
            webhook.set_secrets(&webhook_secrets(config))?;
        }
        self.tokens.replace(config.auth.auth_token.secret(), previous_token(config));
        Ok(())
    }

    /// Replaces what the API shows of the configuration.
    pub fn show_settings(&self, settings: Vec<Setting>) {
        *self.settings.lock() = settings;
    }

    /// The engine.
    pub const fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Stops everything: refuses new requests, and finishes pending ones and, within a few seconds, the ticket wallet's
    /// jobs; then refuses wallets' messages and finishes their steps; then sends what is queued and stops the Lightning
    /// node; then closes the store.
    pub async fn stop(self) {
        // Together, because requests may wait for jobs.
        tokio::join!(self.http.close(), self.tickets.close());
        self.operations.close().await;
        tokio::join!(self.relays.close(), self.node.stop());
        self.store.close().await;
    }
}

/// The listeners of the service.
pub struct Listeners {
    /// For the API, and for the pages unless they have their own.
    pub api: TcpListener,
    /// For the pages only.
    pub pages: Option<TcpListener>,
    /// What the API serves, made beside the rest of the start.
    routes: JoinHandle<Routes>,
}

impl Listeners {
    /// Listens at the configured addresses and ports.
    ///
    /// # Errors
    /// If one is not available, with its name.
    pub async fn bind(config: &Config) -> Result<Self, Failure> {
        let api = bind(SocketAddr::new(config.info.listen_address, config.info.port())).await?;
        Self::beside(api, config).await
    }

    /// Adds the configured listener of the pages to this one for the API.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub async fn beside(api: TcpListener, config: &Config) -> Result<Self, Failure> {
        let routes = TaskTracker::new().spawn(async { Routes::all() });
        Ok(Self { api, pages: listen_for_pages(config).await?, routes })
    }
}

async fn listen_for_pages(config: &Config) -> Result<Option<TcpListener>, Failure> {
    let Some(port) = config.pages.listen_port else { return Ok(None) };
    let port = u16::try_from(port.get()).unwrap_or_default();
    bind(SocketAddr::new(config.info.listen_address, port)).await.map(Some)
}

async fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    if let Some(listener) = passed_on(address) {
        return Ok(listener);
    }
    TcpListener::bind(address).await.map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::AddrInUse => " (does another instance run?)",
            io::ErrorKind::AddrNotAvailable => " (info.listen_address is not an address of this machine)",
            _ => "",
        };
        Failure::said(format!("cannot listen on {address}: {error}{hint}"))
    })
}

/// Creates the data directory if missing, accessible only to its owner.
///
/// # Errors
/// If it cannot be created.
pub fn make_data_dir(path: &Path) -> Result<(), Failure> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(|error| {
        let path = path.display();
        match error.kind() {
            // Also a broken link.
            io::ErrorKind::AlreadyExists => Failure::said(format!("the data directory {path} is not a folder")),
            _ => Failure::said(format!("cannot make the data directory {path}: {error}")),
        }
    })
}

fn receiver(config: &Config) -> Result<Option<Arc<HttpWebhookSender>>, Failure> {
    let Some(url) = &config.webhook.url else { return Ok(None) };
    let unusable = |reason: String| Failure::said(format!("webhook.url cannot be used: {reason}"));
    let url = url.expose().parse().map_err(|_| unusable("it is no URL".to_owned()))?;
    let mut options = WebhookOptions::new(url);
    options.secrets = webhook_secrets(config);
    let receiver = HttpWebhookSender::new(options).map_err(|error| unusable(error.to_string()))?;
    Ok(Some(Arc::new(receiver)))
}

/// Remote signers, reached over the configured relays.
fn remote_signer(
    config: &Config,
    identity: &Identity,
    pages_url: &str,
    floor: &TaskGroup,
    clock: &Arc<dyn Clock>,
    gate: &LeaseGate,
) -> Result<Arc<dyn RemoteSigner>, Failure> {
    let relays = config.nostr.relays.addresses().iter().map(ToString::to_string).collect();
    let options = RemoteSignerOptions {
        allow_private: config.nostr.allow_private_relays,
        name: service_name(config).map(str::to_owned).unwrap_or_default(),
        url: pages_url.to_owned(),
        gate: gate.of_connections(),
        ..RemoteSignerOptions::new(relays)
    };
    let (key, clock, tasks) = (identity.keys.secret_key(), Arc::clone(clock), floor.tasks.clone());
    let signer = NostrRemoteSigner::new(options, key, clock, Arc::new(OsRandomness), tasks, floor.stop.clone());
    Ok(Arc::new(signer.map_err(|error| Failure::said(format!("remote signers cannot be reached: {error}")))?))
}

/// The client that gets invoices from payers' Lightning addresses. Does not connect.
fn payees(config: &Config) -> Result<Arc<dyn Payees>, Failure> {
    Ok(Arc::new(LnurlPayees::new(PayeeOptions { tls: tls()?, allow_private: config.nostr.allow_private_relays })))
}

/// The configured age verifier, if not staff. Does not connect.
pub(crate) fn age_verifier(config: &Config, clock: &Arc<dyn Clock>) -> Result<Option<Arc<dyn AgeVerifier>>, Failure> {
    let unusable = |key: &str| Failure::said(format!("{key} cannot be used"));
    Ok(match config.verification.provider {
        VerificationProvider::Manual => None,
        VerificationProvider::Oidc => {
            let oidc = &config.oidc;
            let issuer = oidc.issuer.as_ref().ok_or_else(|| unusable("verification.oidc.issuer"))?;
            let client_id = oidc.client_id.as_ref().ok_or_else(|| unusable("verification.oidc.client_id"))?;
            let options = OidcOptions {
                issuer: issuer.url().clone(),
                client_id: client_id.as_str().to_owned(),
                client_secret: oidc.client_secret.as_ref().map(|secret| secret.secret().clone()),
                claim: oidc.claim.as_ref().map(|claim| claim.as_str().to_owned()),
                // `openid` is always requested.
                scopes: oidc
                    .scopes
                    .as_str()
                    .split_whitespace()
                    .filter(|scope| *scope != "openid")
                    .map(str::to_owned)
                    .collect(),
            };
            let verifier = OidcVerifier::new(options, tls()?, Arc::clone(clock));
            Some(Arc::new(verifier.map_err(|_| unusable("verification.oidc.issuer"))?))
        }
        VerificationProvider::Remote => {
            let remote = &config.remote;
            let url = remote.url.as_ref().ok_or_else(|| unusable("verification.remote.url"))?;
            let api_key = remote.api_key.as_ref().map(|key| key.secret().clone());
            let verifier =
                VerificationServiceClient::new(&VerificationServiceOptions { url: url.url().clone(), api_key }, tls()?);
            Some(Arc::new(verifier.map_err(|_| unusable("verification.remote.api_key"))?))
        }
    })
}
