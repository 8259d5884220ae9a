//! The time, in Unix seconds.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use usher_engine::UnixMillis;
use usher_engine::ports::{Clock, SystemClock};

use crate::private_file;

/// Returns the current time in Unix seconds. Tests can supply their own.
#[derive(Clone)]
pub struct UnixClock(pub Arc<dyn Fn() -> u64 + Send + Sync>);

impl UnixClock {
    /// Now, in Unix seconds.
    pub fn now(&self) -> u64 {
        (self.0)()
    }
}

usher_protocol::debug_shows!(UnixClock {});

pub fn system_clock() -> UnixClock {
    UnixClock(Arc::new(|| nostr::Timestamp::now().as_secs()))
}

/// The clock of a wallet: the machine's, unless it moves with a service's.
#[derive(Clone)]
pub struct SharedClock(pub Arc<dyn Clock>);

impl SharedClock {
    /// Now, in Unix seconds.
    pub fn now(&self) -> u64 {
        self.0.now().secs()
    }

    /// Returns after this time.
    pub async fn sleep(&self, duration: Duration) {
        self.0.sleep(duration).await;
    }
}

impl From<SharedClock> for UnixClock {
    fn from(clock: SharedClock) -> Self {
        Self(Arc::new(move || clock.now()))
    }
}

impl Default for SharedClock {
    fn default() -> Self {
        Self(Arc::new(SystemClock))
    }
}

usher_protocol::debug_shows!(SharedClock {});

/// The file in the folder of `usher dev` that says by how many milliseconds its clock is ahead.
const AHEAD: &str = "clock-ahead";

/// By how much the clock of the `usher dev` with this folder is ahead of the machine's.
///
/// # Errors
/// If the file cannot be read, or has no such number.
pub fn ahead(folder: &Path) -> io::Result<Duration> {
    match fs::read_to_string(folder.join(AHEAD)) {
        Ok(text) => text.trim().parse().map(Duration::from_millis).map_err(io::Error::other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Duration::ZERO),
        Err(error) => Err(error),
    }
}

/// Writes down by how much it is ahead. Durable on return: what is stored afterwards may have a later time.
pub fn set_ahead(folder: &Path, ahead: Duration) -> io::Result<()> {
    private_file::replace(&folder.join(AHEAD), ahead.as_millis().to_string().as_bytes())?;
    File::open(folder)?.sync_all()
}

/// The clock of the `usher dev` with this folder, in another program.
#[derive(Debug)]
pub(crate) struct FolderClock(pub(crate) PathBuf);

#[async_trait]
impl Clock for FolderClock {
    fn now(&self) -> UnixMillis {
        SystemClock.now().plus(ahead(&self.0).unwrap_or_default())
    }

    fn monotonic(&self) -> Duration {
        SystemClock.monotonic()
    }

    async fn sleep_until(&self, at: Duration) {
        SystemClock.sleep_until(at).await;
    }
}
