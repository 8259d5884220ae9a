//! `usher backup`: everything that the service needs, in one file. For the reverse, see `command/restore.rs`.

mod contents;
pub(super) mod names;
mod target;
mod unfinished;

use std::path::PathBuf;

use usher_backup::{Hashed, Protection};
use usher_engine::ports::{Clock as _, SystemClock};

use self::target::Target;
use self::unfinished::WorkingFolder;
use super::environment::{config_of, load_in_time, source};
use super::secret_input::{ask_passphrase, passphrase};
use crate::cli::BackupCommand;
use crate::failure::Failure;
use crate::last_backup;
use crate::output::tell;

pub(crate) fn run(command: &BackupCommand, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    let (loaded, source) = load_in_time(source(data_dir)?)?;
    let config = config_of(&loaded)?;
    let now = SystemClock.now();
    let target = Target::of(&command.file, now)?;
    let protection = protection(command)?;
    let working = WorkingFolder::make(&source.data_dir)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (description, files) =
        runtime.block_on(contents::collect(config, &loaded, &source, working.path(), now.secs()))?;
    let count = files.len();
    let mut sha256 = String::new();
    let path = target.write(|out| {
        sha256 = usher_backup::write(Hashed::new(out), &protection, description, files)?.sha256();
        Ok(())
    })?;
    last_backup::record(&source.data_dir);
    if let Some(path) = path {
        tell(&format!("usher: backed up {count} files to {}", path.display()));
    }
    tell(&format!("usher: SHA-256 {sha256}: keep it elsewhere, `usher restore --sha256` checks it"));
    if config.database.url.is_some() {
        tell(
            "usher: the database is not part of it: back up PostgreSQL with pg_dump, and keep both (docs/instances.md, Back up)",
        );
    }
    Ok(())
}

fn protection(command: &BackupCommand) -> Result<Protection, Failure> {
    const ADVICE: &str =
        "say how to encrypt the backup: --passphrase-file FILE, or --recipient AGE_PUBLIC_KEY (or --unencrypted)";
    if command.unencrypted {
        return Ok(Protection::None);
    }
    if !command.recipient.is_empty() {
        let unusable = |error| Failure::usage(format!("--recipient: {error}"));
        return Protection::of_recipients(&command.recipient).map_err(unusable);
    }
    let passphrase = match &command.passphrase_file {
        Some(path) => passphrase(path)?,
        None => ask_passphrase(true, ADVICE)?,
    };
    Ok(Protection::Passphrase(passphrase))
}
