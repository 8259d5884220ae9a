//! The kernel runs operations. It names no kind of operation: what it needs to know of one is a method of
//! [`StateMachine`](crate::machine::StateMachine) with a default. No part holds the engine: parts put inputs for
//! operations into `inputs`. For the data flow see docs/architecture.md.

pub(crate) mod admission;
pub(crate) mod age_check_queue;
mod call_counts;
pub(crate) mod capacity;
pub(crate) mod cleanup;
pub(crate) mod commit;
pub(crate) mod core;
pub(crate) mod damaged_rows;
pub(crate) mod event_feed;
#[cfg(test)]
pub(crate) mod fixtures;
pub(crate) mod id_generator;
pub(crate) mod idempotency;
pub(crate) mod inbox;
pub(crate) mod index;
pub(crate) mod input_queue;
pub(crate) mod invoice_watcher;
pub(crate) mod lightning_metrics;
pub(crate) mod lightning_notifications;
pub(crate) mod lightning_queue;
pub(crate) mod metrics;
pub(crate) mod network_rates;
pub(crate) mod observer;
pub(crate) mod open_set;
pub(crate) mod operation_workers;
pub(crate) mod outbox;
pub(crate) mod pending_audit;
pub(crate) mod recent_states;
pub(crate) mod remote_signer_queue;
pub(crate) mod request_errors;
pub(crate) mod requested_store;
pub(crate) mod requester;
pub(crate) mod restore;
pub(crate) mod signer_slots;
pub(crate) mod starter;
pub(crate) mod tasks;
pub(crate) mod ticket_metrics;
pub(crate) mod ticket_queue;
pub(crate) mod timer_dispatcher;
pub(crate) mod timers;
pub(crate) mod user_erasure;
pub(crate) mod webhook_dispatcher;
