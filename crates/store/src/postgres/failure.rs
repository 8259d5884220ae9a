//! Failures of PostgreSQL, and their conversion to errors of the port.

use tokio_postgres::error::{DbError, Severity, SqlState};
use usher_engine::ports::StoreError;

use crate::codec::Unreadable;

/// Raised by `begin_write`: this instance does not hold the lease.
const NOT_ACTIVE: &str = "UL001";

/// Raised by `expect_rows`.
const ROW_COUNT: &str = "UL002";

/// A failure of PostgreSQL: the source inside [`StoreError::Failed`].
///
/// Names statements and columns, never values or the address, which may be secrets. Cloneable, because a failed
/// `COMMIT` fails every commit that shared it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PostgresFailure {
    /// PostgreSQL returned an error; nothing has changed.
    #[error("could not {during}: {}{message} (SQLSTATE {code})", explained(code))]
    Refused {
        /// The action that failed.
        during: &'static str,
        /// PostgreSQL's code.
        code: String,
        /// PostgreSQL's message, without the details that can contain values.
        message: String,
    },
    /// Connecting failed.
    #[error("cannot connect to the database: {0}")]
    Connect(String),
    /// A pooler assigns the server's session to other connections.
    #[error(
        "a connection pooler changes sessions between transactions: let it work in session mode, as pgbouncer does with \
         pool_mode = session, or connect to PostgreSQL itself"
    )]
    SharedSession,
    /// The connection was lost, or timed out. Nothing has changed.
    #[error("could not {during}: the connection to the database was lost: {reason}")]
    Lost {
        /// The action that failed.
        during: &'static str,
        /// The known reason.
        reason: String,
    },
    /// The connection was lost during a commit, and its outcome or results cannot be determined.
    #[error("the connection to the database was lost during a commit, which may or may not have happened")]
    OutcomeUnknown,
    /// A conditional write changed another number of rows than it had just read.
    #[error("could not {during}: another number of rows changed than should have")]
    RowCount {
        /// The action that failed.
        during: &'static str,
    },
    /// This instance no longer holds the lease; nothing has changed.
    #[error("this instance does not hold the lease")]
    NotActive,
    /// Stored data cannot be interpreted.
    #[error("cannot read {0}")]
    Unreadable(&'static str),
}

/// Hints for operators about frequent errors.
fn explained(code: &str) -> &'static str {
    match code {
        "28P01" | "28000" => "the database refuses the user or password of database.url: ",
        "3D000" => "the database that database.url names is not there: ",
        "53100" => "the database's disk is full: ",
        "53200" => "the database is out of memory: ",
        "53300" => "the database has too many connections: ",
        "55P03" => "a lock was not free in time: ",
        "57014" => "it took too long: ",
        "25006" => "the database is read-only, as a replica is: ",
        "57P01" | "57P02" => "the database is shutting down: ",
        "57P03" => "the database is starting or recovering: ",
        _ => "",
    }
}

impl PostgresFailure {
    /// Converts an error of the action `during`.
    pub(super) fn new(during: &'static str, error: &tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(error) => Self::refused(during, error),
            None => Self::Lost { during, reason: without_secrets(error) },
        }
    }

    fn refused(during: &'static str, error: &DbError) -> Self {
        match error.code().code() {
            NOT_ACTIVE => Self::NotActive,
            ROW_COUNT => Self::RowCount { during },
            _ if is_fatal(error) => Self::Lost { during, reason: error.message().to_owned() },
            code => Self::Refused { during, code: code.to_owned(), message: error.message().to_owned() },
        }
    }

    pub(super) fn connect(error: &tokio_postgres::Error) -> Self {
        Self::Connect(match error.as_db_error() {
            Some(error) => {
                format!("{}{} (SQLSTATE {})", explained(error.code().code()), error.message(), error.code().code())
            }
            None => without_secrets(error),
        })
    }

    /// Whether a statement waited too long for a lock, or ran too long.
    pub(super) fn took_too_long(&self) -> bool {
        let codes = [SqlState::LOCK_NOT_AVAILABLE, SqlState::QUERY_CANCELED];
        matches!(self, Self::Refused { code, .. } if codes.iter().any(|slow| slow.code() == code))
    }

    /// Whether the commit that met this error definitely did not happen, while others of its transaction may succeed.
    pub(super) fn concerns_one(&self) -> bool {
        match self {
            Self::Refused { .. } if self.took_too_long() => true,
            Self::Refused { code, .. } => {
                // Error classes: resources, operator intervention, system, locks, read-only replica.
                let class = code.get(..2).unwrap_or_default();
                !matches!(class, "53" | "57" | "58" | "55" | "25" | "40" | "42" | "XX")
            }
            Self::RowCount { .. } | Self::Unreadable(_) => true,
            Self::Connect(_) | Self::SharedSession | Self::Lost { .. } | Self::OutcomeUnknown | Self::NotActive => {
                false
            }
        }
    }

    pub(super) fn ends_connection(&self) -> bool {
        match self {
            Self::Lost { .. } | Self::Connect(_) | Self::SharedSession | Self::OutcomeUnknown => true,
            // A primary that became a replica: another one may have taken its place.
            Self::Refused { code, .. } => code == SqlState::READ_ONLY_SQL_TRANSACTION.code(),
            Self::RowCount { .. } | Self::NotActive | Self::Unreadable(_) => false,
        }
    }
}

/// Whether the server ends the connection with this error, so that the outcome is unknown.
fn is_fatal(error: &DbError) -> bool {
    matches!(error.parsed_severity(), Some(Severity::Fatal | Severity::Panic))
        || matches!(error.severity(), "FATAL" | "PANIC")
}

/// The error and its causes. The library's errors contain neither passwords nor parameter values.
fn without_secrets(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

impl From<Unreadable> for PostgresFailure {
    fn from(Unreadable(what): Unreadable) -> Self {
        Self::Unreadable(what)
    }
}

impl From<PostgresFailure> for StoreError {
    fn from(failure: PostgresFailure) -> Self {
        match failure {
            PostgresFailure::Unreadable(what) => Self::Unreadable(what),
            // A retry would have the same result.
            PostgresFailure::RowCount { during } => Self::Unreadable(during),
            PostgresFailure::NotActive => Self::NotActive,
            failure @ (PostgresFailure::Refused { .. }
            | PostgresFailure::Connect(_)
            | PostgresFailure::SharedSession
            | PostgresFailure::Lost { .. }
            | PostgresFailure::OutcomeUnknown) => Self::Failed(Box::new(failure)),
        }
    }
}
