//! `usher notices …`: tests where notices are sent.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::environment::{config_of, load_in_time, source};
use crate::cli::NoticesCommand;
use crate::config::setting::LogFormat;
use crate::failure::Failure;
use crate::logging::{self, Output};
use crate::notices;
use crate::output::write;

pub(crate) fn run(NoticesCommand::Test: &NoticesCommand, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    let (loaded, _) = load_in_time(source(data_dir)?)?;
    let config = config_of(&loaded)?;
    logging::start(LogFormat::Text, Output::Stderr, "off", None)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let sent = runtime.block_on(notices::test(config, config.nostr.relays.addresses().to_vec()))?;
    let mut text = String::new();
    for (target, outcome) in &sent {
        let outcome =
            outcome.as_ref().map_or_else(|reason| format!("not accepted: {reason}"), |()| "accepted".to_owned());
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{target}: {outcome}");
    }
    write(&text)?;
    if sent.iter().all(|(_, outcome)| outcome.is_ok()) { Ok(()) } else { Err(Failure::reported()) }
}
