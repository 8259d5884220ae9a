//! The data directory and environment of the process, and the configuration loaded from them.

use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use usher_engine::ports::{Clock as _, SystemClock};

use crate::config::{Config, Loaded, Source, load, report};
use crate::failure::Failure;

/// The source of the configuration: `--data-dir`, else `SERVICE_DATA_DIR`, else `~/.usher`.
///
/// # Errors
/// [`Failure::Configuration`] if there is no data directory.
pub fn source(data_dir: Option<PathBuf>) -> Result<Source, Failure> {
    let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data_dir = data_dir
        .filter(|path| !path.as_os_str().is_empty())
        .or_else(|| given("SERVICE_DATA_DIR"))
        .or_else(|| given("HOME").map(|home| home.join(".usher")))
        .ok_or_else(|| {
            let what = "no data directory: give --data-dir or set SERVICE_DATA_DIR (HOME is not set either)";
            Failure::Configuration(vec![what.to_owned()])
        })?;
    Ok(Source {
        data_dir: std::path::absolute(data_dir)?,
        variables: std::env::vars_os().collect(),
        now: SystemClock.now(),
    })
}

/// Time limit for reading the configuration and the files it names; only an unresponsive file system takes longer.
pub const READ_WITHIN: Duration = Duration::from_secs(10);

/// Loads the configuration within [`READ_WITHIN`].
///
/// # Errors
/// If it takes longer. The reading thread keeps running.
pub fn load_in_time(source: Source) -> Result<(Loaded, Source), Failure> {
    Loading::begin(source)?.wait()
}

/// A configuration that is being loaded.
pub struct Loading(mpsc::Receiver<(Loaded, Source)>);

impl Loading {
    /// Begins to load it, on a thread.
    ///
    /// # Errors
    /// If the operating system gives no thread.
    pub fn begin(source: Source) -> Result<Self, Failure> {
        let (sender, loaded) = mpsc::sync_channel(1);
        thread::Builder::new().name("configuration".to_owned()).spawn(move || {
            let loaded = load(&source);
            // An error means that the receiver is gone.
            drop(sender.send((loaded, source)));
        })?;
        Ok(Self(loaded))
    }

    /// As [`load_in_time`].
    pub fn wait(self) -> Result<(Loaded, Source), Failure> {
        self.0.recv_timeout(READ_WITHIN).map_err(|_| Failure::said(too_slow()))
    }
}

/// The configuration.
///
/// # Errors
/// [`Failure::Configuration`] with its errors, if it has some.
pub fn config_of(loaded: &Loaded) -> Result<&Config, Failure> {
    loaded.config.as_ref().ok_or_else(|| Failure::Configuration(report::problems(loaded)))
}

/// The message for a configuration that was not read in time.
pub fn too_slow() -> String {
    format!(
        "the configuration or a file it names could not be read within {} s: does its file system respond?",
        READ_WITHIN.as_secs()
    )
}
