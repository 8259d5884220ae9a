//! A probe of the room there is: as much as commits need, written and taken away again.

use rusqlite::Connection;

use super::failure::{During as _, SqliteFailure};

/// Writes 256 KiB: 64 pages. A commit of the engine changes about ten, and some dozen of them share a transaction.
///
/// # Errors
/// [`SqliteFailure`], first of all when there is no room.
pub(crate) fn fill_probe(connection: &Connection) -> Result<(), SqliteFailure> {
    let statement = "INSERT INTO settings (name, value) VALUES ('store.probe', hex(zeroblob(131072)))
                     ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    connection.execute(statement, []).during("write a probe").map(|_| ())
}

/// Frees what the probe took, for commits to come.
///
/// # Errors
/// [`SqliteFailure`].
pub(crate) fn remove_probe(connection: &Connection) -> Result<(), SqliteFailure> {
    connection.execute("DELETE FROM settings WHERE name = 'store.probe'", []).during("remove a probe").map(|_| ())
}
