//! The command line.

mod audit_arguments;
mod backup_arguments;
mod console_arguments;
mod dev_arguments;
mod key_arguments;
mod wallet_arguments;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub use self::audit_arguments::AuditCommand;
pub use self::backup_arguments::{BackupCommand, RestoreCommand};
pub use self::console_arguments::ConsoleCommand;
pub use self::dev_arguments::{DevAction, DevCommand};
pub use self::key_arguments::{KeysCommand, NewKey};
pub use self::wallet_arguments::{AutoReaction, WalletArgs, WalletCommand};

/// Passwordless login, payments and tickets over Nostr, Lightning and Cashu.
#[derive(Debug, Parser)]
#[command(name = "usher", version = crate::version::LONG, about, propagate_version = true, arg_required_else_help = true)]
pub struct Cli {
    /// Where configuration and data are kept [default: $SERVICE_DATA_DIR, else ~/.usher; `usher dev`: a temporary folder].
    #[arg(long, global = true, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the program can do.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Command {
    /// Makes the data directory with private key, API token and a commented configuration, and says what comes next.
    Init(InitCommand),
    /// Runs the service, as the configuration says.
    Serve,
    /// Asks the running service whether it is alive: exit code 0 if it is, otherwise 1.
    Health(HealthCommand),
    /// Runs everything embedded, to try and to develop against: the service, a relay, a user's wallet.
    Dev(DevCommand),
    /// Checks everything the service depends on: says what is true and what to do.
    Doctor(DoctorCommand),
    /// Plays the user: the reference wallet in a terminal or a script.
    Wallet(WalletArgs),
    /// Shows events as they happen and posts them to a local address, as the webhook would: for development.
    Listen(ListenCommand),
    /// Shows what the service's own ticket wallet holds, and gets it back from a mint.
    ///
    /// The service must not run on the data directory at the same time.
    #[command(subcommand)]
    Tickets(TicketsCommand),
    /// Shows and manages the Lightning node that the service runs itself (wallet.ln_backend = "embedded").
    ///
    /// All but `abandon` ask the running service of the data directory. Amounts are sats.
    #[command(subcommand)]
    Lightning(LightningCommand),
    /// Shows the books: what the service received and paid.
    ///
    /// Asks the running service of the data directory.
    #[command(subcommand)]
    Payments(PaymentsCommand),
    /// Moves everything between SQLite and PostgreSQL.
    ///
    /// No service must run on either database.
    #[command(subcommand)]
    Store(StoreCommand),
    /// Backs up database, configuration and keys, also while the service runs, into one encrypted file.
    Backup(BackupCommand),
    /// Restores a backup into the data directory, which must be missing or empty.
    Restore(RestoreCommand),
    /// Shows and revokes what users agreed to give apps (OpenID Connect), and rotates its signing keys.
    ///
    /// All ask the running service of the data directory.
    #[command(subcommand)]
    Oidc(OidcCommand),
    /// Creates, lists, rotates and revokes API keys.
    ///
    /// All ask the running service of the data directory.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Invites, lists and removes the people who use the console.
    ///
    /// All ask the running service of the data directory.
    #[command(subcommand)]
    Console(ConsoleCommand),
    /// Shows and verifies the audit log: who changed what.
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Tests the notices to the operator.
    #[command(subcommand)]
    Notices(NoticesCommand),
    /// Erases what is stored of a user.
    ///
    /// Asks the running service of the data directory.
    #[command(subcommand)]
    Users(UsersCommand),
    /// Makes, converts and shows Nostr keys.
    #[command(subcommand)]
    Key(KeyCommand),
    /// Checks and explains the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Prints what makes a shell complete the arguments of this program.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Prints the manual page, or writes it and the pages of all subcommands into a folder.
    Man {
        /// The folder.
        folder: Option<PathBuf>,
    },
}

