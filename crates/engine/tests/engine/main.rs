//! The engine with a real store: one program, because each would link the whole engine.
#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod approvals;
mod behaviour;
mod budget;
mod cleanup;
mod commit_index_gap;
mod common;
mod damaged_rows;
mod delivery;
mod login_codes;
mod message_repetition;
mod payment_links;
mod payments;
mod prices;
mod renewals;
mod requesters;
mod reusable_login_limits;
mod reusable_logins;
mod scans;
mod sent_tickets;
mod settlements;
mod subscriptions;
mod tickets;
mod user_erasure;
