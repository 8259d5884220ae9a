//! What the pages of operators share: their login, and the state.
//!
//! Operators log in as users do, with a login that the app cannot see and that a cookie binds to the browser
//! ([`BrowserLogin`](usher_engine::BrowserLogin)). A session is a secret in a cookie; only its hash is kept, in memory
//! ([`OperatorSessions`](usher_engine::access::OperatorSessions)). It is the same for approvals and the console, each of which
//! admits other keys. Every form comes from a page of this service, verified by Fetch Metadata.

pub(crate) mod area;
mod begun_logins;
pub(crate) mod login;
mod options;
pub(crate) mod purpose;
pub(crate) mod state;

pub use self::options::OperatorOptions;