/// Makes the data directory with private key, API token and a commented configuration, and says what comes next.
///
/// On a terminal it asks for what the options leave open. It never changes a file that is there: to run it again is
/// harmless.
#[derive(Args)]
pub struct InitCommand {
    /// A relay of the service; give at least two, of different operators [default: three public ones].
    #[arg(long, value_name = "URL")]
    pub relay: Vec<String>,
    /// What creates and pays invoices [default: none; nwc with --nwc-url-file; embedded with the options of the node].
    #[arg(long, value_name = "BACKEND")]
    pub ln_backend: Option<InitBackend>,
    /// The file with the connection URL of the wallet (NWC). Its content is copied to `nwc.url`.
    #[arg(long, value_name = "FILE")]
    pub nwc_url_file: Option<PathBuf>,
    /// The Esplora server where the Lightning node inside this program learns of blocks.
    #[arg(long, value_name = "URL")]
    pub chain_url: Option<String>,
    /// Who opens channels for payments to that node (LSPS2), as `<node id>@<host>:<port>`.
    #[arg(long, value_name = "NODE")]
    pub liquidity_provider: Option<String>,
    /// The file with the token that the liquidity provider or the Esplora server wants [default: none].
    #[arg(long, value_name = "FILE")]
    pub lightning_api_key_file: Option<PathBuf>,
    /// How users' browsers reach the service, such as `https://login.example.com`.
    #[arg(long, value_name = "URL")]
    pub public_url: Option<String>,
    /// An address of your app, to which pages lead browsers back; several times for several addresses.
    #[arg(long, value_name = "URL")]
    pub return_url: Vec<String>,
    /// A port for what users' browsers open, without the API, so that a proxy can pass everything to it.
    #[arg(long, value_name = "PORT")]
    pub pages_port: Option<u16>,
    /// Where events are posted. A secret to sign them is made as well.
    #[arg(long, value_name = "URL")]
    pub webhook_url: Option<String>,
    /// Asks nothing, also on a terminal.
    #[arg(long)]
    pub non_interactive: bool,
}

// The webhook's address may contain a secret.
usher_protocol::debug_shows!(InitCommand {});

usher_protocol::words! {
    /// The Lightning backends that `usher init` sets up.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
    pub enum InitBackend {
        /// No Lightning backend: logins and tickets only.
        None = "none",
        /// A wallet that supports Nostr Wallet Connect.
        Nwc = "nwc",
        /// A Lightning node inside this program.
        Embedded = "embedded",
    }
}

/// Asks the running service whether it is alive: exit code 0 if it is, otherwise 1.
///
/// For the health check of a container, for scripts, and for load balancers that run commands.
#[derive(Debug, Args)]
pub struct HealthCommand {
    /// Also asks whether it can do its work: its database works and a relay is connected. A restart does not help if not.
    #[arg(long)]
    pub ready: bool,
    /// How long to wait for the response, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=300))]
    pub timeout: u64,
}

/// Checks everything the service depends on: says what is true and what to do.
///
/// Configuration, files of secrets, database, relays, clock, Lightning backend, webhook, mints, open files. It changes
/// nothing and posts no event, and works while the service runs and while it does not. Exit code 0: nothing needs
/// action, 1: something does, 78: the configuration has mistakes.
#[derive(Debug, Args)]
pub struct DoctorCommand {
    /// Prints a JSON object per line: `check`, `state` (`ok`, `warn`, `fail`), `message`, `advice`.
    #[arg(long)]
    pub json: bool,
}

/// Shows events as they happen and posts them to a local address, as the webhook would: for development.
///
/// It listens to the service of the data directory. What happened before, or while it was away, is not shown.
#[derive(Args)]
pub struct ListenCommand {
    /// Posts each event here, signed, once.
    #[arg(long, value_name = "URL")]
    pub forward_to: Option<String>,
    /// Signs with this [default: webhook.secret, else one that is made up and shown].
    ///
    /// Other users of this machine may see it: --secret-file hides it.
    #[arg(long, value_name = "SECRET", conflicts_with = "secret_file")]
    pub secret: Option<String>,
    /// Signs with what this file holds.
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
    /// The service's base URL [default: where the service of the data directory runs].
    ///
    /// Without --token-file only that service gets the token.
    #[arg(long, value_name = "URL")]
    pub base: Option<String>,
    /// The file that holds the service's token [default: auth.auth_token of the configuration].
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Only this stream; may be given several times.
    #[arg(long, value_name = "STREAM_ID")]
    pub stream: Vec<String>,
    /// Prints a JSON object per line: `{"event": …}`, `{"forwarded": …}`.
    #[arg(long)]
    pub json: bool,
}

