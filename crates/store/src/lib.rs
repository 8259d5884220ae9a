//! SQLite behind the engine's [`Store`](usher_engine::ports::Store) port.
//!
//! [`SqliteStore`] is the embedded default: one file, nothing to install. What every store must do, whatever its
//! engine, is written as tests in `conformance` (feature `conformance`).

#[cfg(feature = "conformance")]
pub mod conformance;
mod sqlite;

pub use sqlite::{
    DamagedRow, DatabaseInspection, HistogramValues, Integrity, OpenError, SqliteFailure, SqliteOptions, SqliteStore,
    StoreMetrics,
};
