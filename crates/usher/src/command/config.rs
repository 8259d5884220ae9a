//! `usher config …`

use std::path::PathBuf;

use super::environment::source;
use crate::cli::ConfigCommand;
use crate::config::{load, reference, report};
use crate::failure::Failure;
use crate::output::{tell, write};

/// Runs it.
///
/// # Errors
/// [`Failure::Configuration`] when the configuration has mistakes.
pub fn run(command: &ConfigCommand, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    match command {
        ConfigCommand::Default => write(&reference::text())?,
        ConfigCommand::Check => {
            let source = source(data_dir)?;
            let loaded = load(&source);
            write(&report::in_force(&source, &loaded))?;
            if loaded.config.is_none() {
                return Err(Failure::Configuration(report::problems(&loaded)));
            }
            for line in report::problems(&loaded) {
                tell(&format!("usher: {line}"));
            }
        }
    }
    Ok(())
}
