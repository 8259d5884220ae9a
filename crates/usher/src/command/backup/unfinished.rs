//! Temporary files and folders of a backup.

use std::fs::{self, File};
use std::path::Path;

use tempfile::TempDir;

use crate::failure::Failure;

/// Prefix of their names.
pub(super) const UNFINISHED: &str = ".usher-backup-";

/// Held while a backup writes into a folder, so that another one does not remove its files as leftovers.
pub(super) struct Writing {
    _folder: File,
}

/// Removes leftovers of interrupted backups in a folder, unless another backup is writing there.
pub(super) fn begin(folder: &Path) -> Result<Writing, Failure> {
    let failed = |error| Failure::said(format!("cannot read the folder {}: {error}", folder.display()));
    let locked = File::open(folder).map_err(failed)?;
    // No backup is writing, so existing files are leftovers. The lock ends with the process.
    if locked.try_lock().is_ok() {
        for entry in folder.read_dir().map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().as_encoded_bytes().starts_with(UNFINISHED.as_bytes()) {
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                // It may belong to somebody else. The next backup retries.
                let _ = if is_folder { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
            }
        }
    }
    // Waits only while another backup removes leftovers. On file systems without such locks, nothing is removed.
    let _ = locked.lock_shared();
    Ok(Writing { _folder: locked })
}

/// A folder for the copy of the database in the data directory, with the same protection.
pub(super) struct WorkingFolder {
    folder: TempDir,
    _writing: Writing,
}

impl WorkingFolder {
    /// Creates it. Dropping this removes it.
    pub(super) fn make(data_dir: &Path) -> Result<Self, Failure> {
        let writing = begin(data_dir)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(UNFINISHED);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let folder = builder
            .tempdir_in(data_dir)
            .map_err(|error| Failure::said(format!("cannot write to {}: {error}", data_dir.display())))?;
        Ok(Self { folder, _writing: writing })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}
