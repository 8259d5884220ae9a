//! NIP-47 (Nostr Wallet Connect): the Lightning wallet of an account as an app sees it, and an app's side of it.
//!
//! [`NwcService`] is the wallet service. Its parts are public, so that a service that misbehaves can be built from them
//! by supplying another [`RequestHandler`].

mod announcement;
mod capabilities;
mod client;
mod executor;
mod keys;
mod method;
mod metrics;
mod notification;
mod payment_notifier;
mod received_request;
mod request_handler;
mod service;
mod service_context;
mod wire;

pub use capabilities::{Capabilities, Encryptions};
pub use client::{NotAConnection, NwcClient, NwcError};
pub use executor::{pay_refusal, receipt};
pub use keys::NwcKeys;
pub use method::{ErrorCode, Method};
pub use metrics::NwcMetrics;
pub use received_request::NwcRequest;
pub use request_handler::{HonestHandler, RequestHandler};
pub use service::NwcService;
pub use service_context::NwcServiceContext;
pub use wire::{LookupParams, MakeParams, PayParams, Refusal, Response, not_found, transaction_json};
