//! What every measurement uses: a relay, a data directory and a running service.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::time::timeout;
use usher_protocol::handshake_url::HandshakeUrl;

use crate::api;
use crate::cli::Options;
use crate::database::{Engine, PostgresqlServer};
use crate::http::Connection;
use crate::lightning::Lightning;
use crate::process_usage::{Meter, Processes};
use crate::relay::Relay;
use crate::service::{Instance, Service};
use crate::wallet::{Identity, Wallet};

/// How long the service may take to reach the relay.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How often the first handshake is sent until the service receives it.
const AGAIN: Duration = Duration::from_millis(250);

/// How measurements are made.
pub(crate) struct Tool {
    pub(crate) options: Options,
    /// The program to measure.
    pub(crate) usher: PathBuf,
    /// Where data directories are made.
    pub(crate) data: PathBuf,
    /// What the services that are started now keep their data in.
    pub(crate) engine: Engine,
    /// The server of the engines that need one.
    pub(crate) postgresql: Option<Arc<PostgresqlServer>>,
}

/// A relay, a data directory and a service that runs on both.
pub(crate) struct Fixture {
    pub(crate) relay: Relay,
    /// The service's wallet and the users' money, where payments are measured.
    pub(crate) lightning: Option<Lightning>,
    pub(crate) instance: Instance,
    pub(crate) service: Service,
    /// Where the data is, if not in a file.
    postgresql: Option<Arc<PostgresqlServer>>,
}

impl Tool {
    /// Reports progress on standard error.
    #[expect(clippy::print_stderr, reason = "standard output is for the table")]
    pub(crate) fn say(what: &str) {
        eprintln!("{what}");
    }

    /// Starts a fixture; `latency` is simulated between the relay and each of its clients.
    pub(crate) async fn fixture(&self, latency: Duration) -> Result<Fixture> {
        self.fixture_with(latency, &[]).await
    }

    /// As [`fixture`](Self::fixture), with these environment variables for the service.
    pub(crate) async fn fixture_with(&self, latency: Duration, variables: &[(&'static str, &str)]) -> Result<Fixture> {
        self.set(self.relay(latency).await?, None, variables).await
    }

    /// As [`fixture`](Self::fixture), with a Lightning backend for the service.
    pub(crate) async fn fixture_with_lightning(&self, latency: Duration) -> Result<Fixture> {
        let relay = self.relay(latency).await?;
        let lightning = Lightning::start(relay.url()).await?;
        let url = lightning.url().to_owned();
        let variables = [
            ("SERVICE__WALLET__LN_BACKEND", "nwc"),
            ("SERVICE__WALLET__NETWORK", "regtest"),
            ("SERVICE__WALLET__NWC__URL", &*url),
        ];
        self.set(relay, Some(lightning), &variables).await
    }

    async fn relay(&self, latency: Duration) -> Result<Relay> {
        Relay::start(latency, self.options.service_relays).await
    }

    async fn set(
        &self,
        relay: Relay,
        lightning: Option<Lightning>,
        variables: &[(&'static str, &str)],
    ) -> Result<Fixture> {
        let postgresql = if self.engine == Engine::Sqlite { None } else { self.postgresql.clone() };
        let mut variables = variables.to_vec();
        let database;
        if let Some(server) = &postgresql {
            database = server.new_database(self.engine).await?;
            variables.push(("SERVICE__DATABASE__URL", &database));
            // Required beside it; no page is measured.
            variables.push(("SERVICE__PAGES__PUBLIC_URL", "http://127.0.0.1/"));
        }
        let instance = Instance::new(&self.usher, &self.data, relay.urls(), &variables)?;
        let service = instance.start()?;
        let fixture = Fixture { relay, lightning, instance, service, postgresql };
        fixture.warm_up().await.with_context(|| format!("no handshake succeeds:\n{}", fixture.instance.log_tail()))?;
        Ok(fixture)
    }
}

impl Fixture {
    /// Starts to measure processor time.
    pub(crate) fn meter(&self) -> Result<Meter> {
        let lightning = self.lightning.as_ref().and_then(Lightning::pid);
        let processes = Processes { usher: self.service.pid(), relay: self.relay.pid(), lightning };
        Meter::start(processes, self.postgresql.clone())
    }

    pub(crate) async fn stored_bytes(&self) -> Result<u64> {
        match &self.postgresql {
            Some(server) => server.stored_bytes().await,
            None => self.instance.stored_bytes(),
        }
    }

    pub(crate) fn identity(&self) -> Result<Identity> {
        Identity::new(self.instance.keys().public_key())
    }

    /// Completes one handshake: after it the service is known to listen on the relay.
    async fn warm_up(&self) -> Result<()> {
        let identity = self.identity()?;
        let mut wallet = Wallet::connect(self.relay.address()?, &[]).await?;
        let mut app = Connection::open(self.service.address()).await?;
        let (stream, url) = api::started(&app.call(&api::key_handshake(self.instance.token())).await?)?;
        let token = url.parse::<HandshakeUrl>()?.token;
        app.send(&api::wait_events(self.instance.token(), &stream)).await?;
        let heard = async {
            loop {
                wallet.publish(&identity.handshake(token.clone(), self.relay.url())?).await?;
                if let Ok(answer) = timeout(AGAIN, app.receive()).await {
                    return api::page(&answer?);
                }
            }
        };
        let page = timeout(TIMEOUT, heard).await.context("the service does not hear the relay")??;
        anyhow::ensure!(page.events.len() == 1, "not one event but {}", page.events.len());
        Ok(())
    }
}
