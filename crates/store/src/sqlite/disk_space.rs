//! Checks whether there is enough disk space for commits: writes as much as they need and removes it again.

use rusqlite::Connection;

use super::failure::{During as _, SqliteFailure};

/// Writes 256 KiB: 64 pages. A commit of the engine changes about ten, and some dozen of them share a transaction.
///
/// # Errors
/// [`SqliteFailure`], most often because the disk is full.
pub(crate) fn fill_probe(connection: &Connection) -> Result<(), SqliteFailure> {
    let statement = "INSERT INTO settings (name, value) VALUES ('store.probe', hex(zeroblob(131072)))
                     ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    connection.execute(statement, []).during("write a probe").map(|_| ())
}

/// Frees the space that the probe took, for the next commits.
///
/// # Errors
/// [`SqliteFailure`].
pub(crate) fn remove_probe(connection: &Connection) -> Result<(), SqliteFailure> {
    connection.execute("DELETE FROM settings WHERE name = 'store.probe'", []).during("remove a probe").map(|_| ())
}
