//! `usher restore`: a backup becomes a data directory.
//!
//! Everything is first written into a folder within the data directory, and verified there. A service refuses a data
//! directory with this folder, so it never runs on an incomplete restore.
//!
//! | killed | state |
//! | --- | --- |
//! | during verification | the data directory has only this folder, which the next restore removes |
//! | while moving the files | files may be in both; the next restore asks to empty the data directory |

mod advice;
mod staging;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use usher_backup::{DatabaseKind, Hashed, Key, Manifest};
use usher_store::{DatabaseInspection, Integrity, known_schema_version};

use self::staging::Staging;
use super::backup::names::{CHANNELS, CONFIGURATION, ENVIRONMENT};
use super::environment::source;
use super::secret_input::{STANDARD, ask_passphrase, passphrase};
use crate::cli::RestoreCommand;
use crate::config::keys;
use crate::config::text_file::read_file;
use crate::failure::Failure;
use crate::output::tell;

/// Time limit of the check of the whole database.
const CHECK_WITHIN: Duration = Duration::from_secs(3600);

pub(crate) fn run(command: &RestoreCommand, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    let data_dir = source(data_dir)?.data_dir;
    staging::check_empty(&data_dir)?;
    let is_standard = command.file.as_os_str() == STANDARD;
    if is_standard && command.passphrase_file.as_ref().is_some_and(|path| path.as_os_str() == STANDARD) {
        return Err(Failure::usage("standard input cannot be both the backup and the passphrase"));
    }
    let input: Box<dyn Read> = if is_standard {
        Box::new(io::stdin().lock())
    } else {
        let path = &command.file;
        Box::new(File::open(path).map_err(|error| Failure::said(format!("cannot read {}: {error}", path.display())))?)
    };
    let mut input = Hashed::new(BufReader::new(input));
    let key = key(command, is_standard)?;

    let mut staging = None;
    let manifest = usher_backup::read(&mut input, &key, |manifest| {
        check(manifest, &data_dir)?;
        let made = Staging::make(&data_dir)?;
        let folder = made.path().to_owned();
        staging = Some(made);
        Ok::<_, Failure>(folder)
    })?;
    let Some(staging) = staging else { return Err(Failure::said("nothing was restored")) };
    match &command.sha256 {
        Some(expected) => {
            let found = input.sha256();
            if !found.eq_ignore_ascii_case(expected) {
                return Err(Failure::refused(format!("the SHA-256 of the backup is {found}, not that of --sha256")));
            }
        }
        None if command.identity_file.is_some() => {
            tell("usher: whoever knows the recipient could have made this backup: --sha256 shows that it is yours");
        }
        None => {}
    }
    let mints = check_database(&manifest, staging.path())?;
    fail::fail_point!("restore-verified", |_| -> Result<(), Failure> { std::process::abort() });
    staging.finish()?;
    for line in advice::lines(&manifest, &data_dir, &mints) {
        tell(&format!("usher: {line}"));
    }
    Ok(())
}

fn key(command: &RestoreCommand, is_standard: bool) -> Result<Key, Failure> {
    const ADVICE: &str =
        "say how to open the backup: --passphrase-file FILE or --identity-file FILE (or --unencrypted)";
    if command.unencrypted {
        return Ok(Key::None);
    }
    if let Some(path) = &command.identity_file {
        let failed = |error: &dyn std::fmt::Display| Failure::said(format!("cannot use {}: {error}", path.display()));
        let text = read_file(path).map_err(|error| failed(&error))?;
        return Key::of_identity_file(&text).map_err(|error| failed(&error));
    }
    match &command.passphrase_file {
        Some(path) => Ok(Key::Passphrase(passphrase(path)?)),
        None if is_standard => Err(Failure::usage(ADVICE)),
        None => Ok(Key::Passphrase(ask_passphrase(false, ADVICE)?)),
    }
}

/// Refuses what would fail later.
fn check(manifest: &Manifest, data_dir: &Path) -> Result<(), Failure> {
    let description = &manifest.description;
    if let DatabaseKind::Sqlite { schema_version, .. } = description.database
        && schema_version > known_schema_version()
    {
        return Err(Failure::refused(format!(
            "the database of the backup has schema version {schema_version}, made by usher {} ({}); this program knows \
             versions up to {}: restore it with that version or a newer one",
            advice::shown(&description.version),
            advice::shown(&description.commit),
            known_schema_version()
        )));
    }
    check_names(manifest)?;
    staging::check_space(data_dir, manifest.total_bytes())
}

/// Refuses files that `usher backup` does not create: anybody who knows a recipient can encrypt to it.
fn check_names(manifest: &Manifest) -> Result<(), Failure> {
    let database = match &manifest.description.database {
        DatabaseKind::Sqlite { file, .. } => Some(file),
        DatabaseKind::Postgresql => None,
    };
    let mut settings = BTreeMap::new();
    for file in &manifest.files {
        let is_expected = match file.setting.as_deref() {
            None => [CONFIGURATION, ENVIRONMENT, CHANNELS].contains(&file.name.as_str()),
            Some("database.path") => Some(&file.name) == database,
            Some(setting) => {
                // A file may be named both by the configuration and by the environment, which overrides it.
                let count = settings.entry(setting).or_insert(0);
                *count += 1;
                *count <= 2
                    && (setting == "database.trusted_certificates"
                        || keys::find(setting).is_some_and(|setting| setting.secret))
            }
        };
        if !is_expected {
            let name = advice::shown(&file.name);
            return Err(Failure::refused(format!(
                "the backup has the file {name:?}, which no backup of this program has"
            )));
        }
    }
    Ok(())
}

/// Checks the whole restored database. Returns the mints at which it has tickets.
fn check_database(manifest: &Manifest, folder: &Path) -> Result<Vec<String>, Failure> {
    let DatabaseKind::Sqlite { file, .. } = &manifest.description.database else { return Ok(Vec::new()) };
    let database = DatabaseInspection::open(&folder.join(file)).map_err(Failure::refused)?;
    let missing = database.missing()?;
    if !missing.is_empty() {
        return Err(Failure::refused(format!(
            "the database of the backup is incomplete: {} missing",
            missing.join(", ")
        )));
    }
    if let Integrity::Damaged(problems) = database.integrity(CHECK_WITHIN)? {
        return Err(Failure::refused(format!("the database of the backup is damaged: {}", problems.join("; "))));
    }
    let mut mints: Vec<_> =
        database.ticket_balances()?.into_iter().map(|balance| balance.mint_url.to_string()).collect();
    mints.sort();
    mints.dedup();
    Ok(mints)
}
