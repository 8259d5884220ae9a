//! The configured database.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use usher_engine::ports::{Clock as _, SystemClock};
use usher_instance::{ActiveLease, Held, OnLoss};
use usher_store::{
    Acquired, Database, Lease, LeaseHolder, LeaseRequest, OpenError, PostgresFailure, PostgresOpenError,
    PostgresOptions, PostgresStore, SqliteOptions, SqliteStore,
};

use crate::config::Config;
use crate::failure::{Failure, chain};
use crate::process::ThisProcess;
use crate::unusable_data;

/// Opens the SQLite file exclusively. Called before anything else is written into the data directory, which another
/// process may be using.
///
/// # Errors
/// If another process uses it, or it cannot be used.
pub fn open_sqlite(config: &Config, data_dir: &Path) -> Result<Arc<SqliteStore>, Failure> {
    unusable_data::refuse_unfinished_restore(data_dir)?;
    let path = data_dir.join(config.database.path.as_str());
    match SqliteStore::open(&path, SqliteOptions::default()) {
        Ok(store) => Ok(Arc::new(store)),
        Err(error @ OpenError::InUse { .. }) => {
            Err(Failure::said(format!("{error}; is another usher running on {}?", data_dir.display())))
        }
        // A restart finds the same file.
        Err(
            error @ (OpenError::Newer { .. }
            | OpenError::Marked { .. }
            | OpenError::Foreign { .. }
            | OpenError::Incomplete { .. }),
        ) => Err(Failure::refused(error)),
        Err(error) => Err(error.into()),
    }
}

/// A PostgreSQL database shared by instances.
#[derive(Clone, Debug)]
pub struct SharedDatabase {
    /// How to connect.
    pub options: PostgresOptions,
    /// This instance's request for the lease.
    pub request: LeaseRequest,
}

impl SharedDatabase {
    /// The configured database, for a command.
    ///
    /// # Errors
    /// When the file with certificates cannot be read.
    pub fn of_command(config: &Config) -> Result<Option<Self>, Failure> {
        Self::configured(config, SocketAddr::new(config.info.listen_address, config.info.port()))
    }

    /// The configured database, for an instance that listens at this address; `None` for a SQLite file.
    ///
    /// # Errors
    /// When the file with certificates cannot be read.
    pub fn configured(config: &Config, listens_at: SocketAddr) -> Result<Option<Self>, Failure> {
        let database = &config.database;
        let Some(url) = &database.url else { return Ok(None) };
        let mut options = PostgresOptions::new(url.secret().clone());
        if let Some(path) = &database.trusted_certificates {
            options.trusted = certificates(Path::new(path.as_str()))?;
        }
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let address = database.instance_address.as_ref().map(|address| address.as_str().to_owned());
        let request = LeaseRequest {
            owner: format!("{host}, process {}", std::process::id()),
            address: address.unwrap_or_else(|| listens_at.to_string()),
            lasts: Duration::from_secs(database.lease_seconds.get()),
        };
        Ok(Some(Self { options, request }))
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let unusable = |reason: String| {
        Failure::said(format!("database.trusted_certificates cannot be used: {}: {reason}", path.display()))
    };
    let found = CertificateDer::pem_file_iter(path).map_err(|error| unusable(error.to_string()))?;
    let found: Vec<_> = found.collect::<Result<_, _>>().map_err(|error| unusable(error.to_string()))?;
    if found.is_empty() { Err(unusable("it has no certificate".to_owned())) } else { Ok(found) }
}

/// The failure that an error of opening a PostgreSQL database means; `None` if it may be temporary.
pub fn refusal(error: &PostgresOpenError) -> Option<Failure> {
    match error {
        PostgresOpenError::Unusable(PostgresFailure::SharedSession) => Some(Failure::refused(chain(error))),
        PostgresOpenError::Unusable(_) | PostgresOpenError::Migration { .. } => None,
        PostgresOpenError::Url(_)
        | PostgresOpenError::Certificate(_)
        | PostgresOpenError::TooOld { .. }
        | PostgresOpenError::Encoding { .. }
        | PostgresOpenError::Foreign
        | PostgresOpenError::Marked(_)
        | PostgresOpenError::Newer { .. } => Some(Failure::refused(chain(error))),
    }
}

/// Takes the lease for a command, which excludes services. Waits up to `wait` for a lease that is not renewed.
///
/// # Errors
/// If a service or another command holds it, or the database cannot be used.
pub async fn hold(
    SharedDatabase { options, request }: &SharedDatabase,
    wait: Duration,
) -> Result<ActiveLease, Failure> {
    let lease = Arc::new(Lease::connect(options).await.map_err(|error| unusable(&error))?);
    let deadline = Instant::now() + wait;
    loop {
        let asked_at = SystemClock.monotonic();
        match lease.acquire(request).await? {
            Acquired::Held(held) => {
                let lasts = request.lasts;
                let held = Held { epoch: held.epoch, certain_until: asked_at + lasts, lasts };
                let (clock, process) = (Arc::new(SystemClock), Arc::new(ThisProcess));
                return Ok(ActiveLease::keep(lease, held, OnLoss::Exit, clock, process)?);
            }
            Acquired::Taken(LeaseHolder { owner, remaining, .. }) if Instant::now() + remaining > deadline => {
                return Err(Failure::said(format!("the database is in use by {owner}; is another usher running?")));
            }
            Acquired::Taken(LeaseHolder { remaining, .. }) => tokio::time::sleep(remaining).await,
        }
    }
}

fn unusable(error: &PostgresOpenError) -> Failure {
    refusal(error).unwrap_or_else(|| Failure::said(chain(error)))
}

/// The database for a command, used exclusively.
pub struct CommandDatabase {
    /// The database.
    pub store: Arc<dyn Database>,
    lease: Option<ActiveLease>,
}

impl CommandDatabase {
    /// Opens it exclusively.
    ///
    /// # Errors
    /// If a service or another command uses it, or it cannot be used.
    pub async fn open(config: &Config, data_dir: &Path) -> Result<Self, Failure> {
        let Some(shared) = SharedDatabase::of_command(config)? else {
            return Ok(Self { store: open_sqlite(config, data_dir)?, lease: None });
        };
        let lease = hold(&shared, Duration::ZERO).await?;
        match PostgresStore::open(&shared.options, lease.epoch()).await {
            Ok(store) => Ok(Self { store: Arc::new(store), lease: Some(lease) }),
            Err(error) => {
                lease.hand_over().await;
                Err(unusable(&error))
            }
        }
    }

    /// Closes it, so that others can use it.
    pub async fn close(self) {
        self.store.close().await;
        if let Some(lease) = self.lease {
            lease.hand_over().await;
        }
    }
}
