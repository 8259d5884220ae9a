//! SQLite and PostgreSQL behind the engine's [`Store`](usher_engine::ports::Store) port.
//!
//! [`SqliteStore`] is the embedded default: one file, nothing to install. [`PostgresStore`] is for several instances
//! that share a database, of which the holder of the [`Lease`] is active. The suite `conformance` (feature
//! `conformance`) tests all engines.

mod codec;
mod commit;
#[cfg(feature = "conformance")]
pub mod conformance;
mod copy;
mod copy_mark;
mod damaged_row;
mod damaged_rows;
mod engine;
mod inspection;
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
pub use inspection::Inspection;
pub use metrics::{HistogramValues, StoreMetrics};
pub use postgres::{
    Acquired, HeldLease, Lease, LeaseHolder, LeaseRequest, PostgresFailure, PostgresInspection, PostgresOpenError,
    PostgresOptions, PostgresStore,
};
pub use sqlite::{
    DatabaseInspection, Integrity, OpenError, SqliteFailure, SqliteOptions, SqliteStore, copy_database,
    known_schema_version, set_in_copy,
};
