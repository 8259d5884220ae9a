//! `usher dev` as a newcomer uses it: starts it, pastes its commands, types commands of its wallet.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // test helpers are tests, too

#[path = "../common/mod.rs"]
mod common;

mod fixture;
mod folder;
mod money;
mod pages;
mod tour;
