//! Posts events to the app's webhook endpoint, signed: the engine's
//! [`WebhookSender`](usher_engine::ports::WebhookSender) over HTTP.
//!
//! One call is one attempt, which ends within its deadline; the engine decides when to try again.
//!
//! The URL may hold credentials in its path, query or user part: nothing here prints more of it than its scheme, host
//! and port. Bodies hold session tokens and preimages; neither they nor the receiver's responses are logged.

mod failure_reason;
mod message;
mod options;
mod options_error;
mod probe;
mod retry_after;
mod sender;
mod signing;

pub use options::WebhookOptions;
pub use options_error::WebhookError;
pub use probe::{ProbeError, probe};
pub use sender::HttpWebhookSender;
