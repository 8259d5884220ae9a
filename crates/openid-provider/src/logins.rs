//! The port through which the provider logs users in.

use async_trait::async_trait;
use http::HeaderMap;
use usher_engine::{ClientNetwork, UnixMillis};
use usher_protocol::PublicKey;

/// Begins logins and knows their outcomes. A cookie binds a login to the browser that begins it, which prevents session
/// fixation: sending one's own login page to somebody else does not log the sender in as that person.
#[async_trait]
pub trait Logins: Send + Sync {
    /// Begins a login for the browser that sends these headers. It is durable when this returns. An unused login may be
    /// ended to make room for it.
    async fn begin(&self, login: BeginLogin, headers: &HeaderMap) -> Result<LoginStarted, LoginError>;

    /// Whether a user is working on a login: its page is open or was just seen, or a key was named.
    fn is_in_use(&self, login_id: &str) -> bool;

    /// Removes a login, finished or not, whose outcome is no longer needed.
    async fn forget(&self, login_id: &str) -> Result<(), LoginError>;

    /// The outcome of a login, for the browser that sends these headers.
    async fn outcome(&self, login_id: &str, headers: &HeaderMap) -> Result<LoginOutcome, LoginError>;
}

/// A login to begin.
#[derive(Clone, Debug)]
pub struct BeginLogin {
    /// The app that the user logs in to, as its operator named it.
    pub client_name: String,
    /// Where the login page redirects at its end: an address of this service, with a query.
    pub continue_url: String,
    /// The client's network, for the limits of anonymous logins.
    pub network: ClientNetwork,
}

/// A login that was begun.
#[derive(Clone, Debug)]
pub struct LoginStarted {
    /// Identifies it for [`Logins::outcome`].
    pub login_id: String,
    /// The address of its page.
    pub page_url: String,
    /// The values of the `Set-Cookie` headers that bind it to the browser.
    pub set_cookies: Vec<String>,
    /// The [`continue_url`](BeginLogin::continue_url) of the logins ended to make room.
    pub replaced: Vec<String>,
}

/// The outcome of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginOutcome {
    /// Not decided yet.
    Pending,
    /// The user has logged in.
    Approved {
        /// The user.
        main_key: PublicKey,
        /// The method: `wallet`, `extension`, `signer` or `passkey`.
        method: String,
        /// The time.
        at: UnixMillis,
    },
    /// The user declined.
    Declined,
    /// It expired or failed.
    TimedOut,
    /// It was begun in another browser, or does not exist.
    OtherBrowser,
}

/// Why a login cannot begin, or its outcome is unknown. Retrying later may help.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// Too many logins are open.
    #[error("too many logins are open")]
    Busy,
    /// It cannot be stored or read.
    #[error("the login cannot be stored or read")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
}
