//! The database of the service that is measured.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use parking_lot::Mutex;
use tokio_postgres::{Client, NoTls};
use url::Url;

use crate::database_proxy::DatabaseProxy;

/// Where the service keeps its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// A file in the data directory.
    Sqlite,
    /// The server that was named.
    Postgresql,
    /// The same, with a simulated delay, and round trips counted.
    DistantPostgresql,
}

/// The PostgreSQL server on which services are measured, each in a new database.
pub(crate) struct PostgresqlServer {
    url: Url,
    admin: Client,
    proxy: DatabaseProxy,
    databases: Mutex<Vec<String>>,
}

impl PostgresqlServer {
    /// Connects as a user who may create databases; `latency` is how long the distant one takes in each direction.
    pub(crate) async fn connect(url: &str, latency: Duration) -> Result<Self> {
        let url: Url = url.parse().context("--postgresql is not a URL")?;
        ensure!(
            url.query_pairs().any(|(name, value)| name == "sslmode" && value == "disable"),
            "--postgresql must end with ?sslmode=disable: this tool stands between the service and the server"
        );
        let (admin, connection) =
            tokio_postgres::connect(url.as_str(), NoTls).await.context("cannot connect to PostgreSQL")?;
        #[expect(clippy::disallowed_methods, reason = "it ends with the client")]
        tokio::spawn(connection);
        let host = url.host_str().context("--postgresql has no host")?.to_owned();
        let proxy = DatabaseProxy::start(host, url.port().unwrap_or(5432), latency)?;
        Ok(Self { url, admin, proxy, databases: Mutex::default() })
    }

    /// The URL of a new database; the one before it is dropped.
    pub(crate) async fn new_database(&self, engine: Engine) -> Result<String> {
        self.drop_databases().await?;
        let name = format!("usher_load_{:016x}", rand::random::<u64>());
        self.admin.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")).await?;
        let mut url = self.url.clone();
        url.set_path(&name);
        if engine == Engine::DistantPostgresql {
            url.set_host(Some("127.0.0.1"))?;
            ensure!(url.set_port(Some(self.proxy.port())).is_ok(), "--postgresql has no port");
        }
        self.databases.lock().push(name);
        Ok(url.into())
    }

    pub(crate) async fn drop_databases(&self) -> Result<()> {
        let names = std::mem::take(&mut *self.databases.lock());
        for name in names {
            self.admin.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await?;
        }
        Ok(())
    }

    pub(crate) async fn stored_bytes(&self) -> Result<u64> {
        let name = self.databases.lock().last().cloned().context("there is no database")?;
        let row = self.admin.query_one("SELECT pg_database_size($1::text)", &[&name]).await?;
        Ok(u64::try_from(row.try_get::<_, i64>(0)?)?)
    }

    /// Round trips to the distant server so far.
    pub(crate) fn round_trips(&self) -> u64 {
        self.proxy.round_trips()
    }
}

impl Engine {
    /// What a row's conditions end with, after `latency` in each direction.
    pub(crate) fn suffix(self, latency: Duration) -> String {
        match self {
            Self::Sqlite => String::new(),
            Self::Postgresql => ", PostgreSQL".to_owned(),
            Self::DistantPostgresql => format!(", PostgreSQL {} ms away each way", latency.as_secs_f64() * 1000.0),
        }
    }
}

// The URL holds a password.
usher_protocol::debug_shows!(PostgresqlServer {});
