//! Posts events to the app's webhook endpoint, signed: the engine's [`WebhookSender`](usher_engine::ports::WebhookSender) over HTTP.
//!
//! One call is one attempt. When to try, and what to try next, is the engine's affair; this crate makes an attempt end within its
//! deadline, costs no more memory for a receiver that misbehaves, and describes what went wrong.
//!
//! | module | content |
//! | --- | --- |
//! | [`options`](WebhookOptions) | where to post, how to sign, how long to wait |
//! | `message` | the body and the id of an event on the wire |
//! | `signing` | the specification's signature and Standard Webhooks' |
//! | `probe` | a connection without a request |
//! | `receiver` | one exchange within one deadline |
//! | `retry_after` | how long the receiver asks us to wait |
//! | `failure_reason` | a failure in words without secrets |
//!
//! # Secrets
//!
//! The URL may hold credentials in its path, query or user part: nothing here prints more of it than its scheme, host
//! and port. Bodies hold session tokens and preimages; neither they nor the receiver's responses are logged.

mod error;
mod failure_reason;
mod message;
mod options;
mod probe;
mod retry_after;
mod sender;
mod signing;

pub use error::WebhookError;
pub use options::WebhookOptions;
pub use probe::{ProbeError, probe};
pub use sender::HttpWebhookSender;
