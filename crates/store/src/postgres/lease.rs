//! The lease, which determines the active instance.
//!
//! A row in the database has the owner and the expiry by the database's clock. Each owner has a greater *epoch* than
//! the previous ones, and every transaction of [`PostgresStore`](super::PostgresStore) checks its epoch in the
//! database. So an instance that was paused, cut off or replaced cannot write.
//!
//! A session lock would not do: it lasts as long as the server considers the connection alive, which a pooler or a
//! broken network can prolong.

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

/// Reads and changes the lease, over its own connection, so that a busy store does not delay a renewal.
pub struct Lease {
    address: Address,
    session: Mutex<Option<Session>>,
}

/// A request for the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRequest {
    /// The instance's name, for messages.
    pub owner: String,
    /// The address at which other instances reach it.
    pub address: String,
    /// The lease's duration without a renewal.
    pub lasts: Duration,
}

/// The result of a [`LeaseRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// The instance is the active one.
    Held(HeldLease),
    /// Another instance is active.
    Taken(LeaseHolder),
}

/// A lease that this instance holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldLease {
    /// The epoch of its store's writes.
    pub epoch: u64,
}

/// The instance that holds the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseHolder {
    /// Its name.
    pub owner: String,
    /// Its epoch.
    pub epoch: u64,
    /// Its address.
    pub address: String,
    /// The remaining duration, by the clock of the database.
    pub remaining: Duration,
}

/// Attempts to acquire a lease that ends while its holder is read.
const ATTEMPTS: u32 = 5;

/// Waits for an open transaction of the previous owner.
const ACQUIRE: &str = "WITH free AS (SELECT epoch FROM lease WHERE expires_at <= clock_timestamp() FOR UPDATE)
    UPDATE lease
    SET owner = $1, address = $2, epoch = lease.epoch + 1, session = 0,
        expires_at = clock_timestamp() + $3::bigint * interval '1 millisecond'
    FROM free WHERE lease.epoch = free.epoch AND lease.expires_at <= clock_timestamp() RETURNING lease.epoch";

/// An expired lease is not renewed even if it is free: its owner has already stopped everything.
const RENEW: &str = "UPDATE lease SET expires_at = clock_timestamp() + $2::bigint * interval '1 millisecond'
    WHERE epoch = $1 AND expires_at > clock_timestamp()";

const HAND_OVER: &str = "UPDATE lease SET expires_at = '-infinity' WHERE epoch = $1 AND expires_at > clock_timestamp()";

const HOLDER: &str =
    "SELECT owner, epoch, address, ceil(extract(epoch FROM expires_at - clock_timestamp()) * 1000)::bigint
    FROM lease WHERE expires_at > clock_timestamp()";

impl Lease {
    /// Connects to the database, and creates the lease's table for the first instance.
    pub async fn connect(options: &PostgresOptions) -> Result<Self, PostgresOpenError> {
        let address = Address::new(options)?;
        let session = Session::connect(&address).await?;
        schema::prepare(&session).await?;
        Ok(Self { address, session: Mutex::new(Some(session)) })
    }

    /// As [`connect`](Self::connect), but read-only, to query the [`holder`](Self::holder).
    pub async fn observe(options: &PostgresOptions) -> Result<Self, PostgresOpenError> {
        let address = Address::new(options)?;
        let session = Session::connect(&address).await?;
        Ok(Self { address, session: Mutex::new(Some(session)) })
    }

    /// Takes the lease if it is free. The new epoch is greater than all previous ones.
    ///
    /// # Errors
    /// [`StoreError::Failed`]: there was no response. The lease may have been acquired; it then expires.
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

    /// Extends the lease to `lasts` from now; false if it has expired or another instance holds it.
    ///
    /// # Errors
    /// [`StoreError::Failed`]: there was no response; the lease may or may not have been extended.
    pub async fn renew(&self, epoch: u64, lasts: Duration) -> Result<bool, StoreError> {
        let renewed = self.ask(Query::new("renew the lease", RENEW, params![number(epoch), millis(lasts)])).await?;
        Ok(renewed.changed == 1)
    }

    /// Releases the lease, so that another instance can take it at once; returns whether it was held. Nothing can be
    /// written under this epoch afterwards.
    ///
    /// # Errors
    /// [`StoreError::Failed`]: there was no response; the lease expires as usual unless it was released.
    pub async fn hand_over(&self, epoch: u64) -> Result<bool, StoreError> {
        let given = self.ask(Query::new("hand the lease over", HAND_OVER, params![number(epoch)])).await?;
        Ok(given.changed == 1)
    }

    /// The current holder.
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

    /// Sends a query over the existing connection, or a new one. A statement is never sent twice.
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

usher_protocol::debug_shows!(Lease {});

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// An epoch for a column; real ones are far smaller than the maximum.
pub(super) fn number(epoch: u64) -> i64 {
    i64::try_from(epoch).unwrap_or(i64::MAX)
}
