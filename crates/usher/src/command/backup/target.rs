//! The target of a backup, which is written completely or not at all.

use std::fs;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use usher_backup::WriteError;
use usher_engine::UnixMillis;

use super::unfinished::{UNFINISHED, begin};
use crate::command::secret_input::STANDARD;
use crate::failure::Failure;

pub(super) enum Target {
    Standard,
    File(PathBuf),
}

impl Target {
    /// Parses the argument. For a folder, the file is named after the time.
    ///
    /// # Errors
    /// If the file exists, or standard output is a terminal.
    pub(super) fn of(path: &Path, now: UnixMillis) -> Result<Self, Failure> {
        if path.as_os_str() == STANDARD {
            return match io::stdout().is_terminal() {
                true => Err(Failure::usage("standard output is a terminal: name a file, or pipe the backup elsewhere")),
                false => Ok(Self::Standard),
            };
        }
        let path = if path.is_dir() { path.join(name(now)) } else { path.to_owned() };
        match fs::symlink_metadata(&path) {
            Ok(_) => Err(taken(&path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::File(path)),
            Err(error) => Err(failed(&path, &error)),
        }
    }

    /// Writes it, readable only by its owner. Returns the file.
    ///
    /// # Errors
    /// If it cannot be written, or the file was created meanwhile. Nothing is left then.
    pub(super) fn write(
        self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), WriteError>,
    ) -> Result<Option<PathBuf>, Failure> {
        let Self::File(path) = self else {
            write(&mut BufWriter::new(io::stdout().lock()))?;
            return Ok(None);
        };
        let folder = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let _writing = begin(folder)?;
        // With mode 0600 from the start.
        let file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder);
        let mut file = file.map_err(|error| failed(&path, &error))?;
        write(&mut BufWriter::new(file.as_file_mut()))?;
        fail::fail_point!("backup-written", |_| -> Result<Option<PathBuf>, Failure> { std::process::abort() });
        file.as_file().sync_all().map_err(|error| failed(&path, &error))?;
        file.persist_noclobber(&path).map_err(|refused| match refused.error.kind() {
            io::ErrorKind::AlreadyExists => taken(&path),
            _ => failed(&path, &refused.error),
        })?;
        let sync = fs::File::open(folder).and_then(|folder| folder.sync_all());
        sync.map_err(|error| failed(&path, &error))?;
        Ok(Some(path))
    }
}

/// `usher-2026-01-31T12-00-00Z.tar.age`: sorting by name sorts by time.
fn name(now: UnixMillis) -> String {
    let time = i64::try_from(now.secs()).ok().and_then(|secs| chrono::DateTime::from_timestamp(secs, 0));
    format!("usher-{}.tar.age", time.unwrap_or_default().format("%Y-%m-%dT%H-%M-%SZ"))
}

fn taken(path: &Path) -> Failure {
    Failure::said(format!("{} is there already, and is not overwritten", path.display()))
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::said(format!("cannot write {}: {error}", path.display()))
}
