//! The endpoints: a file each, always in the same order: errors, request, response, handler with its docs, tests.

pub(crate) mod authenticate_key;
pub(crate) mod calendar_next_occurrence;
pub(crate) mod docs;
pub(crate) mod events;
pub(crate) mod health;
pub(crate) mod health_ready;
pub(crate) mod invoices;
pub(crate) mod jwt_issue;
pub(crate) mod jwt_verify;
pub(crate) mod key_handshake;
pub(crate) mod key_handshake_close;
pub(crate) mod key_handshake_list;
mod listed;
pub(crate) mod metrics;
pub(crate) mod nip05;
pub(crate) mod openapi_json;
pub(crate) mod payments;
pub(crate) mod profile;
pub(crate) mod relays;
pub(crate) mod started;
pub(crate) mod subscriptions;
pub(crate) mod version;
pub(crate) mod wallet_info;
pub(crate) mod webhook_deliveries;
pub(crate) mod webhook_delivery_retry;
pub(crate) mod well_known;
pub(crate) mod ws;
