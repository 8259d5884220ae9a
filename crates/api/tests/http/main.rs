//! The interface as a caller sees it: the production router over TCP, a real engine on a real store.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(missing_docs, unreachable_pub)]

mod app;
mod faulty_store;
mod python;
mod raw;
mod ticket_wallet;
mod world;

mod access;
mod bodies;
mod calendar;
mod connections;
mod directory;
mod documentation;
mod documents;
mod endpoints;
mod event_streams;
mod events;
mod failures;
mod framing;
mod idempotency;
mod jwt;
mod limits;
mod remaining_bodies;
mod shutdown;
mod sockets;
mod tickets;
mod unauthenticated;
mod verification;
mod watching;
mod webhooks;
