//! The arguments of `usher wallet`.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

/// The reference user wallet: opens handshake URLs, shows what services ask, answers.
#[derive(Clone, Debug, Args)]
pub struct WalletArgs {
    /// The wallet's file [default: wallet.json in the data directory].
    #[arg(long, global = true, env = "USHER_WALLET", value_name = "FILE")]
    pub wallet: Option<PathBuf>,

    /// Print one JSON object per line.
    #[arg(long, global = true)]
    pub json: bool,

    /// What to do.
    #[command(subcommand)]
    pub command: WalletCommand,
}

/// What a wallet can do.
#[derive(Clone, Debug, Subcommand)]
pub enum WalletCommand {
    /// Makes a wallet with a new key; never overwrites one.
    New {
        /// A relay of the user's own; can be given several times.
        #[arg(long, value_name = "URL")]
        relay: Vec<String>,
        /// Make a device (a subkey with its proof) of the user whose wallet this is.
        #[arg(long, value_name = "FILE")]
        device_of: Option<PathBuf>,
        /// Name of the device.
        #[arg(long, default_value = "device")]
        name: String,
    },
    /// Shows the wallet's keys, relays and services.
    Show,
    /// Opens a handshake URL: introduces the user to the service.
    Open {
        /// The URL, of any scheme; - reads it from standard input.
        url: String,
    },
    /// Opens a handshake URL, and approves the authentication that follows.
    Login {
        /// The URL, of any scheme; - reads it from standard input.
        url: String,
        /// How long to wait for the service's challenge.
        #[arg(long, value_name = "SECONDS", default_value = "60")]
        wait: Seconds,
    },
    /// Listens for a while and shows what services ask; fails when there is nothing.
    Requests {
        /// How long to listen.
        #[arg(long, value_name = "SECONDS", default_value = "10")]
        wait: Seconds,
    },
    /// Connects the wallet to the user's Lightning account (NIP-47).
    Connect {
        /// The connection string, nostr+walletconnect://…; - reads it from standard input. A secret.
        url: String,
    },
    /// Shows what the user's Lightning account can spend.
    Balance,
    /// Approves a request: logs in, pays, agrees to a subscription or sends an invoice, whatever is asked.
    Approve {
        /// The request, or the beginning of its id; not needed when there is only one.
        id: Option<String>,
        /// Agree to another amount of a subscription than is asked, in millisats.
        #[arg(long, value_name = "MILLISATS")]
        amount: Option<u64>,
        /// How long to wait for it to come, when it has not.
        #[arg(long, value_name = "SECONDS", default_value = "60")]
        wait: Seconds,
    },
    /// Declines a request.
    Decline {
        /// The request, or the beginning of its id; not needed when there is only one.
        id: Option<String>,
        /// Why, for people.
        #[arg(long)]
        reason: Option<String>,
        /// How long to wait for it to come, when it has not.
        #[arg(long, value_name = "SECONDS", default_value = "60")]
        wait: Seconds,
    },
    /// Says that a payment failed, without trying; it can be approved afterwards.
    Fail {
        /// The request, or the beginning of its id; not needed when there is only one.
        id: Option<String>,
        /// Why, for people.
        #[arg(long)]
        reason: Option<String>,
        /// How long to wait for it to come, when it has not.
        #[arg(long, value_name = "SECONDS", default_value = "60")]
        wait: Seconds,
    },
    /// Lists the subscriptions the user agreed to.
    Subscriptions,
    /// Closes a subscription.
    Close {
        /// The subscription, or the beginning of its id.
        subscription_id: String,
        /// Why, for people.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Stays connected: prints requests as they come, and takes commands from standard input.
    Run {
        /// Reply requests by itself.
        #[arg(long, value_name = "ANSWER")]
        auto: Option<AutoReaction>,
        /// How long to take before an automatic answer.
        #[arg(long, value_name = "SECONDS", default_value = "0", requires = "auto")]
        delay: Seconds,
        /// The reason of an automatic refusal.
        #[arg(long, requires = "auto")]
        reason: Option<String>,
        /// Reply also services whose handshake URL was never opened.
        #[arg(long, requires = "auto")]
        strangers: bool,
        /// Pay by itself what belongs to a subscription.
        #[arg(long)]
        pay_subscriptions: bool,
    },
}

/// An automatic answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AutoReaction {
    /// Yes to everything.
    Approve,
    /// No to everything.
    Decline,
}

/// A number of seconds, also with a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seconds(pub Duration);

impl FromStr for Seconds {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let seconds: f64 = text.trim_end_matches('s').parse().map_err(|_| "not a number of seconds")?;
        // A day is more than anybody waits in a terminal.
        if !(0.0..=86_400.0).contains(&seconds) {
            return Err("not between 0 and 86400 seconds");
        }
        Ok(Self(Duration::from_secs_f64(seconds)))
    }
}
