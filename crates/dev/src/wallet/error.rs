use std::io;
use std::time::Duration;

use usher_protocol::handshake_url::HandshakeUrlError;
use usher_protocol::subkey::DeriveError;
use usher_sandbox::lightning::NotAConnection;
use usher_sandbox::wallet::{FileError, PaymentSourceError, TicketsError, Verdict, WalletError};

/// Failures of `usher wallet`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Url(#[from] HandshakeUrlError),
    #[error(transparent)]
    Connection(#[from] NotAConnection),
    /// The Lightning account.
    #[error(transparent)]
    PaymentSource(#[from] PaymentSourceError),
    /// The wallet is not connected to a Lightning account.
    #[error("the wallet has no Lightning account; connect one with `usher wallet connect`")]
    NoPaymentSource,
    #[error(transparent)]
    Tickets(#[from] TicketsError),
    /// The amount to give is invalid.
    #[error("give what? give AMOUNT [UNIT [MINT]]")]
    NoAmount,
    /// No subscription has an id with this prefix.
    #[error("no subscription id starts with {0}")]
    NoSuchSubscription(String),
    #[error(transparent)]
    Wallet(#[from] WalletError),
    /// The device could not be created.
    #[error(transparent)]
    Device(#[from] DeriveError),
    /// A relay URL is invalid.
    #[error("invalid relay URL {0}: must start with ws:// or wss://")]
    NotARelay(String),
    /// The named wallet is itself a device.
    #[error("only a wallet with the main key can create a device")]
    NotTheMainKey,
    /// The wallet has no relays.
    #[error("the wallet has no relays; open a handshake URL, or create the wallet with --relay")]
    NowhereToListen,
    /// No request arrived in time.
    #[error("no pending request within {} s", .0.as_secs_f64())]
    NoRequest(Duration),
    /// The named request did not arrive in time.
    #[error("no pending request with an id starting with {id} within {} s", .waited.as_secs_f64())]
    NoSuchRequest {
        /// The prefix of the id.
        id: String,
        /// How long the command waited.
        waited: Duration,
    },
    /// The prefix of an id matches several requests or subscriptions, or several are open and none was named.
    #[error("several ids match, name one of them: {}", .0.join("; "))]
    Ambiguous(Vec<String>),
    /// The request was answered before, here or in another terminal.
    #[error("the request was already {0}; nothing was sent")]
    AlreadyAnswered(Verdict),
    /// Every relay refused the message.
    #[error("no relay accepted the message")]
    NotSent,
    /// Standard input or output.
    #[error("terminal input or output failed")]
    Io(#[from] io::Error),
}

impl CliError {
    /// Whether an argument is invalid, whatever the state of the wallet.
    pub(super) const fn is_usage(&self) -> bool {
        matches!(self, Self::Url(_) | Self::Connection(_) | Self::NotARelay(_))
    }
}
