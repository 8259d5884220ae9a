//! The HTTP API in front of the [`Engine`](usher_engine::Engine).
//!
//! Each endpoint is a file in `endpoints`: it reads its fields, calls the engine and responds. A group of endpoints is
//! a section of the OpenAPI document ([`openapi`]), which is made from the same lines as the routes. The middleware
//! around every endpoint covers request id, authentication, rate and time limits, the shape of errors. [`serve`]
//! accepts connections, limits them, and stops without interrupting a response. While another instance is active,
//! [`serve_standby`] forwards to it.

mod access;
mod audit;
mod auth;
mod auth_failure_throttle;
mod body;
mod client_network;
mod client_places;
mod connection_lease;
mod connection_table;
mod console;
mod console_options;
mod endpoint_group;
mod endpoints;
mod forwarding_key;
mod global_rate_limit;
mod header_list;
mod host_header;
mod idempotency;
mod idempotency_queue;
mod instance_proof;
mod key_rate_limit;
mod local_request;
mod metrics;
mod middleware;
mod openapi;
mod paging;
mod path_parameter;
mod peer_address;
mod problem;
mod query;
mod remarks;
mod request_id;
mod request_log;
mod route;
mod route_table;
mod router;
mod runner;
mod server;
mod service_status;
mod standby;
mod state;

pub use auth::ApiTokens;
pub use body::JsonObject;
pub use client_network::TrustedProxies;
pub use console_options::ConsoleOptions;
pub use forwarding_key::ForwardingKey;
pub use instance_proof::{InstanceKey, USHER_CHALLENGE, USHER_PROOF};
pub use middleware::DeadlineExtension;
pub use problem::{ErrorCode, Problem};
pub use router::{Routes, openapi};
pub use server::{ServeOptions, Surface, serve};
pub use service_status::{
    Family, Measure, MintReadiness, RateReadiness, RateSourceReadiness, Readiness, RelaysReadiness, Sample,
    ServiceStatus, Setting, WalletReadiness,
};
pub use standby::{StandbyParts, serve_standby};
pub use state::{ApiParts, ApiState, Limits};
