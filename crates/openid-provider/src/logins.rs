//! How users log in, as the provider sees it.

use async_trait::async_trait;
use http::HeaderMap;
use usher_engine::{ClientNetwork, UnixMillis};
use usher_protocol::PublicKey;

/// Begins logins and knows their outcomes. A login is bound by a cookie to the browser that begins it: otherwise
/// whoever sends their login page to somebody else would be logged in as that person (session fixation).
#[async_trait]
pub trait Logins: Send + Sync {
    /// Begins a login for the browser that sends these headers. It is durable when this returns. Another login that nobody has
    /// used may have ended for it.
    async fn begin(&self, login: BeginLogin, headers: &HeaderMap) -> Result<LoginStarted, LoginError>;

    /// Whether the user of a login is at it: its page waits or was just seen, or somebody has named a key.
    fn is_in_use(&self, login_id: &str) -> bool;

    /// Removes a login, also one that has not ended: nobody asks for its outcome any more.
    async fn forget(&self, login_id: &str) -> Result<(), LoginError>;

    /// The outcome of a login, for the browser that sends these headers.
    async fn outcome(&self, login_id: &str, headers: &HeaderMap) -> Result<LoginOutcome, LoginError>;
}

/// A login to begin.
#[derive(Clone, Debug)]
pub struct BeginLogin {
    /// The app that the user logs in to, as its operator named it.
    pub client_name: String,
    /// Where the login page leads at its end: an address of this service, with a query.
    pub continue_url: String,
    /// Whose browser it is, for the limits of logins that anybody can begin.
    pub network: ClientNetwork,
}

/// A login that has begun.
#[derive(Clone, Debug)]
pub struct LoginStarted {
    /// Identifies it for [`Logins::outcome`].
    pub login_id: String,
    /// The address of its page.
    pub page_url: String,
    /// The values of the `Set-Cookie` headers that bind it to the browser.
    pub set_cookies: Vec<String>,
    /// The [`continue_url`](BeginLogin::continue_url) of the logins that have ended for it.
    pub replaced: Vec<String>,
}

/// What became of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginOutcome {
    /// Nothing yet.
    Pending,
    /// The user has logged in.
    Approved {
        /// Who the user is.
        main_key: PublicKey,
        /// How: `wallet`, `extension`, `signer` or `passkey`.
        method: String,
        /// When.
        at: UnixMillis,
    },
    /// The user has refused.
    Declined,
    /// It was not completed in time, or failed.
    TimedOut,
    /// Another browser has begun it, or there is no such login.
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
