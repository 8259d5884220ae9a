//! The interface as a caller sees it: the production router over TCP, a real engine on a real store.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(missing_docs, unreachable_pub)]

mod app;
mod raw_client;

mod approvals;
mod audit;
mod authorization;
mod bodies;
mod connections;
mod console;
mod directory;
mod docs_page;
mod ended_logins;
mod failures;
mod idempotency;
mod jwt;
mod keys;
mod lightning_node;
mod limits;
mod lists;
mod login;
mod logs;
mod openapi_document;
mod openid;
mod polling;
mod readiness_and_metrics;
mod server_sent_events;
mod shutdown;
mod sockets;
mod standby;
mod tickets;
mod unauthenticated;
mod verification;
mod webhooks;
