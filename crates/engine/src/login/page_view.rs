//! Logins as their pages show them, and why a request of a page is refused.

use std::time::Duration;

use usher_protocol::login_proof::LoginProofError;

use crate::StreamId;
use crate::kernel::commit::ModifyError;
use crate::kernel::remote_signer_queue::SignerWatch;
use crate::login::unused_logins::{LoginWatch, NoRoom};
use crate::operations::{AskSignerError, LoginOver, LoginState, SignerStatus};
use crate::ports::{InvalidSignerAddress, RemoteSignerError, StoreError};

/// A login as its page shows it.
#[derive(Clone)]
pub struct LoginView {
    /// How far it is.
    pub state: LoginState,
    /// The URL for a wallet.
    pub wallet_url: String,
    /// The same for wallets that open other schemes.
    pub other_wallet_urls: Vec<String>,
    /// The event for another signer to sign now: JSON text.
    pub unsigned_proof: String,
    /// Who asks for the login, if it is not the service itself.
    pub client_name: Option<String>,
    /// Where the page leads to at the end.
    pub return_url: Option<String>,
    /// How long the user may still take.
    pub time_left: Duration,
    /// Whether remote signers can be reached.
    pub offers_signers: bool,
    /// The RP id of passkeys, if the page offers them.
    pub passkey_rp_id: Option<String>,
    /// The remote signer that is asked, if there is one.
    pub signer: Option<SignerView>,
    /// Whether its events are on another stream, that of a reusable login.
    pub is_child_login: bool,
    /// The page of the reusable login, where the next login begins when this one is over.
    pub start_again: Option<ReusablePage>,
}

/// The page of a reusable login that is open.
#[derive(Clone, PartialEq, Eq)]
pub struct ReusablePage {
    /// The reusable login.
    pub login: StreamId,
    /// What its page is found by.
    pub page_secret: String,
}

/// The request to a remote signer, as the page of a login shows it.
#[derive(Clone)]
pub struct SignerView {
    /// How far it is.
    pub status: SignerStatus,
    /// The address that the user opens in their signer, until a signer has replied.
    pub address: Option<String>,
}

/// A page that was opened.
pub enum OpenedLogin {
    /// The page belongs to this browser.
    Page {
        /// What it shows.
        view: Box<LoginView>,
        /// The cookie that the browser gets now, if it is the first.
        new_browser: Option<String>,
    },
    /// The page belongs to no browser yet.
    Unclaimed,
    /// It is that of a reusable login: each browser gets a login of its own
    /// ([`Logins::open_child_login`](crate::Logins::open_child_login)).
    Reusable,
    /// It was that of a reusable login, which is closed.
    Closed,
    /// The page belongs to another browser.
    OtherBrowser {
        /// The page of the reusable login that the login is at: this browser can begin its own there.
        start_again: Option<ReusablePage>,
    },
    /// There is no such login.
    NotFound,
}

/// The page of a login waits for it.
pub struct LoginPageWatch {
    pub(super) _login: LoginWatch,
    pub(super) _signer: SignerWatch,
}

/// Why a page is not shown to a browser, or changes nothing for it.
#[derive(Debug, thiserror::Error)]
pub enum LoginPageError {
    /// There is no such login.
    #[error("no such login")]
    NotFound,
    /// The page belongs to another browser.
    #[error("the page belongs to another browser")]
    OtherBrowser,
    /// The login has ended.
    #[error("the login is over")]
    Ended,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a browser got no login of its own at a reusable login.
#[derive(Debug, thiserror::Error)]
pub enum VisitError {
    /// There is no such reusable login.
    #[error("no such login")]
    NotFound,
    /// The reusable login is closed.
    #[error("the login is over")]
    Closed,
    /// Too many logins are open, or were begun at the visitor's address.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Who has signed the login's event on the user's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSigner {
    /// A browser extension (NIP-07), at once.
    Extension,
    /// An app on the same phone (NIP-55), when its user has found it.
    App,
}

/// Why what a browser extension signed approves no login.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// This browser cannot change the login.
    #[error(transparent)]
    Page(#[from] LoginPageError),
    /// Too many users log in at this reusable login now, or this one too often.
    #[error("too many logins at this reusable login")]
    TooOften,
    /// The signed event does not prove it.
    #[error(transparent)]
    Proof(#[from] LoginProofError),
}

/// Why no remote signer is asked.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// This browser cannot change the login.
    #[error(transparent)]
    Page(#[from] LoginPageError),
    /// A limit is reached.
    #[error(transparent)]
    Limit(#[from] AskLimit),
    /// The text is not an address of a remote signer.
    #[error(transparent)]
    Address(#[from] InvalidSignerAddress),
    /// No relay reaches remote signers.
    #[error(transparent)]
    Unreachable(#[from] RemoteSignerError),
}

/// What is asked too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskLimit {
    /// Too many users log in at this reusable login now.
    #[error("too many logins at this reusable login")]
    ReusableLogin,
    /// The login has asked too many remote signers.
    #[error("the login has asked too many remote signers")]
    SignersOfLogin,
}

impl ModifyError for LoginPageError {}
impl ModifyError for ProveError {}
impl ModifyError for AskError {}

impl From<LoginOver> for LoginPageError {
    fn from(LoginOver: LoginOver) -> Self {
        Self::Ended
    }
}

impl From<StoreError> for ProveError {
    fn from(error: StoreError) -> Self {
        Self::Page(error.into())
    }
}

impl From<StoreError> for AskError {
    fn from(error: StoreError) -> Self {
        Self::Page(error.into())
    }
}

impl From<AskSignerError> for AskError {
    fn from(error: AskSignerError) -> Self {
        match error {
            AskSignerError::Ended => Self::Page(LoginPageError::Ended),
            AskSignerError::TooMany => AskLimit::SignersOfLogin.into(),
        }
    }
}
