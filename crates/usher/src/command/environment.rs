//! What the process was given: data directory and environment, and the configuration they lead to.

use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use usher_engine::ports::{Clock as _, SystemClock};

use crate::config::{Loaded, Source, load};
use crate::failure::Failure;

/// From what to load the configuration: `--data-dir`, else `SERVICE_DATA_DIR`, else `~/.usher`.
///
/// # Errors
/// [`Failure::Configuration`] when there is no data directory.
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

/// How long the configuration and the files it names may take to be read: only a file system that does not respond takes
/// longer.
pub const READ_WITHIN: Duration = Duration::from_secs(10);

/// Loads the configuration within [`READ_WITHIN`].
///
/// # Errors
/// When it takes longer. The thread that reads is left behind.
pub fn load_in_time(source: Source) -> Result<(Loaded, Source), Failure> {
    let (sender, loaded) = mpsc::sync_channel(1);
    thread::Builder::new().name("configuration".to_owned()).spawn(move || {
        let loaded = load(&source);
        // An error means that nobody waits any more.
        drop(sender.send((loaded, source)));
    })?;
    loaded.recv_timeout(READ_WITHIN).map_err(|_| Failure::said(too_slow()))
}

/// What is said of a configuration that was not read in time.
pub fn too_slow() -> String {
    format!(
        "the configuration or a file it names could not be read within {} s: does its file system respond?",
        READ_WITHIN.as_secs()
    )
}