// Addresses and the secret are left out.
usher_protocol::debug_shows!(ListenCommand {});

/// `usher tickets …`
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum TicketsCommand {
    /// Prints the balances: amount, unit and mint, one per line.
    Balances,
    /// Asks the mints about tickets that are set aside, because a mint said that they are spent although the service has not
    /// spent them. What is unspent comes back into the balance. Prints what is still set aside: amount, unit and mint, one per
    /// line.
    ///
    /// The running service asks as well, every hour.
    Check,
    /// Gets the balance at a mint back after the database was lost, or an old copy took its place: what the mint has signed
    /// for the service's key, and what is neither spent nor in the database.
    ///
    /// It needs nostr.private_key and the address under which the service has used the mint, and nothing else. It refuses to
    /// run while jobs at the mint are not finished.
    Restore {
        /// The mint's address.
        mint_url: String,
        /// The file that holds the token by which the mint knows the service, if the mint wants one.
        #[arg(long, value_name = "FILE")]
        static_token_file: Option<PathBuf>,
        /// The address under which the service has used this mint before the mint moved. Be sure that it is the same mint:
        /// another one could spend the balance.
        #[arg(long, value_name = "URL")]
        former_address: Option<String>,
        /// Looks for the tickets of development builds before 0.1.0, whose secrets were the same at all mints. Be sure that
        /// the service had its balance at this mint: another one could spend it.
        #[arg(long, conflicts_with = "former_address")]
        development_build: bool,
    },
}

/// `usher lightning …`
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum LightningCommand {
    /// Prints balances, channels and warnings.
    Status {
        /// Prints them as JSON: the response of `GET /wallet/info`, and the channels in it.
        #[arg(long)]
        json: bool,
    },
    /// Prints a new address at which the node receives bitcoin.
    Address,
    /// Prints what a liquidity provider would keep of a payment to the service, at this moment.
    Price {
        /// The payment, in sats.
        amount: u64,
    },
    /// Opens a channel with money of the on-chain balance, to be able to send.
    Open {
        /// Its capacity, in sats.
        amount: u64,
        /// With whom: `<node id>@<host>:<port>` [default: the liquidity provider].
        #[arg(long, value_name = "PEER")]
        peer: Option<String>,
        /// Does not ask.
        #[arg(long)]
        yes: bool,
    },
    /// Closes a channel; its money returns to the on-chain balance.
    Close {
        /// The channel's id, as `status` prints it.
        channel: String,
        /// Without the peer's agreement. The money is locked for hours to days, and the fees are higher.
        #[arg(long)]
        force: bool,
        /// Does not ask.
        #[arg(long)]
        yes: bool,
    },
    /// Sends money of the on-chain balance to a Bitcoin address. It cannot be taken back.
    Send {
        /// The address, on `wallet.network`.
        address: String,
        /// What arrives, in sats; the miner fee comes on top. Or `all`: all that the node can spend, less the fee.
        amount: String,
        /// Sats per virtual byte, at most 1000 [default: what the chain source names for a block within an hour].
        #[arg(long, value_name = "RATE")]
        fee_rate: Option<u64>,
        /// Does not ask.
        #[arg(long)]
        yes: bool,
    },
    /// Prints the list of channels and peers as JSON: it says what was lost, and whom to ask to close the channels, if the
    /// node's data are lost.
    ///
    /// It holds no secret and moves no money, and an old one does no harm. It does not restore channels.
    Backup,
    /// Takes over the data of a node that the service's database does not know.
    ///
    /// Only when the database is new and the folder `lightning` is the newest copy. The service must not run.
    Adopt {
        /// Does not ask.
        #[arg(long)]
        yes: bool,
    },
    /// Gives up the channels of a node whose data are lost, so that it starts anew with its mnemonic.
    ///
    /// Only when the folder of its data is gone and there is no newer copy. The service must not run.
    Abandon {
        /// Does not ask.
        #[arg(long)]
        yes: bool,
    },
}

