//! The network around Usher in miniature: a user's [`wallet`], a [`relay`] in this process, and [`lightning`] between them.
//!
//! `usher-dev` and every end-to-end test use it; nothing in production depends on it. Everything here behaves as it should: what
//! misbehaves is in `usher-testing`, which no program links. Everything listens on loopback only.
#![allow(missing_docs, reason = "only tests and `usher-dev` use this crate: what a name says is not said again")]

pub mod amounts;
pub mod clock;
pub mod lightning;
mod private_file;
pub mod relay;
mod relay_client;
pub mod wallet;
