//! The arguments of `usher wallet`.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

/// Plays the user: the reference wallet in a terminal or a script.
#[derive(Clone, Debug, Args)]
pub struct WalletArgs {
    /// The wallet's file [default: wallet.json in the data directory].
    #[arg(long, global = true, env = "USHER_WALLET", value_name = "FILE")]
    pub wallet: Option<PathBuf>,

    /// Print one JSON object per line.
    #[arg(long, global = true)]
    pub json: bool,

    /// The command.
    #[command(subcommand)]
    pub command: WalletCommand,
}

/// The commands of the wallet.
#[derive(Clone, Debug, Subcommand)]
#[command(defer = true)]
pub enum WalletCommand {
    /// Creates a wallet with a new key; never overwrites an existing one.
    New {
        /// A relay of the user's own; can be given several times.
        #[arg(long, value_name = "URL")]
        relay: Vec<String>,
        /// Create a device (a subkey with its proof) of the user of this wallet.
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
    /// Opens a handshake URL and approves the authentication request that follows.
    Login {
        /// The URL, of any scheme; - reads it from standard input.
        url: String,
        /// How long to wait for the authentication request.
        #[arg(long, value_name = "SECONDS", default_value = "60")]
        wait: Seconds,
    },
    /// Shows the requests of services, and listens until none has come for ten seconds; fails if there are none.
    Requests {
        /// How long to listen at most: services repeat a request after 20 s, and then ever more seldom.
        #[arg(long, value_name = "SECONDS", default_value = "60")]
        wait: Seconds,
    },
    /// Connects the wallet to the user's Lightning account (NIP-47).
    Connect {
        /// The connection string, nostr+walletconnect://…; - reads it from standard input. A secret.
        url: String,
    },
    /// Shows the balance of the user's Lightning account.
    Balance,
    /// Approves a request: logs in, pays, agrees to a subscription, sends an invoice or a ticket, takes a ticket.
    Approve {
        /// The id of the request, or its beginning; optional if there is only one.
        id: Option<String>,
        /// Authorize this amount for a subscription instead of the requested one, in millisats.
        #[arg(long, value_name = "MILLISATS")]
        amount: Option<u64>,
        /// How long to wait for the request if it has not arrived.
        #[arg(long, value_name = "SECONDS", default_value = "60")]
        wait: Seconds,
    },
    /// Declines a request.
    Decline {
        /// The id of the request, or its beginning; optional if there is only one.
        id: Option<String>,
        /// The reason, for people.
        #[arg(long)]
        reason: Option<String>,
        /// How long to wait for the request if it has not arrived.
        #[arg(long, value_name = "SECONDS", default_value = "60")]
        wait: Seconds,
    },
    /// Reports that a payment failed, without trying it; it can still be approved afterwards.
    Fail {
        /// The id of the request, or its beginning; optional if there is only one.
        id: Option<String>,
        /// The reason, for people.
        #[arg(long)]
        reason: Option<String>,
        /// How long to wait for the request if it has not arrived.
        #[arg(long, value_name = "SECONDS", default_value = "60")]
        wait: Seconds,
    },
    /// Shows the tickets that the user holds, and those that were given and are not spent.
    Tickets,
    /// Gives a ticket: prints a token of this amount. Whoever has the text can spend it.
    Give {
        /// How much, in the unit.
        amount: u64,
        /// The unit; optional if the wallet holds tickets of one unit only.
        #[arg(long)]
        unit: Option<String>,
        /// The mint; optional if the wallet holds tickets of one mint only.
        #[arg(long, value_name = "URL")]
        mint: Option<String>,
    },
    /// Takes a ticket: checks a token and swaps it at its mint, so that nobody else can spend it.
    Take {
        /// The token, cashuA… or cashuB…; - reads it from standard input.
        token: String,
    },
    /// Takes back a given ticket that nobody has spent: its token is worth nothing afterwards.
    TakeBack {
        /// The id of the ticket, or its beginning; `tickets` shows it.
        id: String,
    },
    /// Sets the token that a mint requires (Clear-auth).
    MintToken {
        /// The mint.
        mint: String,
        /// The token; - reads it from standard input. A secret.
        token: String,
    },
    /// Lists the user's subscriptions.
    Subscriptions,
    /// Closes a subscription.
    Close {
        /// The id of the subscription, or its beginning.
        subscription_id: String,
        /// The reason, for people.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Stays connected: prints requests as they arrive and reads commands from standard input.
    Run {
        /// Reply to requests automatically.
        #[arg(long, value_name = "ANSWER")]
        auto: Option<AutoReaction>,
        /// How long to wait before an automatic reply.
        #[arg(long, value_name = "SECONDS", default_value = "0", requires = "auto")]
        delay: Seconds,
        /// The reason in automatic refusals.
        #[arg(long, requires = "auto")]
        reason: Option<String>,
        /// Also reply to services whose handshake URL was never opened.
        #[arg(long, requires = "auto")]
        strangers: bool,
        /// Pay charges of agreed subscriptions automatically.
        #[arg(long)]
        pay_subscriptions: bool,
        /// Take tickets that services send only when they are approved.
        #[arg(long)]
        no_tickets: bool,
    },
}

/// An automatic reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AutoReaction {
    /// Approve every request.
    Approve,
    /// Decline every request.
    Decline,
}

/// A number of seconds, with or without a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seconds(pub Duration);

impl FromStr for Seconds {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let seconds: f64 = text.trim_end_matches('s').parse().map_err(|_| "not a number of seconds")?;
        // A day is more than anybody waits in a terminal.
        if !(0.0..=86_400.0).contains(&seconds) {
            return Err("must be between 0 and 86400 seconds");
        }
        Ok(Self(Duration::from_secs_f64(seconds)))
    }
}
