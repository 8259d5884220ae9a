//! The arguments of `usher console`.

use clap::Subcommand;

/// `usher console …`
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum ConsoleCommand {
    /// Prints a link with which somebody becomes an operator: good once, and for an hour.
    Invite {
        /// Their name, which the audit log shows.
        name: String,
        /// What they may do: `viewer`, `support` or `admin`.
        #[arg(long, value_name = "ROLE")]
        role: String,
    },
    /// Prints the operators: key, role, `configuration` or `invitation`, and name.
    List,
    /// Removes an operator who was invited, and ends their sessions.
    Remove {
        /// Their key, from `usher console list`.
        #[arg(value_name = "KEY")]
        key: String,
    },
}
