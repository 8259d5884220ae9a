//! When the last backup was made.

use std::fs::File;
use std::path::Path;

use crate::output::tell;

/// A file in the data directory, last modified when the last backup was made.
pub(crate) const LAST_BACKUP: &str = "last-backup";

/// Records that a backup was made now. If that fails, a line for the operator says so: the backup is good all the same.
pub(crate) fn record(data_dir: &Path) {
    let path = data_dir.join(LAST_BACKUP);
    // It may belong to somebody else, who made the backup before.
    let _ = std::fs::remove_file(&path);
    if let Err(error) = File::create(&path) {
        tell(&format!("usher: cannot note the time of the backup in {}: {error}", path.display()));
    }
}
