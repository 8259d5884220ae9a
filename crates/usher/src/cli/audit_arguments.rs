//! `usher audit …`

use clap::Subcommand;
use usher_engine::audit::AuditHead;

/// What can be done with the audit log.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum AuditCommand {
    /// Prints entries, the oldest first: number, time, who, address, action, outcome, details and request id, separated by tabs.
    ///
    /// Asks the running service of the data directory.
    List {
        /// Only those after the entry with this number.
        #[arg(long, value_name = "NUMBER", default_value_t = 0)]
        after: u64,
    },
    /// Verifies that no entry was changed, removed or added, and prints the newest one: number, colon and hash.
    ///
    /// Reads the database, while the service runs and while it does not. Exit code 1: an entry is wrong; the first one is named.
    Verify {
        /// The newest entry as it was once noted: also verifies that the log has not been set back to before it.
        #[arg(long, value_name = "NUMBER:HASH")]
        head: Option<AuditHead>,
    },
}
