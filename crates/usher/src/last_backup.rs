//! When the last backup was made.

use std::fs::{File, metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use usher_engine::UnixMillis;

use crate::output::tell;

/// A file in the data directory, last modified when the last backup was made.
const LAST_BACKUP: &str = "last-backup";

/// Records that a backup was made now. If that fails, a line for the operator says so: the backup is good all the same.
pub(crate) fn record(data_dir: &Path) {
    let path = data_dir.join(LAST_BACKUP);
    // It may belong to somebody else, who made the backup before.
    let _ = std::fs::remove_file(&path);
    if let Err(error) = File::create(&path) {
        tell(&format!("usher: cannot note the time of the backup in {}: {error}", path.display()));
    }
}

/// When the last backup was made; `None` if `usher backup` has made none.
pub(crate) async fn made_at(data_dir: PathBuf) -> io::Result<Option<UnixMillis>> {
    let path = data_dir.join(LAST_BACKUP);
    let modified = tokio::task::spawn_blocking(move || metadata(path).and_then(|file| file.modified())).await;
    match modified? {
        Ok(time) => Ok(Some(UnixMillis::default().plus(time.duration_since(UNIX_EPOCH).unwrap_or_default()))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
