//! Logging.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use crate::config::setting::LogFormat;
use crate::failure::Failure;

/// Where the log goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Standard output, as containers and service managers expect it.
    Stdout,
    /// Standard error, when standard output is for something else.
    Stderr,
}

/// Starts logging: what `RUST_LOG` says, by default `level` and above.
///
/// # Errors
/// When logging has been started before.
pub fn start(format: LogFormat, output: Output, level: LevelFilter) -> Result<(), Failure> {
    let filter = match std::env::var("RUST_LOG") {
        Ok(asked) if !asked.is_empty() => EnvFilter::builder().parse_lossy(asked),
        _ => EnvFilter::default().add_directive(level.into()),
    };
    let (writer, terminal) = match output {
        Output::Stdout => (BoxMakeWriter::new(io::stdout), io::stdout().is_terminal()),
        Output::Stderr => (BoxMakeWriter::new(io::stderr), io::stderr().is_terminal()),
    };
    let colours = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(colours);
    match format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    }
    .map_err(Failure::Other)
}
