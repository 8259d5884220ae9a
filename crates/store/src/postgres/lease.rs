//! The lease: which of several instances is the active one.
//!
//! A row in the database says who may write, and until when by the clock of the database. Each owner has a greater *epoch* than
//! the ones before, and every transaction of [`PostgresStore`](super::PostgresStore) checks its own in the database. So an
//! instance that was paused, cut off or taken over from cannot write, whatever it believes.
//!
//! It is no lock of a session: those last as long as the server believes in a connection, which a pooler or a half-dead network
//! can keep up for long.

use std::time::Duration;

use tokio::sync::Mutex;
use usher_engine::ports::StoreError;

use super::failure::PostgresFailure;
use super::open_error::PostgresOpenError;
use super::options::{Address, PostgresOptions};
use super::schema;
use super::session::Session;
use crate::row::Answer;
use crate::statement::{Query, params};

/// Reads and changes the lease, over a connection of its own: a busy store does not delay a renewal.
pub struct Lease {
    address: Address,
    session: Mutex<Option<Session>>,
}

/// What an instance asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRequest {
    /// Who it is, for people.
    pub owner: String,
    /// Where the other instances reach it.
    pub address: String,
    /// How long it holds the lease without renewing it.
    pub lasts: Duration,
}

/// The answer to a [`LeaseRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// The instance is the active one.
    Held(HeldLease),
    /// Another one is.
    Taken(LeaseHolder),
}

/// A lease that this instance holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldLease {
    /// What its store writes under.
    pub epoch: u64,
}

/// The instance that holds the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseHolder {
    /// Who it is.
    pub owner: String,
    /// Its epoch.
    pub epoch: u64,
    /// Where it is reached.
    pub address: String,
    /// How long it holds the lease still, by the clock of the database.
    pub remaining: Duration,
}

/// How often the lease is asked for when it ends just while it is looked who holds it.
const ATTEMPTS: u32 = 5;

/// Waits for a transaction of the former owner that is under way.
const ACQUIRE: &str = "WITH free AS (SELECT epoch FROM lease WHERE expires_at <= clock_timestamp() FOR UPDATE)
    UPDATE lease
    SET owner = $1, address = $2, epoch = lease.epoch + 1, session = 0,
        expires_at = clock_timestamp() + $3::bigint * interval '1 millisecond'
    FROM free WHERE lease.epoch = free.epoch AND lease.expires_at <= clock_timestamp() RETURNING lease.epoch";

/// One that has expired is not renewed, although nobody may have taken it: its owner has given everything up.
const RENEW: &str = "UPDATE lease SET expires_at = clock_timestamp() + $2::bigint * interval '1 millisecond'
    WHERE epoch = $1 AND expires_at > clock_timestamp()";

const HAND_OVER: &str = "UPDATE lease SET expires_at = '-infinity' WHERE epoch = $1 AND expires_at > clock_timestamp()";

const HOLDER: &str =
    "SELECT owner, epoch, address, ceil(extract(epoch FROM expires_at - clock_timestamp()) * 1000)::bigint
    FROM lease WHERE expires_at > clock_timestamp()";

impl Lease {
    /// Connects to the database, and makes the lease's table if this is the first instance.
    ///
    /// # Errors
    /// [`PostgresOpenError`].
    pub async fn connect(options: &PostgresOptions) -> Result<Self, PostgresOpenError> {
        let address = Address::new(options)?;
        let session = Session::connect(&address).await?;
        schema::prepare(&session).await?;
        Ok(Self { address, session: Mutex::new(Some(session)) })
    }

    /// As [`connect`](Self::connect), but changes nothing: only to look at the [`holder`](Self::holder).
    ///
    /// # Errors
    /// [`PostgresOpenError`].
    pub async fn observe(options: &PostgresOptions) -> Result<Self, PostgresOpenError> {
        let address = Address::new(options)?;
        let session = Session::connect(&address).await?;
        Ok(Self { address, session: Mutex::new(Some(session)) })
    }

    /// Takes the lease if nobody holds it. The new epoch is greater than every one before.
    ///
    /// # Errors
    /// [`StoreError::Failed`]: there was no answer. The lease may have been taken; it expires then.
    pub async fn acquire(&self, request: &LeaseRequest) -> Result<Acquired, StoreError> {
        let LeaseRequest { owner, address, lasts } = request;
        for _ in 0..ATTEMPTS {
            let acquire = params![owner.as_str(), address.as_str(), millis(*lasts)];
            let taken = self.ask(Query::new("acquire the lease", ACQUIRE, acquire)).await?;
            if let Some(row) = taken.rows.first() {
                let epoch = row.int(0)?;
                return Ok(Acquired::Held(HeldLease { epoch }));
            }
            // It may have ended in between.
            if let Some(holder) = self.holder().await? {
                return Ok(Acquired::Taken(holder));
            }
        }
        Err(StoreError::Unreadable("the lease"))
    }

    /// Holds the lease for `lasts` from now on; false if it has expired or another instance has it.
    ///
    /// # Errors
    /// [`StoreError::Failed`]: there was no answer; the lease may or may not last longer now.
    pub async fn renew(&self, epoch: u64, lasts: Duration) -> Result<bool, StoreError> {
        let renewed = self.ask(Query::new("renew the lease", RENEW, params![number(epoch), millis(lasts)])).await?;
        Ok(renewed.changed == 1)
    }

    /// Gives the lease up, so that another instance can take it at once; returns whether it was held. Nothing is written under
    /// this epoch from then on.
    ///
    /// # Errors
    /// [`StoreError::Failed`]: there was no answer; it expires at the latest when it would have.
    pub async fn hand_over(&self, epoch: u64) -> Result<bool, StoreError> {
        let given = self.ask(Query::new("hand the lease over", HAND_OVER, params![number(epoch)])).await?;
        Ok(given.changed == 1)
    }

    /// Who holds the lease now.
    ///
    /// # Errors
    /// [`StoreError::Failed`].
    pub async fn holder(&self) -> Result<Option<LeaseHolder>, StoreError> {
        let found = self.ask(Query::new("look who holds the lease", HOLDER, params![])).await?;
        let holder = found.first(|row| {
            let (owner, address) = (row.string(0)?, row.string(2)?);
            Ok(LeaseHolder { owner, epoch: row.int(1)?, address, remaining: Duration::from_millis(row.int(3)?) })
        });
        Ok(holder?)
    }

    /// Asks over the connection that is there, or a new one. A statement is never sent twice.
    async fn ask(&self, query: Query) -> Result<Answer, PostgresFailure> {
        let mut kept = self.session.lock().await;
        let session = match kept.take().filter(|session| !session.is_closed()) {
            Some(session) => session,
            None => Session::connect(&self.address).await?,
        };
        let answer = session.one(&query).await;
        if !answer.as_ref().is_err_and(PostgresFailure::ends_connection) {
            *kept = Some(session);
        }
        answer
    }
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lease").finish_non_exhaustive()
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// An epoch for a column. None is as great as that.
pub(super) fn number(epoch: u64) -> i64 {
    i64::try_from(epoch).unwrap_or(i64::MAX)
}
