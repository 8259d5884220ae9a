//! Logging.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal as _};

use tracing::{Level, Metadata};
use tracing_subscriber::filter::{FilterFn, LevelFilter, filter_fn};
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Registry, fmt, reload};

use crate::config::setting::{FilterError, LogFormat, parse_filter};
use crate::failure::Failure;

/// The destination of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Standard output, as containers and service managers expect it.
    Stdout,
    /// Standard error, if standard output has another use.
    Stderr,
}

/// The running log, whose filter can be changed.
#[derive(Clone)]
pub struct LogControl {
    filter: reload::Handle<EnvFilter, Registry>,
    usual: &'static str,
}

/// Starts logging with the filter `RUST_LOG`, else `configured` (`log.level`), else `usual`. An invalid `RUST_LOG` is
/// ignored with a warning.
///
/// # Errors
/// If logging has already been started.
pub fn start(
    format: LogFormat,
    output: Output,
    usual: &'static str,
    configured: Option<&str>,
) -> Result<LogControl, Failure> {
    let (filter, error) = choose(rust_log(), configured, usual);
    let (writer, terminal) = match output {
        Output::Stdout => (BoxMakeWriter::new(io::stdout), io::stdout().is_terminal()),
        Output::Stderr => (BoxMakeWriter::new(io::stderr), io::stderr().is_terminal()),
    };
    let colours = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let (filter, handle) = reload::Layer::new(filter);
    let registry = tracing_subscriber::registry().with(filter).with(without_foreign_bytes());
    let lines = fmt::layer().with_writer(writer).with_ansi(colours);
    // Failed writes (a full disk, a closed pipe) are not reported on standard error: that would panic if it failed too,
    // and end the service.
    let lines = lines.log_internal_errors(false);
    match format {
        LogFormat::Text => registry.with(lines).try_init(),
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).try_init(),
    }
    .map_err(Failure::from)?;
    limit_log_crate();
    if let Some(error) = error {
        tracing::warn!("RUST_LOG is ignored: {error}");
    }
    Ok(LogControl { filter: handle, usual })
}

impl LogControl {
    /// Changes the filter to `configured`, or the default; `RUST_LOG` keeps precedence. Returns which one applies.
    ///
    /// # Errors
    /// If the log has ended, which only happens with the process.
    pub fn change(&self, configured: Option<&str>) -> Result<Precedence, Failure> {
        let asked = rust_log();
        let precedence = if asked.is_some() { Precedence::RustLog } else { Precedence::Configuration };
        let (filter, _) = choose(asked, configured, self.usual);
        self.filter.reload(filter)?;
        limit_log_crate();
        Ok(precedence)
    }
}

/// The source of the filter in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precedence {
    /// The environment variable, which cannot change while the process runs.
    RustLog,
    /// `log.level`, or its default.
    Configuration,
}

fn rust_log() -> Option<OsString> {
    std::env::var_os("RUST_LOG").filter(|asked| !asked.is_empty())
}

/// The filter in force, and the error in `RUST_LOG`, if any.
fn choose(asked: Option<OsString>, configured: Option<&str>, usual: &str) -> (EnvFilter, Option<FilterError>) {
    // The configured filter was validated when it was read.
    let otherwise = || configured.and_then(|text| parse_filter(text).ok()).unwrap_or_else(|| EnvFilter::new(usual));
    match asked.map(|asked| read(&asked)) {
        Some(Ok(filter)) => (filter, None),
        Some(Err(error)) => (otherwise(), Some(error)),
        None => (otherwise(), None),
    }
}

/// Keeps bytes of requests, responses and frames out of the log at any level.
///
/// Libraries log these at `trace`: the WebSocket library whole frames (such as `auth` commands with tokens) and upgrade
/// requests with headers, the TLS library session tickets. Our own crates log no secret at any level.
fn without_foreign_bytes() -> FilterFn<fn(&Metadata<'_>) -> bool> {
    filter_fn(|metadata| *metadata.level() <= Level::DEBUG || is_ours(metadata.target()))
}

fn is_ours(target: &str) -> bool {
    let name = target.split("::").next().unwrap_or_default();
    name == "usher" || name.starts_with("usher_")
}

/// Sets the level of the crate `log`, used by some libraries; otherwise it is set only once, at the start. None of
/// those libraries is ours: see [`without_foreign_bytes`].
fn limit_log_crate() {
    let wanted = match LevelFilter::current().into_level() {
        None => log::LevelFilter::Off,
        Some(Level::ERROR) => log::LevelFilter::Error,
        Some(Level::WARN) => log::LevelFilter::Warn,
        Some(Level::INFO) => log::LevelFilter::Info,
        Some(_) => log::LevelFilter::Debug,
    };
    log::set_max_level(wanted);
}

fn read(asked: &OsStr) -> Result<EnvFilter, FilterError> {
    parse_filter(asked.to_str().ok_or(FilterError::Encoding)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_sense_is_taken_and_what_does_not_is_told() {
        for asked in
            ["info", "WARN", "off", "3", "info,hyper=warn", "usher", "rustls,error", "warn,usher[request{x=y}]=debug"]
        {
            assert!(read(OsStr::new(asked)).is_ok(), "{asked}");
        }
        for (asked, error) in [
            ("usher=loud", FilterError::Form),
            ("=", FilterError::Form),
            ("info,usher_relays=debugg", FilterError::Form),
            ("inof", FilterError::Level("info")),
            ("warning", FilterError::Level("warn")),
            ("hyper=warn, Debugg", FilterError::Level("debug")),
            ("errors", FilterError::Level("error")),
        ] {
            assert_eq!(read(OsStr::new(asked)).err(), Some(error), "{asked}");
        }
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt as _;
            assert_eq!(read(OsStr::from_bytes(b"\xff")).err(), Some(FilterError::Encoding));
        }
    }

    #[test]
    fn rust_log_comes_first_then_the_configuration_then_the_usual() {
        let chosen = |asked: Option<&str>, configured| {
            let (filter, error) = choose(asked.map(OsString::from), configured, "info");
            (filter.to_string(), error)
        };
        assert_eq!(chosen(None, None), ("info".to_owned(), None));
        assert_eq!(chosen(None, Some("warn")), ("warn".to_owned(), None));
        assert_eq!(chosen(Some("debug"), Some("warn")), ("debug".to_owned(), None));
        assert_eq!(chosen(Some("="), Some("warn")), ("warn".to_owned(), Some(FilterError::Form)));
    }

    #[test]
    fn only_our_own_crates_are_ours() {
        for (target, ours) in [
            ("usher", true),
            ("usher::service", true),
            ("usher_relays::protocol", true),
            ("ushers::x", false),
            ("tungstenite::protocol", false),
            ("reqwest", false),
            ("", false),
        ] {
            assert_eq!(is_ours(target), ours, "{target}");
        }
    }
}
