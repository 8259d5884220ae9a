//! The HTTP interface: a room of doors into the [`Engine`](usher_engine::Engine).
//!
//! `routes` mounts one file per endpoint; the OpenAPI document ([`openapi`]) is made from the same lines. In
//! front of every endpoint stands the gate: request id, token, rate, time limit and the shape of errors are its
//! business, so an endpoint reads its fields, calls the engine, and answers. [`serve`] is the part that faces
//! strangers: connections, slow senders and readers, and a shutdown that cuts nobody off in mid-answer.

mod access;
mod body;
mod change;
mod endpoints;
mod examples;
mod fields;
mod formats;
mod gate;
mod host;
mod idempotency;
mod local;
mod meters;
mod openapi;
mod path;
mod problem;
mod query;
mod rate_limit;
mod request_id;
mod routes;
mod server;
mod state;
mod telemetry;
mod unauthenticated;
mod webhook;

pub use access::ApiTokens;
pub use openapi::openapi;
pub use problem::{ErrorCode, FieldError};
pub use server::{ServeOptions, serve};
pub use state::{ApiParts, ApiState, DocsAccess, Limits};
pub use telemetry::{Family, Measure, Readiness, RelaysReadiness, Sample, Telemetry, WalletReadiness};
