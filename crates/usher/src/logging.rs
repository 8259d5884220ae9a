//! Logging.

use std::ffi::OsStr;
use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;
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

/// Starts logging: what `RUST_LOG` says, by default `usual`. One that makes no sense is said, and counts as none.
///
/// # Errors
/// When logging has been started before.
pub fn start(format: LogFormat, output: Output, usual: &str) -> Result<(), Failure> {
    let asked = std::env::var_os("RUST_LOG").filter(|asked| !asked.is_empty());
    let (filter, mistake) = match asked.map(|asked| read(&asked)).transpose() {
        Ok(Some(filter)) => (filter, None),
        Ok(None) => (EnvFilter::new(usual), None),
        Err(mistake) => (EnvFilter::new(usual), Some(mistake)),
    };
    let (writer, terminal) = match output {
        Output::Stdout => (BoxMakeWriter::new(io::stdout), io::stdout().is_terminal()),
        Output::Stderr => (BoxMakeWriter::new(io::stderr), io::stderr().is_terminal()),
    };
    let colours = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(colours);
    // A log that cannot be written (a full disk, a reader that has gone) is not complained of on standard error: that panics
    // when it cannot be written either, which ends the service.
    let log = log.log_internal_errors(false);
    match format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    }
    .map_err(Failure::Other)?;
    if let Some(mistake) = mistake {
        tracing::warn!("RUST_LOG is passed over, as if it were `{usual}`: {mistake}");
    }
    Ok(())
}

/// What is wrong with `RUST_LOG`. Does not quote it: it may be anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Mistake {
    #[error("it is not UTF-8")]
    Encoding,
    #[error("it is no list such as `info` or `warn,usher_relays=debug`")]
    Form,
    #[error("where it seems to mean `{0}` it names a part of the program that there is not")]
    Level(&'static str),
}

/// The levels, by the names that are taken for one.
const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

/// How alike a word has to be to a level's name to be meant as one: `inof` and `warning` are, names of libraries are not.
const ALIKE: f64 = 0.85;

fn read(asked: &OsStr) -> Result<EnvFilter, Mistake> {
    let asked = asked.to_str().ok_or(Mistake::Encoding)?;
    let filter = EnvFilter::builder().parse(asked).map_err(|_| Mistake::Form)?;
    // A word alone that is no level is a target to the filter, and all else is then off.
    for word in asked.split(',').map(|directive| directive.trim().to_ascii_lowercase()) {
        let is_level = LEVELS.contains(&word.as_str()) || word.parse::<u8>().is_ok();
        let meant = LEVELS.into_iter().find(|level| strsim::jaro_winkler(&word, level) > ALIKE);
        if let (false, Some(level)) = (is_level, meant) {
            return Err(Mistake::Level(level));
        }
    }
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_sense_is_taken() {
        for asked in [
            "info",
            "WARN",
            "off",
            "3",
            "info,hyper=warn",
            "usher_relays=debug,info",
            "usher",
            "hyper",
            "rustls,error",
            "warn,usher[request{stream_id=x}]=debug",
        ] {
            assert!(read(OsStr::new(asked)).is_ok(), "{asked}");
        }
    }

    #[test]
    fn what_does_not_is_told() {
        for (asked, mistake) in [
            ("usher=loud", Mistake::Form),
            ("=", Mistake::Form),
            ("info,usher_relays=debugg", Mistake::Form),
            ("inof", Mistake::Level("info")),
            ("warning", Mistake::Level("warn")),
            ("hyper=warn, Debugg", Mistake::Level("debug")),
            ("errors", Mistake::Level("error")),
        ] {
            assert_eq!(read(OsStr::new(asked)).err(), Some(mistake), "{asked}");
        }
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt as _;
            assert_eq!(read(OsStr::from_bytes(b"\xff")).err(), Some(Mistake::Encoding));
        }
    }
}
