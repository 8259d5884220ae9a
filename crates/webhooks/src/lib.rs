//! Posts events to the app's webhook endpoint, signed: the engine's
//! [`WebhookSender`](usher_engine::ports::WebhookSender) over HTTP.
//!
//! One call is one attempt, which ends within its deadline; the engine schedules retries.
//!
//! The URL may contain credentials in its path, query or user part: only its scheme, host and port are ever printed.
//! Bodies contain session tokens and preimages; neither they nor the receiver's responses are logged.

mod failure_reason;
mod message;
mod options;
mod probe;
mod retry_after;
mod sender;
mod signing;

pub use options::{WebhookError, WebhookOptions};
pub use probe::{ProbeError, probe};
pub use sender::HttpWebhookSender;
