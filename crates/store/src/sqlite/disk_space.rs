//! Checks for enough disk space by writing and removing as much as commits need.

use rusqlite::Connection;

use super::failure::{During as _, SqliteFailure};

/// Writes 256 KiB: 64 pages. A commit changes about ten, and some dozen share a transaction.
///
/// # Errors
/// [`SqliteFailure`], most often because the disk is full.
pub(crate) fn fill_probe(connection: &Connection) -> Result<(), SqliteFailure> {
    let statement = "INSERT INTO settings (name, value) VALUES ('store.probe', hex(zeroblob(131072)))
                     ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    connection.execute(statement, []).during("write a probe").map(|_| ())
}

/// Frees the probe's space for the next commits.
pub(crate) fn remove_probe(connection: &Connection) -> Result<(), SqliteFailure> {
    connection.execute("DELETE FROM settings WHERE name = 'store.probe'", []).during("remove a probe").map(|_| ())
}
