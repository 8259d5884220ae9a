//! The arguments of `usher keys`.

use clap::{Args, Subcommand};

/// `usher keys …`
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum KeysCommand {
    /// Creates a key, and prints its secret, which is shown this once.
    Create(NewKey),
    /// Prints the keys: id, `valid` or `expired`, last use in Unix seconds, scopes and name; then the tokens.
    List,
    /// Gives a key a new secret, and prints it.
    Rotate {
        /// The key's id, from `usher keys list`.
        #[arg(value_name = "KEY_ID")]
        id: uuid::Uuid,
        /// How long the former secret is accepted beside it.
        #[arg(long, value_name = "SECONDS", default_value_t = 0)]
        overlap_seconds: u64,
    },
    /// Revokes a key, at once.
    Revoke {
        /// The key's id, from `usher keys list`.
        #[arg(value_name = "KEY_ID")]
        id: uuid::Uuid,
    },
}

/// Creates a key, and prints its secret, which is shown this once.
#[derive(Debug, Args)]
pub struct NewKey {
    /// What you call it.
    pub name: String,
    /// What it may do, such as `payments:receive`. Can be repeated.
    #[arg(long = "scope", value_name = "SCOPE", required = true)]
    pub scopes: Vec<String>,
    /// Unix seconds from which it is not accepted.
    #[arg(long, value_name = "SECONDS")]
    pub expires_at: Option<u64>,
    /// A network from which it is accepted, such as 192.0.2.0/24. Can be repeated; by default all.
    #[arg(long = "network", value_name = "NETWORK")]
    pub networks: Vec<String>,
    /// It sees only the streams that it has started.
    #[arg(long)]
    pub own_streams_only: bool,
    /// Most millisats that it may send within 24 hours.
    #[arg(long, value_name = "MILLISATS")]
    pub daily_budget_millisats: Option<u64>,
    /// Most requests per second.
    #[arg(long, value_name = "NUMBER")]
    pub requests_per_second: Option<u64>,
}
