//! Copies a database while a service uses it.

use std::io;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::failure::{During as _, SqliteFailure};
use super::open_error::OpenError;
use super::{DatabaseInspection, execute, file, open};
use crate::records::settings;

/// Copies a snapshot of the database at `from` to the new file `to`, which only its owner can read. A service can use
/// the database meanwhile; its write-ahead log grows.
///
/// # Errors
/// [`OpenError`]: `from` is missing, belongs to another program or a newer version, was moved, or is damaged; or `to`
/// exists or cannot be written.
pub fn copy_database(from: &Path, to: &Path) -> Result<DatabaseInspection, OpenError> {
    let inspection = DatabaseInspection::open(from)?;
    let unusable = |path: &Path| {
        let path = path.to_owned();
        move |failure| OpenError::unusable(&path, failure)
    };
    if let Some(mark) = inspection.copy_mark().map_err(unusable(from))? {
        return Err(OpenError::Marked { path: from.to_owned(), mark });
    }
    // The inspection may have opened the file as immutable, which ends when a service starts.
    drop(inspection);
    let made = |source| OpenError::File { path: to.to_owned(), source };
    if to.try_exists().map_err(made)? {
        return Err(made(io::ErrorKind::AlreadyExists.into()));
    }
    // SQLite fills an empty file; a new one would have default permissions.
    drop(file::create(to).map_err(made)?);
    copy(from, to).map_err(unusable(from))?;
    DatabaseInspection::open(to)
}

fn copy(from: &Path, to: &Path) -> Result<(), SqliteFailure> {
    const DURING: &str = "copy the database";
    // Opened for writing, because the log of a killed service may need recovery.
    let connection = open::connect(from, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // One read transaction. Deleted content is not copied.
    let to = to.to_str().ok_or(rusqlite::Error::InvalidPath(to.to_owned())).during(DURING)?;
    connection.execute("VACUUM INTO ?1", [to]).during(DURING)?;
    connection.close().map_err(|(_, error)| error).during(DURING)
}

/// Sets a setting durably in a database that is not in use.
pub fn set_in_copy(path: &Path, name: &str, value: &str) -> Result<(), OpenError> {
    let set = || {
        let connection: Connection = open::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        execute::run(&connection, &settings::set(name, Some(value)))?;
        connection.close().map_err(|(_, error)| error).during("close the database")
    };
    set().map_err(|failure| OpenError::unusable(path, failure))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use usher_engine::ports::SettingStore as _;

    use super::super::{Integrity, SqliteOptions, SqliteStore};
    use super::*;

    #[tokio::test]
    async fn a_copy_has_what_was_committed_and_leaves_nothing_behind() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = |name: &str| folder.path().join(name);
        let store = SqliteStore::open(&path("usher.db"), SqliteOptions::default()).unwrap();
        store.set_setting("x", Some("1")).await.unwrap();
        let copied = copy_database(&path("usher.db"), &path("running.db")).unwrap();
        store.set_setting("x", Some("2")).await.unwrap();
        assert_eq!(copied.setting("x").await.unwrap().as_deref(), Some("1"));
        assert_eq!(copied.integrity(Duration::from_secs(60)).unwrap(), Integrity::Whole);
        assert_eq!(copied.missing().unwrap(), Vec::<String>::new());
        drop(copied);
        store.close().await;
        drop(store);

        copy_database(&path("usher.db"), &path("stopped.db")).unwrap();
        set_in_copy(&path("stopped.db"), "x", "\"3\"").unwrap();
        let mut names: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["running.db", "stopped.db", "usher.db", "usher.db.lock"]);
        // A service can open it.
        let store = SqliteStore::open(&path("stopped.db"), SqliteOptions::default()).unwrap();
        assert_eq!(store.setting("x").await.unwrap().as_deref(), Some("\"3\""));
        store.close().await;

        assert!(copy_database(&path("usher.db"), &path("running.db")).is_err(), "it is there");
        assert!(copy_database(&path("absent.db"), &path("new.db")).is_err());
        assert!(!path("absent.db").exists() && !path("new.db").exists());
    }
}
