//! The mint, with its own wallet and with one of others.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod behaviour;
mod nutshell;
