//! Copies the write-ahead log into the database while the writer goes on.
//!
//! Only the writer can begin the log anew, once all of it is copied: it does so when the log is large, and copies what is
//! left. A commit would wait long if that were the whole log.

use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use rusqlite::{Connection, OpenFlags};

use super::open::{connect, sync_copies};

/// Jobs after which the log is copied again: the writer copies the pages of so many in milliseconds.
const EVERY: usize = 512;

pub(crate) struct Checkpoints {
    path: PathBuf,
    file: Arc<File>,
    /// Committed since the last copy began.
    jobs: usize,
    /// Started when there is something to copy.
    thread: Option<CopyingThread>,
}

struct CopyingThread {
    wake: SyncSender<()>,
    thread: JoinHandle<()>,
}

impl Checkpoints {
    /// Of the database `file` at `path`. It must be closed after all connections: their locks on it end with it (`fcntl`).
    pub(crate) const fn of(path: PathBuf, file: Arc<File>) -> Self {
        Self { path, file, jobs: 0, thread: None }
    }

    /// Counts committed jobs.
    pub(crate) fn committed(&mut self, jobs: usize) {
        self.jobs += jobs;
        if self.jobs < EVERY {
            return;
        }
        self.jobs = 0;
        if self.thread.is_none() {
            let thread = CopyingThread::start(&self.path, Arc::clone(&self.file));
            // Without it, the writer copies the whole log.
            self.thread =
                thread.inspect_err(|error| tracing::warn!(%error, "no thread copies the database's log")).ok();
        }
        // If it was woken and has not begun, that copy has these jobs, too.
        if let Some(thread) = &self.thread {
            let _ = thread.wake.try_send(());
        }
    }

    /// Ends the thread after its copy, and closes its connection.
    pub(crate) fn close(self) {
        let Some(CopyingThread { wake, thread }) = self.thread else { return };
        drop(wake);
        if thread.join().is_err() {
            tracing::error!("the thread that copies the database's log panicked");
        }
    }
}

impl CopyingThread {
    fn start(path: &Path, file: Arc<File>) -> Result<Self, Box<dyn Error>> {
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        sync_copies(&connection)?;
        let (wake, woken) = sync_channel(1);
        let work = move || woken.iter().for_each(|()| copy(&connection, &file));
        let thread = thread::Builder::new().name("store-log".to_owned()).spawn(work)?;
        Ok(Self { wake, thread })
    }
}

/// Copies what no reader needs in the log; waits for nobody.
fn copy(connection: &Connection, file: &File) {
    // What is not copied or not on disk is in the log, and copied later.
    if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
        tracing::debug!(%error, "the database's log could not be copied");
    }
    // SQLite does it only for the whole log: the writer would wait for all copies of the log.
    if let Err(error) = file.sync_data() {
        tracing::debug!(%error, "the database could not be synchronised");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::file::DatabaseFile;
    use crate::sqlite::{SqliteOptions, open};

    #[test]
    fn log_is_copied_after_some_jobs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("usher.db");
        let file = DatabaseFile::claim(&path).unwrap();
        let synchronised = Arc::new(File::open(&path).unwrap());
        // The schema is in its log.
        let writer = open::writer(&file, &SqliteOptions::default()).unwrap();
        let size = || std::fs::metadata(&path).unwrap().len();
        let before = size();
        let mut checkpoints = Checkpoints::of(path.clone(), synchronised);
        checkpoints.committed(EVERY - 1);
        assert!(checkpoints.thread.is_none());
        checkpoints.committed(1);
        checkpoints.close();
        assert!(size() > before, "{before} bytes");
        let copied = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let (busy, all, done): (i64, i64, i64) =
            writer.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], copied).unwrap();
        assert_eq!((busy, all), (0, done));
    }
}
