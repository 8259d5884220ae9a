//! Logins as shown by their pages, and refusals of page requests.

use std::time::Duration;

use usher_protocol::login_proof::LoginProofError;

use crate::StreamId;
use crate::kernel::remote_signer_queue::SignerWatch;
use crate::kernel::request_errors::ModifyError;
use crate::login::operation::{AskSignerError, LoginOver, LoginState};
use crate::login::signer_request::SignerStatus;
use crate::login::unused_logins::{LoginWatch, NoRoom};
use crate::ports::{InvalidSignerAddress, RemoteSignerError, StoreError};

/// A login as its page shows it.
#[derive(Clone)]
pub struct LoginView {
    /// Its state.
    pub state: LoginState,
    /// The URL for a wallet.
    pub wallet_url: String,
    /// The same for wallets that open other schemes.
    pub other_wallet_urls: Vec<String>,
    /// Whether wallets can reach the service.
    pub is_reachable: bool,
    /// The event to be signed by another signer: JSON text.
    pub unsigned_proof: String,
    /// The requesting app, if it is not the service's own.
    pub client_name: Option<String>,
    /// Where the page redirects at the end.
    pub return_url: Option<String>,
    /// The remaining time.
    pub time_left: Duration,
    /// Whether remote signers can be reached.
    pub offers_signers: bool,
    /// The RP id of passkeys, if the page offers them.
    pub passkey_rp_id: Option<String>,
    /// The remote signer in use, if any.
    pub signer: Option<SignerView>,
    /// Whether its events are on the stream of a reusable login.
    pub is_child_login: bool,
    /// The page of the reusable login, where the next login begins after this one is over.
    pub start_again: Option<ReusablePage>,
}

/// The page of a reusable login that is open.
#[derive(Clone, PartialEq, Eq)]
pub struct ReusablePage {
    /// The reusable login.
    pub login: StreamId,
    /// The secret in its address.
    pub page_secret: String,
}

/// The request to a remote signer, as the page of a login shows it.
#[derive(Clone)]
pub struct SignerView {
    /// Its status.
    pub status: SignerStatus,
    /// The address to open in the signer, until a signer has replied.
    pub address: Option<String>,
}

/// The result of opening a page.
pub enum OpenedLogin {
    /// The page belongs to this browser.
    Page {
        /// What it shows.
        view: Box<LoginView>,
        /// The cookie for the browser, if it is the first.
        new_browser: Option<String>,
    },
    /// The page does not belong to a browser yet.
    Unclaimed,
    /// The page of a reusable login: each browser gets its own login
    /// ([`Logins::open_child_login`](crate::Logins::open_child_login)).
    Reusable,
    /// The page of a closed reusable login.
    Closed,
    /// The page belongs to another browser.
    OtherBrowser {
        /// The page of the reusable login, where this browser can begin its own login.
        start_again: Option<ReusablePage>,
    },
    /// There is no such login.
    NotFound,
}

/// Held while the page of a login waits.
pub struct LoginPageWatch {
    pub(super) _login: LoginWatch,
    pub(super) _signer: SignerWatch,
}

/// Why a page is not shown to a browser, or cannot be changed by it.
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

/// Why a browser got no login at a reusable login.
#[derive(Debug, thiserror::Error)]
pub enum VisitError {
    /// There is no such reusable login.
    #[error("no such login")]
    NotFound,
    /// The reusable login is closed.
    #[error("the login is over")]
    Closed,
    /// Too many logins are open, or were begun from the visitor's address.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The signer on the user's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSigner {
    /// A browser extension (NIP-07), which signs at once.
    Extension,
    /// An app on the same phone (NIP-55), which signs later.
    App,
}

/// Why a signed event approves no login.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// This browser cannot change the login.
    #[error(transparent)]
    Page(#[from] LoginPageError),
    /// Too many logins at this reusable login, or of this user there.
    #[error("too many logins at this reusable login")]
    TooOften,
    /// The signed event is not a proof.
    #[error(transparent)]
    Proof(#[from] LoginProofError),
}

/// Why no request is sent to a remote signer.
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
    /// Remote signers are unreachable.
    #[error(transparent)]
    Unreachable(#[from] RemoteSignerError),
}

/// A limit on requests to remote signers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskLimit {
    /// Too many logins at this reusable login.
    #[error("too many logins at this reusable login")]
    ReusableLogin,
    /// The login has used too many remote signers.
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
