//! The folder in which a backup is verified before its files are moved.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::service_lifecycle::make_data_dir;
use crate::unusable_data::STAGING;

/// A folder in the root of a new file system.
const LOST_AND_FOUND: &str = "lost+found";

/// Disk space left free, in bytes.
const RESERVE: u64 = 16 * 1024 * 1024;

/// Checks that the data directory is empty.
pub(super) fn check_empty(data_dir: &Path) -> Result<(), Failure> {
    let shown = data_dir.display();
    let failed = |error| Failure::said(format!("cannot read {shown}: {error}"));
    let entries = match data_dir.read_dir() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(failed)?,
    };
    let (mut has_staging, mut other) = (false, None);
    for entry in entries {
        match entry.map_err(failed)?.file_name() {
            name if name == STAGING => has_staging = true,
            name if name == LOST_AND_FOUND => {}
            name => other = Some(name.to_string_lossy().into_owned()),
        }
    }
    match (other, has_staging) {
        (None, _) => Ok(()),
        (Some(_), true) => Err(Failure::said(format!(
            "a restore into {shown} was interrupted when it had verified the backup: remove everything in this folder, then \
             run `usher restore` again"
        ))),
        (Some(name), false) => Err(Failure::said(format!(
            "{shown} is not empty (it has {name:?}): a backup is restored into an empty or missing folder only"
        ))),
    }
}

/// Checks that a backup fits on the disk.
///
/// # Errors
/// If it does not, or the free space is unknown.
pub(super) fn check_space(data_dir: &Path, bytes: u64) -> Result<(), Failure> {
    let there = data_dir.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    let disk = rustix::fs::statvfs(there).map_err(io::Error::from)?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if bytes.saturating_add(RESERVE) > free {
        return Err(Failure::said(format!(
            "the backup has {bytes} bytes, and the disk of {} has {free} bytes free",
            data_dir.display()
        )));
    }
    Ok(())
}

pub(super) struct Staging {
    data_dir: PathBuf,
    folder: PathBuf,
    /// Locked while open; a concurrent restore is refused.
    _lock: File,
    /// Whether the data directory was created.
    made_data_dir: bool,
    is_kept: bool,
}

impl Staging {
    /// Creates it, and the data directory if missing. Removes leftovers of an interrupted restore.
    ///
    /// # Errors
    /// If it cannot be created, or another restore is running.
    pub(super) fn make(data_dir: &Path) -> Result<Self, Failure> {
        let made_data_dir = !data_dir.exists();
        make_data_dir(data_dir)?;
        // The folder may belong to somebody else, with write access for us.
        #[cfg(unix)]
        let _ = fs::set_permissions(data_dir, std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let folder = data_dir.join(STAGING);
        let failed = |error: io::Error| Failure::said(format!("cannot write {}: {error}", folder.display()));
        let lock = File::open(data_dir).map_err(failed)?;
        if lock.try_lock().is_err() {
            return Err(Failure::said(format!("another command is writing into {}", data_dir.display())));
        }
        check_empty(data_dir)?;
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(failed)?;
        }
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder).map_err(failed)?;
        Ok(Self { data_dir: data_dir.to_owned(), folder, _lock: lock, made_data_dir, is_kept: false })
    }

    pub(super) fn path(&self) -> &Path {
        &self.folder
    }

    /// Moves all files to their places.
    ///
    /// # Errors
    /// If a file cannot be moved. The data directory must then be emptied.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        let failed = |path: &Path, error: io::Error| Failure::said(format!("cannot write {}: {error}", path.display()));
        sync_folders(&self.folder).map_err(|error| failed(&self.folder, error))?;
        sync(&self.data_dir).map_err(|error| failed(&self.data_dir, error))?;
        self.is_kept = true;
        for entry in self.folder.read_dir().map_err(|error| failed(&self.folder, error))? {
            let entry = entry.map_err(|error| failed(&self.folder, error))?;
            let place = self.data_dir.join(entry.file_name());
            fs::rename(entry.path(), &place).map_err(|error| failed(&place, error))?;
            fail::fail_point!("restore-moved", |_| -> Result<(), Failure> { std::process::abort() });
        }
        sync(&self.data_dir).map_err(|error| failed(&self.data_dir, error))?;
        // From here on a service may use it.
        fs::remove_dir(&self.folder).map_err(|error| failed(&self.folder, error))?;
        let parent = self.data_dir.parent().unwrap_or(&self.data_dir);
        sync(&self.data_dir).and_then(|()| sync(parent)).map_err(|error| failed(&self.data_dir, error))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        // The next restore removes what remains.
        let _ = fs::remove_dir_all(&self.folder);
        if self.made_data_dir {
            let _ = fs::remove_dir(&self.data_dir);
        }
    }
}

/// Makes the names in a folder and its subfolders durable.
fn sync_folders(folder: &Path) -> io::Result<()> {
    for entry in folder.read_dir()? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    sync(folder)
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
