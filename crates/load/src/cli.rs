//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, ValueEnum};

use crate::database::Engine;

/// Measures `usher serve`: starts it with a relay on loopback, loads it, and prints one table.
///
/// Build all in release mode first: `cargo build --release -p usher -p usher-load`.
#[derive(Debug, Parser)]
#[command(name = "usher-load", version)]
pub(crate) struct Cli {
    /// What to measure.
    #[arg(value_enum, default_value = "all")]
    pub(crate) what: Measurement,
    #[command(flatten)]
    pub(crate) options: Options,
    /// Ends after so many seconds, measured or not.
    #[arg(long, default_value_t = 900)]
    pub(crate) time_limit: u64,
    /// Runs only so many relays, until standard input ends. The tool starts itself like this to measure the CPU time separately.
    #[arg(long, hide = true, value_name = "COUNT")]
    pub(crate) relays: Option<usize>,
    /// The relay's delay in each direction.
    #[arg(long, hide = true, default_value_t = 0)]
    pub(crate) relay_latency_ms: u64,
    /// Runs only Lightning, with the service's wallet at this relay, until standard input ends.
    #[arg(long, hide = true, value_name = "RELAY")]
    pub(crate) lightning: Option<String>,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Measurement {
    /// Everything below.
    All,
    /// Logins end to end.
    Logins,
    /// Events to the app: by webhook and live feed.
    Events,
    /// Payments end to end, with many invoices open.
    Payments,
    /// Memory per open operation.
    Memory,
    /// Time to start.
    Startup,
    /// Time until a standby has taken over; needs `--postgresql`.
    Takeover,
}

impl Measurement {
    /// The engines that it is made on, where there is a PostgreSQL server.
    pub(crate) fn engines(self) -> &'static [Engine] {
        match self {
            Self::Logins => &[Engine::Sqlite, Engine::Postgresql, Engine::DistantPostgresql],
            Self::Takeover => &[Engine::Postgresql],
            _ => &[Engine::Sqlite, Engine::Postgresql],
        }
    }

    /// Whether this includes `other`.
    pub(crate) fn includes(self, other: Self) -> bool {
        self == other || self == Self::All
    }
}

/// How to measure.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// The program to measure [default: `usher` beside this program].
    #[arg(long, value_name = "FILE")]
    pub(crate) usher: Option<PathBuf>,
    /// Where temporary data directories are made, on the disk to measure [default: beside this program].
    #[arg(long, value_name = "FOLDER")]
    pub(crate) data: Option<PathBuf>,
    /// Users who log in at once; 10,000 need 20,100 open files for each program.
    #[arg(long, value_delimiter = ',', default_values_t = [50, 200, 1000])]
    pub(crate) users: Vec<usize>,
    /// About how many logins a run consists of; users log in again, each time with another key, until it is reached.
    #[arg(long, default_value_t = 3000)]
    pub(crate) logins: usize,
    /// Simulated delay between the relay and each of its clients, in milliseconds.
    #[arg(long, default_value_t = 50)]
    pub(crate) latency_ms: u64,
    /// Events measured on their way to the webhook.
    #[arg(long, default_value_t = 10_000)]
    pub(crate) events: usize,
    /// Events made per second, where they are not made as fast as possible.
    #[arg(long, default_value_t = 1_000)]
    pub(crate) event_rate: u32,
    /// Users who pay at once.
    #[arg(long, value_delimiter = ',', default_values_t = [50, 200])]
    pub(crate) payers: Vec<usize>,
    /// About how many payments a run consists of.
    #[arg(long, default_value_t = 1000)]
    pub(crate) payments: usize,
    /// Invoices of other users that are open meanwhile, and that nobody pays.
    #[arg(long, default_value_t = 10_000)]
    pub(crate) invoices: usize,
    /// Seconds in which look-ups are counted while nobody pays.
    #[arg(long, default_value_t = 60)]
    pub(crate) watch_seconds: u64,
    /// Measures on this PostgreSQL server, too: the URL of a user who may create databases, which are dropped again, such as
    /// `postgres://user:password@127.0.0.1/postgres?sslmode=disable`. Other users of the machine can read it meanwhile.
    #[arg(long, value_name = "URL")]
    pub(crate) postgresql: Option<String>,
    /// Simulated delay between the service and a distant PostgreSQL, in each direction, in microseconds.
    #[arg(long, default_value_t = 500)]
    pub(crate) postgresql_latency_us: u64,
    /// Relays of the service, of which the users' wallets are at the first; it takes at most 16.
    #[arg(long, default_value_t = 1)]
    pub(crate) service_relays: usize,
    /// Open operations for memory, start-up and take-over.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) operations: usize,
}

impl Options {
    /// The simulated delay between the service and a distant PostgreSQL, each way.
    pub(crate) fn postgresql_latency(&self) -> Duration {
        Duration::from_micros(self.postgresql_latency_us)
    }

    /// The simulated delay, each way.
    pub(crate) fn latency(&self) -> Duration {
        Duration::from_millis(self.latency_ms)
    }
}
