use std::fs;

use usher_store::{OpenError, known_schema_version};

use super::{DatabaseFolder, open, refused};
use crate::chain;

#[test]
fn newer_schema_is_refused_with_both_versions() {
    let folder = DatabaseFolder::new();
    drop(folder.open());
    folder.raw().pragma_update(None, "user_version", 99).unwrap();
    let before = fs::read(folder.path()).unwrap();

    let error = refused(&folder.path());
    let newest = known_schema_version();
    assert!(matches!(error, OpenError::Newer { found: 99, known, .. } if known == newest), "{error:?}");
    assert!(error.to_string().contains("schema version 99"), "{error}");
    assert!(error.to_string().contains(&format!("up to {newest}")), "{error}");
    assert!(error.to_string().contains("restore the copy that was made before the upgrade"), "{error}");
    assert!(fs::read(folder.path()).unwrap() == before, "untouched");

    folder.raw().pragma_update(None, "user_version", newest).unwrap();
    drop(folder.open());
}

#[test]
fn foreign_file_is_refused_and_unchanged() {
    type Make = fn(&DatabaseFolder);
    let foreign: [(&str, Make); 5] = [
        ("text", |folder| fs::write(folder.path(), "Dear diary, today I met a database.\n".repeat(100)).unwrap()),
        ("short text", |folder| fs::write(folder.path(), "x").unwrap()),
        ("tables without an application id", |folder| {
            folder.raw().execute_batch("CREATE TABLE notes (x); INSERT INTO notes VALUES (1)").unwrap();
        }),
        ("another application id", |folder| folder.raw().pragma_update(None, "application_id", 7).unwrap()),
        ("a version without an application id", |folder| folder.raw().pragma_update(None, "user_version", 1).unwrap()),
    ];
    for (what, make) in foreign {
        let folder = DatabaseFolder::new();
        make(&folder);
        let before = fs::read(folder.path()).unwrap();
        let permissions = fs::metadata(folder.path()).unwrap().permissions();
        let error = refused(&folder.path());
        assert!(matches!(error, OpenError::Foreign { .. }), "{what}: {error:?}");
        assert!(error.to_string().contains("usher.db is not a database of this program"), "{what}: {error}");
        assert!(fs::read(folder.path()).unwrap() == before, "{what}: changed");
        assert_eq!(fs::metadata(folder.path()).unwrap().permissions(), permissions, "{what}");
    }
}

#[test]
fn interrupted_first_start_is_not_a_foreign_file() {
    let folder = DatabaseFolder::new();
    fs::write(folder.path(), "").unwrap();
    drop(folder.open());

    // In WAL mode, but without a schema: what remains when the first start dies before its first migration.
    let folder = DatabaseFolder::new();
    folder.raw().pragma_update(None, "journal_mode", "wal").unwrap();
    drop(folder.open());
}

#[test]
fn second_process_is_refused_until_the_first_closes() {
    let folder = DatabaseFolder::new();
    let first = folder.open();
    let error = refused(&folder.path());
    assert!(matches!(error, OpenError::InUse { .. }), "{error:?}");
    assert!(error.to_string().contains("in use by another process"), "{error}");
    drop(first);
    drop(folder.open());
}

#[cfg(unix)]
#[test]
fn symlink_to_an_open_database_is_refused() {
    let folder = DatabaseFolder::new();
    let alias = folder.directory.path().join("alias.db");
    std::os::unix::fs::symlink(folder.path(), &alias).unwrap();
    let first = folder.open();
    assert!(matches!(refused(&alias), OpenError::InUse { .. }));
    drop(first);
    drop(open(&alias).unwrap());
    assert!(!folder.directory.path().join("alias.db.lock").exists());
}

#[test]
fn unwritable_path_is_named() {
    let folder = DatabaseFolder::new();
    let missing = folder.directory.path().join("no/such/directory/usher.db");
    let error = refused(&missing);
    assert!(matches!(error, OpenError::File { .. }), "{error:?}");
    assert!(chain(&error).contains("no/such/directory/usher.db"), "{}", chain(&error));

    let error = refused(folder.directory.path());
    assert!(matches!(error, OpenError::File { .. }), "a directory: {error:?}");
    assert!(matches!(refused("".as_ref()), OpenError::File { .. }));
    assert!(matches!(refused("/".as_ref()), OpenError::File { .. }));
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = DatabaseFolder::new();
    let modes = || {
        ["", "-wal", "-shm", ".lock"]
            .map(|suffix| fs::metadata(folder.beside(suffix)).unwrap().permissions().mode() & 0o777)
    };
    let store = folder.open();
    assert_eq!(modes(), [0o600; 4]);
    drop(store);

    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(folder.beside(".lock"), fs::Permissions::from_mode(0o666)).unwrap();
    let store = folder.open();
    assert_eq!(modes(), [0o600; 4]);
    drop(store);
}
