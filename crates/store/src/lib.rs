//! SQLite and PostgreSQL behind the engine's [`Store`](usher_engine::ports::Store) port.
//!
//! [`SqliteStore`] is the embedded default: one file, nothing to install. [`PostgresStore`] is for an instance that shares a
//! database with others, of which one is active: the one that holds the [`Lease`]. What every store must do, whatever its
//! engine, is written as tests in `conformance` (feature `conformance`).

mod codec;
mod commit;
#[cfg(feature = "conformance")]
pub mod conformance;
mod copy;
mod copy_mark;
mod damaged_row;
mod damaged_rows;
mod engine;
mod metrics;
mod panic_signal;
mod postgres;
mod records;
mod row;
mod sqlite;
mod statement;

pub use copy::{CopiedTable, CopyError, CopyOutcome, CopyPart, CopySource, CopyTarget, copy};
pub use copy_mark::{CopyMark, CopyState};
pub use damaged_row::{DamagedRow, StateCheck};
pub use engine::{Database, SqlStore};
pub use metrics::{HistogramValues, StoreMetrics};
pub use postgres::{
    Acquired, HeldLease, Lease, LeaseHolder, LeaseRequest, PostgresFailure, PostgresInspection, PostgresOpenError,
    PostgresOptions, PostgresStore,
};
pub use sqlite::{
    DatabaseInspection, Integrity, OpenError, SqliteFailure, SqliteOptions, SqliteStore, copy_database,
    known_schema_version, set_in_copy,
};
