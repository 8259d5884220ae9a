//! Files and folders that are there only while a backup is made.

use std::fs::{self, File};
use std::path::Path;

use tempfile::TempDir;

use crate::failure::Failure;

/// How their names begin.
pub(super) const UNFINISHED: &str = ".usher-backup-";

/// Held while a backup writes into a folder, so that another one does not take its files for leftovers.
pub(super) struct Writing {
    _folder: File,
}

/// Removes what interrupted backups have left in a folder, unless another one writes there now.
///
/// # Errors
/// When the folder cannot be read.
pub(super) fn begin(folder: &Path) -> Result<Writing, Failure> {
    let failed = |error| Failure::said(format!("cannot read the folder {}: {error}", folder.display()));
    let locked = File::open(folder).map_err(failed)?;
    // Alone: nobody is writing, so what is there was left over. The lock ends with the process, however that ends.
    if locked.try_lock().is_ok() {
        for entry in folder.read_dir().map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().as_encoded_bytes().starts_with(UNFINISHED.as_bytes()) {
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                // It may be somebody else's. The next backup tries again.
                let _ = if is_folder { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
            }
        }
    }
    // Waits only while another one removes leftovers. Where a file system has no such locks, nobody removes any.
    let _ = locked.lock_shared();
    Ok(Writing { _folder: locked })
}

/// A folder in the data directory, for the copy of the database: there it is protected as the database is.
pub(super) struct WorkingFolder {
    folder: TempDir,
    _writing: Writing,
}

impl WorkingFolder {
    /// Makes it. It is removed when this is dropped.
    ///
    /// # Errors
    /// When the data directory is not there or cannot be written.
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

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}
