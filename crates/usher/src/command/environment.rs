//! What the process was given: data directory and environment.

use std::path::PathBuf;

use usher_engine::ports::{Clock as _, SystemClock};

use crate::config::Source;
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
