//! `usher config …`

use std::path::PathBuf;

use super::environment::{load_in_time, source};
use crate::cli::ConfigCommand;
use crate::config::{reference, report};
use crate::failure::Failure;
use crate::output::{tell, write};

pub(crate) fn run(command: &ConfigCommand, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    match command {
        ConfigCommand::Default => write(&reference::text())?,
        ConfigCommand::Check => {
            let (loaded, source) = load_in_time(source(data_dir)?)?;
            write(&report::in_force(&source, &loaded))?;
            if loaded.config.is_none() {
                let first_step = report::first_step(&source, &loaded);
                return Err(Failure::Configuration(report::problems(&loaded).into_iter().chain(first_step).collect()));
            }
            for line in report::problems(&loaded) {
                tell(&format!("usher: {line}"));
            }
        }
    }
    Ok(())
}
