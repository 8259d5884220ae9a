//! Why a command fails.

use std::io;

use usher_protocol::handshake_url::HandshakeUrlError;
use usher_protocol::subkey::DeriveError;

use crate::lightning::NotAConnection;
use crate::wallet::{FileError, PaymentSourceError, Verdict, WalletError};

/// Why `usher wallet` ends with an error.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The wallet's file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The handshake URL.
    #[error(transparent)]
    Url(#[from] HandshakeUrlError),
    /// The connection string.
    #[error(transparent)]
    Connection(#[from] NotAConnection),
    /// The Lightning account.
    #[error(transparent)]
    PaymentSource(#[from] PaymentSourceError),
    /// There is no account to ask.
    #[error("the wallet has no Lightning account: connect it with `usher wallet connect`")]
    NoPaymentSource,
    /// No subscription, or none that is open, begins so.
    #[error("no subscription's id begins with {0}")]
    NoSuchSubscription(String),
    /// The wallet.
    #[error(transparent)]
    Wallet(#[from] WalletError),
    /// The device could not be made.
    #[error(transparent)]
    Device(#[from] DeriveError),
    /// A relay's address is none.
    #[error("{0} is not the address of a relay (ws://… or wss://…)")]
    NotARelay(String),
    /// A device was to be made of a device.
    #[error("only the wallet that holds the main key can make a device")]
    NotTheMainKey,
    /// The wallet has no relay to listen at.
    #[error("the wallet has no relays yet: open a handshake URL, or make it with --relay")]
    NowhereToListen,
    /// Nothing came in time.
    #[error("no request came in time")]
    NothingCame,
    /// That request did not come in time.
    #[error("no request whose id begins with {0} came in time")]
    NoSuchRequest(String),
    /// The beginning of an id fits several requests, or several are open and none was named.
    #[error("which one? {}", .0.join(", "))]
    Ambiguous(Vec<String>),
    /// It was answered before, here or in another terminal.
    #[error("this request was {0} already: nothing was sent")]
    AlreadyAnswered(Verdict),
    /// Every relay refused what was to be said.
    #[error("no relay took the message")]
    NotSent,
    /// Standard input or output.
    #[error("the terminal")]
    Io(#[from] io::Error),
}

impl CliError {
    /// Whether an argument cannot be used, whatever the state of the wallet.
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::Url(_) | Self::Connection(_) | Self::NotARelay(_))
    }
}
