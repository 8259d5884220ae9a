//! The database file, used by one process and readable only by its owner.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::open_error::OpenError;

/// How long a start waits for the lock: longer than an inspection holds it.
const LOCK_PATIENCE: Duration = Duration::from_millis(500);

/// A database file opened exclusively by this process.
pub(crate) struct DatabaseFile {
    /// Absolute, without symbolic links, so that two names of one file share the lock. (SQLite would also read a
    /// relative path that begins with `file:` as a URI.)
    path: PathBuf,
    /// Locked while open; the operating system releases it when the process ends.
    _lock: File,
}

impl DatabaseFile {
    /// [Locks](Self::lock) the file, and creates it if it is missing.
    ///
    /// # Errors
    /// [`OpenError::InUse`], [`OpenError::Foreign`], [`OpenError::File`].
    pub(crate) fn claim(path: &Path) -> Result<Self, OpenError> {
        let claimed = Self::lock(path)?;
        let path = claimed.path();
        let failed = |source| OpenError::File { path: path.to_owned(), source };
        // The file must exist first, because SQLite copies its permissions to the side files. Requesting write access
        // fails now rather than at the first commit.
        let mut file = create(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
        }
        if !is_empty_or_database(&mut file).map_err(failed)? {
            return Err(OpenError::Foreign { path: path.to_owned() });
        }
        Ok(claimed)
    }

    /// Locks the path for this process, whether or not the file exists.
    ///
    /// The lock is a separate file, because closing any handle of the database itself would drop SQLite's locks on it.
    ///
    /// # Errors
    /// [`OpenError::InUse`], [`OpenError::File`].
    pub(crate) fn lock(path: &Path) -> Result<Self, OpenError> {
        let failed = |source| OpenError::File { path: path.to_owned(), source };
        let path = resolve(path).map_err(failed)?;
        let lock = owner_only().create(true).truncate(false).open(beside(&path, ".lock")).map_err(failed)?;
        let began = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                // `is_in_use` holds it briefly.
                Err(TryLockError::WouldBlock) if began.elapsed() < LOCK_PATIENCE => thread::sleep(LOCK_PATIENCE / 10),
                Err(TryLockError::WouldBlock) => return Err(OpenError::InUse { path }),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
        }
        Ok(Self { path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Restricts the database and its side files to their owner: they contain session tokens and ecash.
    pub(crate) fn restrict(&self) -> Result<(), OpenError> {
        for suffix in ["", "-wal", "-shm", ".lock"] {
            let file = beside(&self.path, suffix);
            match owner_only_permissions(&file) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                result => result.map_err(|source| OpenError::File { path: file, source })?,
            }
        }
        Ok(())
    }
}

/// Whether a process has the database at this path open; `None` if that cannot be determined.
pub(crate) fn is_in_use(path: &Path) -> Option<bool> {
    let lock = match resolve(path).and_then(|path| File::open(beside(&path, ".lock"))) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(false),
        Err(_) => return None,
    };
    // Released when the handle is closed.
    match lock.try_lock_shared() {
        Ok(()) => Some(false),
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}

/// Opens or creates a file that only its owner can read.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    owner_only().create(true).truncate(false).open(path)
}

pub(crate) fn is_database(path: &Path) -> io::Result<bool> {
    is_empty_or_database(&mut File::open(path)?)
}

/// SQLite would treat a file of one byte as empty.
fn is_empty_or_database(file: &mut File) -> io::Result<bool> {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    let mut start = Vec::new();
    file.take(MAGIC.len() as u64).read_to_end(&mut start)?;
    Ok(start.is_empty() || start == MAGIC)
}

/// The absolute path, also of a missing file.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            let directory = match path.parent() {
                Some(parent) if parent != Path::new("") => parent,
                _ => Path::new("."),
            };
            Ok(fs::canonicalize(directory)?.join(name))
        }
        result => result,
    }
}

pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn owner_only() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(unix)]
fn owner_only_permissions(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    let mut permissions = fs::metadata(path)?.permissions();
    if permissions.mode() & 0o077 != 0 {
        permissions.set_mode(0o600);
        fs::set_permissions(path, permissions)?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn owner_only_permissions(_path: &Path) -> io::Result<()> {
    Ok(())
}
