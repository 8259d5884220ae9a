//! What only PostgreSQL can get wrong: the lease, lost connections, the server's refusals.

mod audit_log;
mod connection;
mod damage;
mod group_commit;
mod lease;
mod lost_answers;
mod proxy;
mod server_errors_and_restarts;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use usher_store::{Acquired, HeldLease, Lease, LeaseRequest, PostgresOptions, PostgresStore};
use usher_testing::PostgresServer;

pub(crate) struct Place {
    pub(crate) server: &'static PostgresServer,
    pub(crate) database: String,
}

impl Place {
    pub(crate) async fn new() -> Self {
        tokio::task::spawn_blocking(|| {
            let server = PostgresServer::shared();
            Self { server, database: server.database() }
        })
        .await
        .unwrap()
    }

    /// With a time-out that is short, and that a loaded machine keeps.
    fn options(&self) -> PostgresOptions {
        self.options_by(self.server.port())
    }

    fn options_by(&self, port: u16) -> PostgresOptions {
        PostgresOptions {
            readers: 1,
            timeout: Duration::from_secs(4),
            outcome_timeout: Duration::from_secs(10),
            ..PostgresOptions::new(self.server.url_by(port, &self.database).into())
        }
    }

    /// A lease for long, and a store.
    async fn open(&self, options: &PostgresOptions) -> (HeldLease, Arc<PostgresStore>) {
        let lease = Lease::connect(&self.options()).await.unwrap();
        let held = acquire(&lease, Duration::from_secs(600)).await;
        (held, Arc::new(PostgresStore::open(options, held.epoch).await.unwrap()))
    }

    pub(crate) async fn psql(&self, sql: impl Into<String>) -> String {
        let (server, database, sql) = (self.server, self.database.clone(), sql.into());
        tokio::task::spawn_blocking(move || server.psql(&database, &sql)).await.unwrap()
    }
}

pub(crate) async fn acquire(lease: &Lease, lasts: Duration) -> HeldLease {
    match lease.acquire(&request("one", lasts)).await.unwrap() {
        Acquired::Held(held) => held,
        Acquired::Taken(holder) => panic!("{holder:?}"),
    }
}

fn request(owner: &str, lasts: Duration) -> LeaseRequest {
    LeaseRequest { owner: owner.to_owned(), address: format!("http://{owner}"), lasts }
}
