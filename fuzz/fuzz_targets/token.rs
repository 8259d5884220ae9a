//! See `tickets::token`.
#![no_main]

#[path = "../src/tickets.rs"]
mod tickets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tickets::token(bytes));