/// `usher store …`
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum StoreCommand {
    /// Moves everything from the SQLite file of database.path to the PostgreSQL database of database.url, or back.
    ///
    /// Both are read again and compared row by row before the copy is stored. The database that was copied is marked then: a
    /// service refuses it, because with both in use payments and tickets would be made twice. Prints the number of rows of each
    /// table, and a digest that is the same in both databases.
    ///
    /// It refuses to run while a service uses one of the databases, and when the new one is not empty or the old one is damaged.
    /// If it is interrupted, run it again.
    Copy {
        /// Which of the two becomes the copy.
        #[arg(long, value_name = "DATABASE")]
        to: CopyDirection,
    },
    /// Lets the service use the configured database again that was moved away, or that is an unfinished copy.
    ///
    /// Only when the other one is lost, or nothing has used it and nothing ever will. Otherwise move back with `copy`.
    Reopen {
        /// Does not ask.
        #[arg(long)]
        yes: bool,
    },
}

/// The database that becomes the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CopyDirection {
    /// The database of database.url; the file of database.path is copied.
    Postgres,
    /// The file of database.path; the database of database.url is copied.
    Sqlite,
}

/// `usher notices …`
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum NoticesCommand {
    /// Sends a test message to each target of the configuration, and says which accepted it.
    ///
    /// It needs no running service. Exit code 0: all did.
    Test,
}

/// `usher users …`
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum UsersCommand {
    /// Erases a user, and prints what was kept: reason, kind, stream, and until when in Unix seconds, one per line.
    ///
    /// It can be repeated: what was kept is removed once nothing needs it any more.
    Erase {
        /// The user's key: 64 hex characters.
        #[arg(value_name = "MAIN_KEY")]
        user: String,
    },
}

/// `usher oidc …`
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum OidcCommand {
    /// Prints what users agreed to: client, user's key, and scopes, one per line.
    Consents,
    /// Takes back what a user agreed to give a client, with all codes and tokens that it has for this user.
    Revoke {
        /// The client's id.
        client: String,
        /// The user's key: 64 hex characters.
        user: String,
    },
    /// Prints the signing keys: algorithm, key id, and `current` or `retired`, one per line.
    Keys,
    /// Makes new signing keys. The last ones are published for another day, for ID tokens that they have signed.
    RotateKeys,
    /// Removes a signing key that somebody else has, at once. If it signs, a new one takes its place.
    RevokeKey {
        /// The key's id, from `usher oidc keys`.
        #[arg(value_name = "KEY_ID", allow_hyphen_values = true)]
        key: String,
    },
}

/// `usher payments …`
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum PaymentsCommand {
    /// Prints payments as CSV, in the order in which they were requested. Amounts are millisats, times are UTC.
    Export {
        /// CSV; there is no other format.
        #[arg(long)]
        csv: bool,
        /// Only those requested on this date or later: `2026-01-31`, or a time such as `2026-01-31T12:00:00Z`.
        #[arg(long, value_name = "DATE")]
        from: Option<String>,
        /// Only those requested before this date.
        #[arg(long, value_name = "DATE")]
        to: Option<String>,
        /// Only those with this status.
        #[arg(long, value_parser = ["open", "paid", "not_paid", "unknown"])]
        status: Option<String>,
    },
}

/// `usher key …`
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum KeyCommand {
    /// Makes a private key: 64 hex characters on standard output, its public key on standard error.
    Generate,
    /// Converts an nsec to the 64 hex characters that nostr.private_key takes.
    ///
    /// Reads it from standard input: an argument would stay in the shell's history.
    FromNsec {
        /// The nsec; better given on standard input.
        nsec: Option<String>,
    },
    /// Converts an npub, nprofile or nostr: address to 64 hex characters.
    ToHex {
        /// The public key.
        key: String,
    },
    /// Shows the public key of the configured nostr.private_key.
    Show,
}

/// `usher config …`
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum ConfigCommand {
    /// Prints what is in force and where it comes from, with every warning and mistake.
    Check,
    /// Prints the commented reference of every key.
    Default,
}
